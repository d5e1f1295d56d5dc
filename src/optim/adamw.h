/* AdamW: Adam with decoupled weight decay.
 *
 *   m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2
 *   w = w - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay w) */
#ifndef LINNET_ADAMW_H
#define LINNET_ADAMW_H

#include "src/base/real.h"

typedef struct AdamW {
    double beta1, beta2, epsilon;
} AdamW;

/* Takes step t (counted from 1) on `count` weights with a common weight decay; m and v are the
 * first and second moments. `scale` multiplies the gradient first, for averaging and gradient
 * clipping. */
void adamw_step(real *w, real *m, real *v, /* (count) */
                const real *gradient,      /* (count) */
                size_t count, AdamW adam, uint64_t t, double learning_rate, double decay,
                double scale);

/* Returns the squared norm of the gradient, summed in double in a fixed order. */
double gradient_square_sum(const real *gradient, /* (count) */
                           size_t count);

#endif
