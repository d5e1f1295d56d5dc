/* A small model, its gradients, and a batch for it to run on. */
#ifndef LINNET_TEST_RIG_H
#define LINNET_TEST_RIG_H

#include "models/objectives.h"
#include "models/score.h"

typedef struct Rig {
    Model model;
    Pass pass;
    Params gradients;
    real *gradient_base;
    int32_t *inputs, *targets;
    Pass *teacher; /* for tests of attention transfer */
} Rig;

extern const ModelConfig rig_tiny;

/* A spread above 0 makes the weights differ enough to matter. */
void rig_make_for(Rig *rig, ModelConfig config, size_t batch, double spread, PassUse use);
void rig_make(Rig *rig, ModelConfig config, size_t batch, double spread); /* for training */
void rig_free(Rig *rig);

/* Forward and backward with the dropout of the first step; returns the loss summed over all
 * rows. */
double rig_gradients(Rig *rig);
/* The same, added to other gradients. */
double rig_gradients_into(Rig *rig, Params *gradients);

/* Compares the gradients of all tensors with this part in their names with differences of the
 * loss, which may write other gradients. */
void rig_check_gradients(Rig *rig, double (*loss)(void *rig), const char *part);

/* Scores a text with windows of the pass's length. */
Score rig_score(Pass *pass, Tokens ids, size_t count, int32_t prime, size_t stride);

#endif
