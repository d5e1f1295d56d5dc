/* Interpolates with a learned weight m (the value residual): y = (1 - m) x + m z. */
#ifndef LINNET_BLEND_H
#define LINNET_BLEND_H

#include "src/base/real.h"

/* Overwrites x, whose rows are `stride` apart, with y, and saves x in `kept` for backward. */
void blend_forward(real *x, real *kept, const real *z, real m, size_t rows, size_t width,
                   size_t stride);

/* dx holds dy on entry. Adds to dz, whose rows are contiguous, and to dm. */
void blend_backward(real *dx, real *dz, real *dm, const real *kept, const real *z, real m,
                    size_t rows, size_t width, size_t stride);

#endif
