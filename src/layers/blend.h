/* A share of something else, learned: y = (1 - m) x + m z. */
#ifndef LINNET_BLEND_H
#define LINNET_BLEND_H

#include "src/real.h"

/* In place of x, whose rows are `stride` apart; a copy of x goes to `kept`. */
void blend_forward(real *x, real *kept, const real *z, real m, size_t rows, size_t width,
                   size_t stride);

/* dx holds dy; dz, of which rows lie close, and dm are added to. */
void blend_backward(real *dx, real *dz, real *dm, const real *kept, const real *z, real m,
                    size_t rows, size_t width, size_t stride);

#endif
