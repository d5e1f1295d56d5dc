/* The innermost products of bfloat.c: a square of C, 32 by 32, from two packed bands of A and
 * two of B. With each kernel, whether the processor has what it takes. */
#ifndef LINNET_BFLOAT_KERNELS_H
#define LINNET_BFLOAT_KERNELS_H

#include "src/bfloat.h"

#if defined(__x86_64__) && defined(__linux__) && !defined(LINNET_DOUBLE)
#define BFLOAT_KERNELS
#endif

enum {
    BFLOAT_BAND = 16, /* rows of a packed tile; a row is a vector of 16 pairs along the depth */
    BFLOAT_TILE = BFLOAT_BAND * BFLOAT_STEP
};

/* From one band to the next it is `band`, in A and in B. */
typedef void BfloatKernel(BfloatParts parts, size_t steps, const uint16_t *a, const uint16_t *b,
                          size_t band, bool add, float *c, size_t c_row);

bool bfloat_tiles_exist(void);
BfloatKernel bfloat_square_by_tiles;

bool bfloat_vectors_exist(void);
BfloatKernel bfloat_square_by_vectors;

#endif
