/* The learning rate over time: a linear warm-up from nothing, then one of the schedules, which
 * are rows of a table. */
#ifndef LINNET_SCHEDULE_H
#define LINNET_SCHEDULE_H

#include "src/real.h"

typedef struct Schedule {
    const char *name;
    /* The factor at progress 0..1 behind the warm-up, ending at `floor`. */
    double (*factor)(double progress, double floor);
} Schedule;

const Schedule *schedule_find(size_t index); /* NULL after the last */
const char *schedule_name(size_t index);

/* The factor of the learning rate for step 0..steps-1. */
double schedule_factor(const Schedule *schedule, size_t step, size_t warmup, size_t steps,
                       double floor);

#endif
