/* The innermost matrix product: a strip of C, 14 rows by 32 columns, held in registers.
 *
 *   C = alpha A B      or      C += alpha A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * B comes packed: in panels of 32 columns, each panel k rows of 32 numbers without gaps. (A
 * single panel may also be read where it lies, if it has all 32 columns.) A is
 * read where it lies, one number at a time for all 32 columns, so it may have any strides. A
 * number of C is the sum of its products in the order of k, whatever the shapes around it: the
 * bits do not depend on how a product is cut into tiles.
 *
 * It is written for processors with AVX-512, and for float; elsewhere kernel_exists says no and
 * nothing else here may be called. Libraries have such kernels too. Ours reads A without
 * copying it, which for our shapes is a tenth faster than they are, and it is ours to extend.
 */
#ifndef LINNET_KERNEL_H
#define LINNET_KERNEL_H

#include "src/real.h"

enum { KERNEL_ROWS = 14, KERNEL_COLUMNS = 32 };

bool kernel_exists(void);

/* Packs k rows and n columns of B into panels, 64-byte aligned; the last is filled up with
 * zeros. From one row of B to the next it is b_row, from one column to the next b_next: one of
 * them is 1. */
void kernel_pack(float *panels, const float *b, size_t b_row, size_t b_next, size_t k,
                 size_t n);

/* A may be strided both ways: a_row from row to row, a_next along a row. From one row of a
 * panel to the next it is panel_row, KERNEL_COLUMNS if it is packed. With add, the product is
 * added to C. */
void kernel_multiply(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                     size_t a_next, const float *panels, size_t panel_row, bool add, float *c,
                     size_t c_row);

/* C = alpha A B^T (or added to C) with B (n, k) as it lies: each number is an inner product of
 * two rows, summed in 16 lanes. For the few rows of A for which packing B does not pay. */
void kernel_dots(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                 const float *b, size_t b_row, bool add, float *c, size_t c_row);

#endif
