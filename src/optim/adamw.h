/* AdamW: Adam with weight decay beside the gradient, not in it.
 *
 *   m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2
 *   w = w - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay w) */
#ifndef LINNET_ADAMW_H
#define LINNET_ADAMW_H

#include "src/real.h"

typedef struct AdamW {
    double beta1, beta2, epsilon;
} AdamW;

/* One step, the t-th (from 1), over `count` weights that share a decay. The gradient is
 * multiplied by scale first: the place for averaging and clipping. */
void adamw_step(real *w, real *m, real *v, const real *gradient, size_t count, AdamW adam,
                uint64_t t, double learning_rate, double decay, double scale);

/* The sum of the squares, added up in double and in an order of its own. */
double gradient_square_sum(const real *gradient, size_t count);

#endif
