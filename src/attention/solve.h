/* Linear equations with the lower triangle of a chunk: what each position writes when that
 * depends on what those before it have written.
 *
 * L is strictly lower triangular: of the triangle that is given, only what lies below the
 * diagonal is read. X is (rows, width) with a stride of its own; it holds the right-hand sides
 * and then the solution. I + L is never inverted. */
#ifndef LINNET_SOLVE_H
#define LINNET_SOLVE_H

#include "src/attention/triangle.h"

/* X := (I + L)^-1 X      and      X := (I + L)^-T X */
void solve_lower(Triangle l, real *x, size_t stride, size_t width);
void solve_lower_transposed(Triangle l, real *x, size_t stride, size_t width);

#endif
