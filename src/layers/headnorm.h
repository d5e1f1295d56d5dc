/* Per-head output normalisation (RMSNorm) and a SiLU gate, after the attention of some kinds.
 *
 *   n = x / sqrt(mean of x^2 over the head + 1e-5) * gain        y = n * z sigmoid(z)
 *
 * One of them can be absent: without a gain n = x, and without z y = n. */
#ifndef LINNET_HEADNORM_H
#define LINNET_HEADNORM_H

#include "src/base/real.h"

void headnorm_forward(real *y,          /* (rows, heads * width) */
                      const real *x,    /* (rows, heads * width) */
                      const real *gain, /* (heads * width) or NULL */
                      const real *z,    /* (rows, heads * width) or NULL */
                      size_t rows, size_t heads, size_t width);

/* Adds to dgain, writes dx and dz. dx may alias dy, and dz may alias z. dgain or dz is not used
 * if the forward pass had no gain or no z. */
void headnorm_backward(real *dx, real *dgain, real *dz, const real *dy, const real *x,
                       const real *gain, const real *z, size_t rows, size_t heads,
                       size_t width);

#endif
