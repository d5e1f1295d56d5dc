/* Layer normalisation of each row:
 *
 *   y = (x - mean) * rstd * gain + bias,   rstd = 1 / sqrt(variance + 1e-5)
 *
 * The forward pass saves mean and rstd, two numbers a row; with them y can be had again, so the
 * backward pass of the layers that read y need not keep it. */
#ifndef LINNET_LAYERNORM_H
#define LINNET_LAYERNORM_H

#include "src/real.h"

void layernorm_forward(real *y,                            /* (rows, width) */
                       real *mean, real *rstd,             /* (rows) */
                       const real *x,                      /* (rows, width) */
                       const real *gain, const real *bias, /* (width) */
                       size_t rows, size_t width);

/* y once more, from the saved statistics. */
void layernorm_again(real *y, const real *x, const real *mean, const real *rstd,
                     const real *gain, const real *bias, size_t rows, size_t width);

/* Adds to dgain and dbias; dx is dx * keep + the gradient, and may take the place of dy, or,
 * with nothing to keep, of x. */
void layernorm_backward(real *dx, real keep, real *dgain, real *dbias, const real *dy,
                        const real *x, const real *mean, const real *rstd, const real *gain,
                        size_t rows, size_t width);

#endif
