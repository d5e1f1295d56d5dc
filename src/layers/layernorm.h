/* LayerNorm and RMSNorm of each row:
 *
 *   LayerNorm   y = (x - mean) * rstd * gain + bias,   rstd = 1 / sqrt(variance + epsilon)
 *   RMSNorm     y = x * rstd * gain + bias,            rstd = 1 / sqrt(mean(x^2) + epsilon)
 *
 * RMSNorm is computed if mean is NULL; there is no bias if bias (dbias) is NULL. The forward
 * pass saves mean and rstd, two numbers per row. */
#ifndef LINNET_LAYERNORM_H
#define LINNET_LAYERNORM_H

#include "src/base/real.h"

void layernorm_forward(real *y,                            /* (rows, width) */
                       real *mean, real *rstd,             /* (rows); mean NULL: RMSNorm */
                       const real *x,                      /* (rows, width) */
                       const real *gain, const real *bias, /* (width); bias or NULL */
                       real epsilon, size_t rows, size_t width);

/* Adds to dgain and dbias; sets dx to dx * keep + the gradient. dx may alias dy or, if keep is
 * 0, x. */
void layernorm_backward(real *dx, real keep,                          /* (rows, width) */
                        real *dgain, real *dbias,                     /* (width) */
                        const real *dy, const real *x,                /* (rows, width) */
                        const real *mean, const real *rstd,           /* (rows) */
                        const real *gain, size_t rows, size_t width); /* (width) */

#endif
