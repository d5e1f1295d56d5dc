/* What follows the attention of some kinds: a norm of each head's output by itself, and a gate.
 *
 *   n = x / sqrt(mean of x^2 over the head + 1e-5) * gain        y = n * z sigmoid(z)
 *
 * One of the two may be missing: without a gain n is x, and without z y is n. */
#ifndef LINNET_HEADNORM_H
#define LINNET_HEADNORM_H

#include "src/real.h"

void headnorm_forward(real *y,          /* (rows, heads * width) */
                      const real *x,    /* (rows, heads * width) */
                      const real *gain, /* (heads * width) or NULL */
                      const real *z,    /* (rows, heads * width) or NULL */
                      size_t rows, size_t heads, size_t width);

/* Adds to dgain, writes dx and dz; dx may take the place of dy, and dz that of z. What is
 * missing has no gradient. */
void headnorm_backward(real *dx, real *dgain, real *dz, const real *dy, const real *x,
                       const real *gain, const real *z, size_t rows, size_t heads,
                       size_t width);

#endif
