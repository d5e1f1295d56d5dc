/* Products with the lower triangle of a square matrix, such as the causal scores inside a
 * chunk. They work band by band, so most of the empty half costs nothing.
 *
 * The triangle is (rows, rows); X and Y are (rows, width). Entries above the diagonal are zero
 * inside a band's own square, and are neither written nor read elsewhere. */
#ifndef LINNET_TRIANGLE_H
#define LINNET_TRIANGLE_H

#include "src/math/gemm.h"

typedef struct Triangle {
    real *at;
    size_t rows, stride;
} Triangle;

/* M = tril(A B^T), A and B (rows, width). */
void triangle_product(Triangle m, Factor a, Factor b, size_t width);

/* Y += M X      and      Y += M^T X */
void triangle_add(real *y, size_t y_stride, Triangle m, Factor x, size_t width);
void triangle_transposed_add(real *y, size_t y_stride, Triangle m, Factor x, size_t width);

/* X := (I + L)^-1 X    and    X := (I + L)^-T X.  Such systems arise when what a position
 * writes depends on what the earlier ones have written. L is strictly lower triangular: only
 * entries below the diagonal are read. I + L is never inverted. */
void triangle_solve(Triangle l, real *x, size_t stride, size_t width);
void triangle_solve_transposed(Triangle l, real *x, size_t stride, size_t width);

#endif
