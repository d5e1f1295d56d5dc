/* Extending a run: --resume RUN --epochs 12 changes the length of a finished or interrupted
 * run.
 *
 * The rule: every quantity that depends on the progress of the training is a function of the
 * step and of the number of all steps, so from the step of the extension on it is that of the
 * new length. The learning rate follows the schedule of the new length: after the end of a
 * cosine, linear or trapezoid schedule it rises again. Warmup steps stay the same number.
 * The matching of attention outputs in a conversion keeps its length. Random features are
 * redrawn until the last fifth of the new length. Weight averaging that begins later in the new
 * length starts again there; otherwise it goes on. It begins with the weights of a finished
 * schedule to which cycles are added. Early stopping counts anew. The best model is replaced
 * only by a better one.
 *
 * An extended run depends on the settings and on the step of the extension alone, so that it
 * can be interrupted and resumed bit-identically like any other. */
#ifndef LINNET_EXTENSION_H
#define LINNET_EXTENSION_H

#include "src/base/real.h"

typedef struct Extension {
    bool planned;
    bool finished;         /* the run was, so its last checkpoint is worth keeping */
    bool restarts_average; /* the average so far is dropped */
    size_t step;           /* steps done before it */
    size_t from, to;       /* the old and the new length in steps */
    double lr_from, lr_to; /* the learning rate of the last step, and of the next */
    double average_from;   /* the step from which on weights are averaged, if that is later */
} Extension;

#endif
