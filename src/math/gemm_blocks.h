/* What gemm.c and gemm_team.c are made of: products on one thread by each of the means, in
 * blocks that fit the caches, and factors in the order of the kernels. */
#ifndef LINNET_GEMM_BLOCKS_H
#define LINNET_GEMM_BLOCKS_H

#include "src/math/bfloat.h"
#include "src/math/gemm.h"

/* The choices of gemm.c. */
GemmPrecision gemm_precision(void);
BfloatParts gemm_bfloat_parts(void);

/* The submatrix from (row, column) on, of an unpacked factor. */
Factor gemm_part(Factor whole, size_t row, size_t column);
/* From a row of A or a column of B on; of a packed factor it must begin a band or a panel. */
Factor gemm_rows_from(Factor a, size_t row);
Factor gemm_columns_from(Factor b, size_t column);

/* Whether the kernels copy A in the order of their strips, block by block. */
bool gemm_packs(Factor a);

/* A B, (depth, columns), as panels of the kernels: packs it, or says where it is packed. */
size_t gemm_panels_reals(size_t depth, size_t columns);
Factor gemm_pack_panels(real *memory, Factor b, size_t depth, size_t columns);
Factor gemm_in_panels(const real *memory, Factor b, size_t depth);

/* An A of `count` rows, or a B of `count` columns, in bf16. */
size_t gemm_bands_reals(size_t count, size_t depth);
Factor gemm_pack_bands(void *memory, Factor x, GemmSide side, size_t count, size_t depth);
Factor gemm_in_bands(const void *memory, Factor x, size_t depth);

/* What C begins with: rows that are `row` apart, or zeros if there are none. Rows of C itself
 * to accumulate, a bias with a distance of 0. */
typedef struct GemmStart {
    const real *at;
    size_t row;
} GemmStart;

void gemm_by_kernel(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b,
                    GemmStart start, real *c, size_t c_stride);
void gemm_by_bfloats(size_t m, size_t n, size_t k, Factor a, Factor b, GemmStart start, real *c,
                     size_t c_stride);

/* By the means for products with weights. */
void gemm_weights_from(GemmStart start, size_t m, size_t n, size_t k, Factor a, Factor b,
                       real *c, size_t c_stride);

#endif
