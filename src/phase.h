/* Where the time goes: a stopwatch for the phases of a training step.
 *
 * The thread that runs the model enters a phase and thereby leaves the one before; what it
 * waits for its team belongs to the phase. Each change costs one reading of a clock, some ten
 * of them a layer, so it is always on; and the phases sum to the whole by construction. */
#ifndef LINNET_PHASE_H
#define LINNET_PHASE_H

#include <stddef.h>

typedef enum Phase {
    PHASE_REST,
    PHASE_EMBEDDING,
    PHASE_PROJECTIONS,
    PHASE_ATTENTION,
    PHASE_FFN,
    PHASE_NORMS, /* with residual sums and dropout */
    PHASE_HEAD,
    PHASE_OPTIMIZER,
    PHASE_COUNT
} Phase;

void phase_enter(Phase phase);
/* Forgets all times; the current phase begins anew. */
void phase_reset(void);
/* Seconds spent in a phase since then, the current one up to its last change. */
double phase_seconds(Phase phase);
const char *phase_name(Phase phase);

/* Seconds on a clock that never jumps. */
double clock_seconds(void);

#endif
