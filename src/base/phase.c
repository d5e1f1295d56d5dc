#include "src/base/phase.h"

#include <time.h>

static _Thread_local struct {
    Phase current;
    double since;
    double spent[PHASE_COUNT];
} watch;

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void phase_enter(Phase phase)
{
    double now = clock_seconds();
    watch.spent[watch.current] += now - watch.since;
    watch.since = now;
    watch.current = phase;
}

void phase_reset(void)
{
    for (size_t i = 0; i < PHASE_COUNT; i++)
        watch.spent[i] = 0;
    watch.since = clock_seconds();
}

double phase_seconds(Phase phase)
{
    return watch.spent[phase];
}

const char *phase_name(Phase phase)
{
    static const char *const names[] = {"rest", "embedding", "projections", "attention",
                                        "ffn",  "norms",     "head",        "optimizer",
                                        "idle", "exchange"};
    return names[phase];
}
