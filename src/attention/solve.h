/* Triangular systems, which arise when what a position writes depends on what the earlier ones
 * have written.
 *
 * L is strictly lower triangular: only entries below the diagonal are read. X, (rows, width),
 * holds the right-hand sides and then the solution. I + L is never inverted. */
#ifndef LINNET_SOLVE_H
#define LINNET_SOLVE_H

#include "src/attention/triangle.h"

/* X := (I + L)^-1 X      and      X := (I + L)^-T X */
void solve_lower(Triangle l, real *x, size_t stride, size_t width);
void solve_lower_transposed(Triangle l, real *x, size_t stride, size_t width);

#endif
