/* One step of the optimizer over all parameters: from a buffer of summed gradients to new
 * weights. */
#ifndef LINNET_UPDATE_H
#define LINNET_UPDATE_H

#include "models/model.h"
#include "src/optim/adamw.h"

typedef struct Update {
    AdamW adam;
    double learning_rate, weight_decay;
    double clip; /* the longest gradient that is not shortened; 0: never */
} Update;

/* The length of the gradient of the mean over so many tokens. */
double update_gradient_norm(const Model *model, const real *gradient, size_t tokens);

/* The t-th step, from 1. The norm is the one above: the gradient is divided by the tokens and
 * shortened to the clip on its way. */
void update_apply(Model *model, real *m, real *v, const real *gradient, const Update *update,
                  uint64_t t, double norm, size_t tokens);

#endif
