/* Matrix products (GEMM), by the kernels of kernel.h and bfloat.h.
 *
 *   C = alpha A B      or      C += alpha A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * Matrices are row-major with a row stride (leading dimension). A product runs on one thread;
 * gemm_team cuts C into tiles by its shape alone and distributes them over the thread team, so
 * the bits do not depend on the number of threads. */
#ifndef LINNET_GEMM_H
#define LINNET_GEMM_H

#include "src/base/error.h"
#include "src/base/real.h"

/* A factor, as stored or transposed. */
typedef struct Factor {
    const real *at;
    size_t stride;
    bool transposed;
    /* A copy in the order of the kernels, by gemm_share, or NULL. It consists of bands of
     * `unit` rows or columns that are `band` bytes apart. */
    const void *packed;
    size_t unit, band;
} Factor;

static inline Factor plain(const real *at, size_t stride)
{
    return (Factor){.at = at, .stride = stride};
}

static inline Factor transposed(const real *at, size_t stride)
{
    return (Factor){.at = at, .stride = stride, .transposed = true};
}

/* The kernels in use, such as linnet-avx512. */
const char *gemm_kernels(void);

/* Precision of products with weights (projections, MLP and output head), which are most of the
 * work. bf16 and pair (split bf16, see bfloat.h) need a processor with bf16 instructions. The
 * error of pairs against single precision is far below the weight change of a training step;
 * bf16 alone keeps 8 bits, as is common in training. */
typedef enum GemmPrecision { GEMM_SINGLE, GEMM_PAIR, GEMM_BF16 } GemmPrecision;
const char *gemm_precision_name(size_t index);
/* Applies to the whole process; the default is single. Fails if unsupported. */
bool gemm_set_precision(GemmPrecision precision, Error *error);

/* Whether the product overwrites C or accumulates into it. */
typedef enum GemmInto { GEMM_SET, GEMM_ADD } GemmInto;

/* Up to this many rows of A, products take a separate path for decoding. It sums in a
 * different order: results that must be bit-identical should all take the same path. */
enum { GEMM_FEW = 14 };

/* Runs on the calling thread, in single precision. */
void gemm(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, GemmInto into, real *c,
          size_t c_stride);

/* Like gemm with alpha 1, in the precision of products with weights. */
void gemm_weights(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
                  size_t c_stride);

/* The stride for rows of this many columns. Strides that are multiples of 1024 bytes
 * map all rows to a few sets of the caches, where they evict each other. */
static inline size_t gemm_stride(size_t columns)
{
    return columns % 256 == 0 ? columns + 16 : columns;
}

/* Prepares a factor, (rows, columns), for several products with weights, in memory of that many
 * reals: what each product would otherwise do for itself. In bf16 it is converted; in single
 * precision a transposed B is packed, and everything else is read in place. */
typedef enum GemmSide { GEMM_A, GEMM_B } GemmSide;
size_t gemm_share_reals(GemmSide side, bool transposed, size_t rows, size_t columns);
Factor gemm_share(real *memory, Factor factor, GemmSide side, size_t rows, size_t columns);

/* Memory where gemm_team prepares the factors of one product, if there is room for them;
 * without it every tile prepares its own. */
void gemm_lend(real *memory, size_t reals);
size_t gemm_team_reals(size_t m, size_t n, size_t k, bool b_transposed);

/* A tile of C that has just been computed and is still in the cache. */
typedef struct GemmTile {
    real *c; /* its first element */
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

/* Transposes (rows, columns) into (columns, rows). */
void gemm_turn(real *to, size_t to_stride, const real *from, size_t stride, size_t rows,
               size_t columns);

/* Multiplies and adds in registers, in the precision of products with weights, with as many
 * instructions as `rounds` says, and returns the floating-point operations of a product that
 * would take as long at best. Run by every thread at once it measures the processor's peak. */
double gemm_spin(size_t rounds);

/* How much faster the processor multiplies in that precision than in single precision, measured
 * in a few milliseconds. Below 1 on processors that have the instructions, but slow ones. */
double gemm_gain(void);

#endif
