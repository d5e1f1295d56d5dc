/* Profiling: time spent in each phase of a training step.
 *
 * The main thread enters a phase, which ends the previous one; waiting for the worker threads
 * counts towards the phase. A change costs one clock read, about ten per layer, so profiling
 * is always on. The phases sum to the total by construction. Each thread that runs models has
 * times of its own. */
#ifndef LINNET_PHASE_H
#define LINNET_PHASE_H

#include <stddef.h>

typedef enum Phase {
    PHASE_REST,
    PHASE_EMBEDDING,
    PHASE_PROJECTIONS,
    PHASE_ATTENTION,
    PHASE_FFN,
    PHASE_NORMS, /* including residual additions and dropout */
    PHASE_HEAD,
    PHASE_OPTIMIZER,
    PHASE_IDLE,     /* waiting for other ranks to compute their shards */
    PHASE_EXCHANGE, /* sums over shards and ranks, weights of other ranks */
    PHASE_COUNT
} Phase;

void phase_enter(Phase phase);
/* Resets all times; the current phase starts again. */
void phase_reset(void);
/* Seconds spent in a phase since the reset, without the running phase since its last change. */
double phase_seconds(Phase phase);
const char *phase_name(Phase phase);

/* Seconds on a monotonic clock. */
double clock_seconds(void);

#endif
