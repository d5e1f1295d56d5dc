/* The micro-kernel of matrix products: a 14 x 32 block of C, held in registers.
 *
 *   C = alpha A B      or      C += alpha A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * B is packed into panels of 32 columns: k rows of 32 contiguous numbers each. (A single panel
 * with all 32 columns may also be read in place.) A is read in place, one element broadcast to
 * 32 columns at a time, so it may have any strides. Each element of C sums its products in
 * order of k, so the bits do not depend on the tiling.
 *
 * Only for AVX-512 and float; where kernel_exists() is false, call nothing else here. Not
 * copying A makes it a tenth faster than BLAS libraries for our shapes. */
#ifndef LINNET_KERNEL_H
#define LINNET_KERNEL_H

#include "src/real.h"

enum { KERNEL_ROWS = 14, KERNEL_COLUMNS = 32 };

bool kernel_exists(void);

/* Packs k rows and n columns of B into 64-byte-aligned panels; the last is zero-padded. b_row
 * and b_next are the strides between rows and between columns of B; one of them is 1. */
void kernel_pack(float *panels, const float *b, size_t b_row, size_t b_next, size_t k,
                 size_t n);

/* A has strides a_row between rows and a_next within a row. panel_row is the stride between
 * rows of a panel: KERNEL_COLUMNS if packed. With `add`, accumulates into C. */
void kernel_multiply(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                     size_t a_next, const float *panels, size_t panel_row, bool add, float *c,
                     size_t c_row);

/* C = alpha A B^T (or accumulated into C), with B (n, k) unpacked: each element is a dot
 * product of two rows, summed in 16 lanes. For so few rows of A that packing B does not pay. */
void kernel_dots(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                 const float *b, size_t b_row, bool add, float *c, size_t c_row);

#endif
