/* Learning-rate schedules: linear warmup from 0, then one of the rows of a table. */
#ifndef LINNET_SCHEDULE_H
#define LINNET_SCHEDULE_H

#include "src/real.h"

typedef struct Schedule {
    const char *name;
    /* Returns the factor at progress 0..1 after the warmup; it ends at `floor`. */
    double (*factor)(double progress, double floor);
    /* Returns how often the factor has fallen to the floor; NULL: once, at the end. */
    size_t (*falls)(double progress);
} Schedule;

const Schedule *schedule_find(size_t index); /* NULL past the end */
const char *schedule_name(size_t index);

/* Returns the factor of the peak learning rate at step 0..steps-1. */
double schedule_factor(const Schedule *schedule, size_t step, size_t warmup, size_t steps,
                       double floor);
/* Returns how often a schedule of cycles has fallen to the floor after `step` steps; 0 for
 * others. */
size_t schedule_falls(const Schedule *schedule, size_t step, size_t warmup, size_t steps);

#endif
