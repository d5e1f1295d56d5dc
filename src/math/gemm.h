/* Matrix products (GEMM), by the kernels of kernel.h and bfloat.h.
 *
 *   C = alpha A B      or      C += alpha A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * Matrices are row-major with a row stride (leading dimension). A product runs on one thread;
 * gemm_team cuts C into tiles by its shape alone and distributes them over the thread team, so
 * the bits do not depend on the number of threads. */
#ifndef LINNET_GEMM_H
#define LINNET_GEMM_H

#include "src/math/gemm_blocks.h"
#include "src/base/error.h"

/* The kernels in use, such as linnet-avx512. */
const char *gemm_kernels(void);

/* Precision of products with weights (projections, MLP and output head), which are most of the
 * work. bf16 and pair (split bf16) need a processor with bf16 instructions. The error of pairs
 * against single precision is far below the weight change of a training step; bf16 alone keeps
 * 8 bits, as is common in training. */
const char *gemm_precision_name(size_t index);
/* Applies to the whole process; the default is single. Fails if unsupported. */
bool gemm_set_precision(GemmPrecision precision, Error *error);

/* Whether the product overwrites C or accumulates into it. */
typedef enum GemmInto { GEMM_SET, GEMM_ADD } GemmInto;

/* Runs on the calling thread, in single precision. */
void gemm(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, GemmInto into, real *c,
          size_t c_stride); /* (m, n), as in all products below */

/* Like gemm with alpha 1, in the precision of products with weights. */
void gemm_weights(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
                  size_t c_stride);

/* C = A B for a C of (side, side) that is symmetric, such as the product of two symmetric
 * matrices that commute: computes its lower half and mirrors that. In the precision of products
 * with weights, or, with `exact` and unpacked factors, in single. */
void gemm_symmetric(bool exact, size_t side, size_t k, Factor a, Factor b, real *c,
                    size_t c_stride);

/* The stride for rows of this many columns. Strides that are multiples of 1024 bytes
 * map all rows to a few sets of the caches, where they evict each other. */
static inline size_t gemm_stride(size_t columns)
{
    return columns % 256 == 0 ? columns + 16 : columns;
}

/* Packs a factor, (rows, columns), ahead of several products with weights, in memory of
 * (gemm_prepack_reals): what each product would otherwise do for itself. In single precision
 * only a transposed B is packed, and everything else is read in place. */
size_t gemm_prepack_reals(GemmSide side, bool transposed, size_t rows, size_t columns);
Factor gemm_prepack(real *memory, Factor factor, GemmSide side, size_t rows, size_t columns);

/* The workspace of the calling thread: memory where gemm_team packs the factors of a product,
 * if there is room for them; without it every tile packs its own. */
void gemm_set_workspace(real *memory /* (reals) */, size_t reals);
size_t gemm_workspace_reals(size_t m, size_t n, size_t k, bool b_transposed);

/* A tile of C that has just been computed and is still in the cache. */
typedef struct GemmTile {
    real *c; /* (rows, columns) */
    size_t c_stride, row, rows, column, columns;
} GemmTile;

/* Called for every tile, unless NULL. */
typedef struct GemmFinish {
    void (*call)(const GemmTile *tile, const void *context);
    const void *context;
} GemmFinish;

/* Extras of a product: a bias, and a call for each finished tile. */
typedef struct GemmExtra {
    const real *bias; /* (n) added to every row of C, with GEMM_SET; or NULL */
    GemmFinish finish;
    /* Only `finish` reads C, with GEMM_SET: then each thread may compute all its tiles in one
     * place, which stays in its cache, and what C holds afterwards is undefined. */
    bool transient;
} GemmExtra;

/* gemm_weights on the thread team; must not be called from inside a tile. */
void gemm_team(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
               size_t c_stride, GemmExtra extra);

/* The products of the backward pass of Y = X W, where X is (rows, in) and Y (rows, out):
 *
 *   dW += X^T dY      dX = dY W^T, or dX += dY W^T
 *
 * In bf16 each factor is read once and converted for all its products. dX, of which `extra` is,
 * may be in the place of X. */
void gemm_team_backward(size_t rows, size_t in, size_t out, Factor x, Factor dy, Factor w,
                        real *dw, size_t dw_stride,                /* (in, out) */
                        GemmInto into, real *dx, size_t dx_stride, /* (rows, in) */
                        GemmExtra extra);
size_t gemm_backward_workspace_reals(size_t rows, size_t in, size_t out);

/* Multiplies and adds in registers, in the precision of products with weights, with as many
 * instructions as `rounds` says, and returns the floating-point operations of a product that
 * would take as long at best. Run by every thread at once it measures the processor's peak. */
double gemm_spin(size_t rounds);

/* How much faster the processor multiplies in that precision than in single precision, measured
 * in a few milliseconds. Below 1 on processors that have the instructions, but slow ones. */
double gemm_gain(void);

#endif
