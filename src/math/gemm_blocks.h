/* Matrix products on one thread, in blocks that fit the caches, and factors that are packed in
 * the order of the kernels (kernel.h, bfloat.h). Precision is an argument here; gemm.h, which
 * the rest of linnet includes, keeps the one in use, and the thread team. */
#ifndef LINNET_GEMM_BLOCKS_H
#define LINNET_GEMM_BLOCKS_H

#include "src/math/kernel.h"

/* A factor, as stored or transposed. */
typedef struct Factor {
    const real *data; /* (rows, columns), or (columns, rows) if transposed */
    size_t stride;
    bool transposed;
    /* A copy in the order of the kernels, by gemm_pack, or NULL. It consists of bands of `unit`
     * rows of A or columns of B that are `band` bytes apart. */
    const void *packed;
    size_t unit, band;
} Factor;

static inline Factor plain(const real *data, size_t stride)
{
    return (Factor){.data = data, .stride = stride};
}

static inline Factor transposed(const real *data, size_t stride)
{
    return (Factor){.data = data, .stride = stride, .transposed = true};
}

/* In single precision, in bf16, or in pairs of bf16 (see bfloat.h). */
typedef enum GemmPrecision { GEMM_SINGLE, GEMM_PAIR, GEMM_BF16 } GemmPrecision;

typedef enum GemmSide { GEMM_A, GEMM_B } GemmSide;

/* Up to this many rows of A, products take a separate path for decoding. It sums in a
 * different order: results that must be bit-identical should all take the same path. */
enum { GEMM_FEW = 16 };

/* The submatrix from (row, column) on, of an unpacked factor. */
Factor gemm_part(Factor whole, size_t row, size_t column);
/* From a row of A or a column of B on; of a packed factor it must begin a band. */
Factor gemm_from(Factor x, GemmSide side, size_t first);

/* Whether products in single precision with n columns pack A, block by block. */
bool gemm_packs(Factor a, size_t n);

/* Packs an A of `count` rows or a B of `count` columns; in single precision only a B. The
 * memory is 64-byte aligned and has gemm_packed_reals(). */
size_t gemm_packed_reals(GemmPrecision precision, size_t count, size_t depth);
Factor gemm_pack(GemmPrecision precision, void *memory, Factor x, GemmSide side, size_t count,
                 size_t depth);
/* In bf16, a part of that: `depth` numbers of each row or column, of `whole`, from number
 * `first` on, which is a multiple of 32. */
void gemm_pack_steps(GemmPrecision precision, void *memory, Factor x, GemmSide side,
                     size_t count, size_t first, size_t depth, size_t whole);
/* The factor with its copy, which was made as a whole or in parts. */
Factor gemm_packed(GemmPrecision precision, const void *memory, Factor x, size_t depth);

/* C = C0 + alpha A B in single precision, where a packed factor is a packed B. */
void gemm_by_kernel(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b,
                    KernelStart start, real *c, size_t c_stride); /* C: (m, n) */

/* C = C0 + A B in bf16 or pairs. */
void gemm_by_bfloats(GemmPrecision precision, size_t m, size_t n, size_t k, Factor a, Factor b,
                     KernelStart start, real *c, size_t c_stride); /* C: (m, n) */

#endif
