/* QK-norm: RMSNorm of each head's queries and keys, with one gain per head.
 *
 *   y = x r gain,    r = 1 / sqrt(mean of x^2 over the head + 1e-5)
 *
 * It bounds the attention scores, so large learning rates do not make them blow up; the gain
 * sets how sharp a head's attention is. */
#ifndef LINNET_QKNORM_H
#define LINNET_QKNORM_H

#include "src/base/real.h"

/* Normalises in place the first `heads` heads of each row; queries and keys count as heads of
 * their own. */
void qknorm_forward(real *x,          /* (rows, heads * width), rows `stride` apart */
                    real *r,          /* (rows, heads) for backward */
                    const real *gain, /* (heads) */
                    size_t rows, size_t heads, size_t width, size_t stride);

/* Computes dx from y and r; dx holds dy on entry. Adds to dgain. */
void qknorm_backward(real *dx, real *dgain, const real *y, const real *r, const real *gain,
                     size_t rows, size_t heads, size_t width, size_t stride);

#endif
