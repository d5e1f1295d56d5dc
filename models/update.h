/* One step of the optimizer over all parameters: from a buffer of summed gradients to new
 * weights. */
#ifndef LINNET_UPDATE_H
#define LINNET_UPDATE_H

#include "models/model.h"
#include "src/optim/adamw.h"

/* What moves the matrices inside the blocks; AdamW moves everything else in any case. */
typedef enum Optimizer { OPTIMIZER_ADAMW, OPTIMIZER_MUON } Optimizer;
const char *optimizer_name(size_t index);

typedef struct Update {
    AdamW adam;
    size_t optimizer;
    double momentum; /* of Muon */
    double learning_rate, weight_decay;
    double clip; /* the longest gradient that is not shortened; 0: never */
} Update;

/* The length of the gradient of the mean over so many tokens. */
double update_gradient_norm(const Model *model, const real *gradient, size_t tokens);

/* Reals that an update needs while it works. */
size_t update_scratch_reals(const Model *model, size_t optimizer);

/* The t-th step, from 1. The norm is the one above: the gradient is divided by the tokens and
 * shortened to the clip on its way. */
void update_apply(Model *model, real *m, real *v, const real *gradient, const Update *update,
                  uint64_t t, double norm, size_t tokens, real *scratch);

#endif
