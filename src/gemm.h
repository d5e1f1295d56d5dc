/* Matrix products: the kernels of kernel.h and bfloat.h where the processor has them, else
 * BLAS, of which every call in linnet is behind this file. A user who sets OPENBLAS_CORETYPE
 * gets the library.
 *
 *   C = alpha A B      or      C += alpha A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * Matrices are row-major with a stride from one row to the next. The library is held to one
 * thread; gemm_team cuts C into tiles by its shape alone and gives them to the thread team, so
 * the bits do not depend on the number of threads. */
#ifndef LINNET_GEMM_H
#define LINNET_GEMM_H

#include "src/error.h"
#include "src/real.h"

/* A factor: as it is stored, or its transpose. */
typedef struct Factor {
    const real *at;
    size_t stride;
    bool transposed;
} Factor;

static inline Factor plain(const real *at, size_t stride)
{
    return (Factor){at, stride, false};
}

static inline Factor transposed(const real *at, size_t stride)
{
    return (Factor){at, stride, true};
}

/* Where the library will be used, chooses its kernels for this processor, as it may be too old
 * to know it. The choice must be made before the library loads, so this may start the program
 * once more with OPENBLAS_CORETYPE set; a value that the user has set is left alone. Call it
 * first in main. */
void gemm_choose_kernels(char **argv);
/* The kernels in use: our own, or the library's by its name for them. */
const char *gemm_kernels(void);

/* How precise products with weights are: those of the projections, the feed-forward layers and
 * the vocabulary, which are most of the work. Done in bf16, or in pairs of them (see
 * bfloat.h), they take a processor that multiplies such numbers. Pairs are less precise than
 * single precision by far less than a step of training changes the weights; bf16 alone, which
 * keep 8 bits, are what training commonly makes do with. */
typedef enum GemmPrecision { GEMM_SINGLE, GEMM_PAIR, GEMM_BF16 } GemmPrecision;
const char *gemm_precision_name(size_t index);
/* For the whole process; single from the start. Fails where it cannot be had. */
bool gemm_set_precision(GemmPrecision precision, Error *error);

/* Whether the product becomes C, or is added to it. */
typedef enum GemmInto { GEMM_SET, GEMM_ADD } GemmInto;

/* With at most so many rows of A, products take a way of their own, for decoding. It sums in
 * another order: numbers that must agree to the bit should all go this way. */
enum { GEMM_FEW = 14 };

/* On the calling thread, in single precision. */
void gemm(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, GemmInto into, real *c,
          size_t c_stride);

/* The same, with alpha 1, in the precision for products with weights. */
void gemm_weights(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
                  size_t c_stride);

/* A part of C that has just been computed, and is still in the cache. */
typedef struct GemmTile {
    real *c; /* its first element */
    size_t c_stride, row, rows, column, columns;
} GemmTile;

/* gemm_weights on the team; not from inside a tile. Finish, unless NULL, is called for every
 * tile. */
void gemm_team(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
               size_t c_stride, void (*finish)(const GemmTile *tile, const void *context),
               const void *context);

#endif
