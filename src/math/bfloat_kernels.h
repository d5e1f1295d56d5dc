/* Micro-kernels of bfloat.c: one 32 x 32 square of C from two packed bands of A and two of B.
 * Each reports whether the processor supports it. They are always compiled, whatever the
 * target of the build, and called only where supported. */
#ifndef LINNET_BFLOAT_KERNELS_H
#define LINNET_BFLOAT_KERNELS_H

#include "src/math/bfloat.h"

#if defined(__x86_64__) && defined(__linux__) && !defined(LINNET_DOUBLE)
#define BFLOAT_KERNELS
#define VECTORS __attribute__((target("avx512f,avx512bw,avx512bf16")))
#define INLINE  __attribute__((always_inline)) VECTORS static inline
#endif

/* C = C0 + A B; see bfloat_multiply. */
typedef void BfloatKernel(BfloatParts parts, size_t steps, const uint16_t *a, size_t a_band,
                          const uint16_t *b, size_t b_band, const float *start,
                          size_t start_row, float *c, size_t c_row);

bool bfloat_tiles_exist(void);
BfloatKernel bfloat_square_by_tiles;
double bfloat_spin_by_tiles(size_t rounds);

bool bfloat_vectors_exist(void);
BfloatKernel bfloat_square_by_vectors;
double bfloat_spin_by_vectors(size_t rounds);

#endif
