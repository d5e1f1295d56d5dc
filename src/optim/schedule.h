/* Learning-rate schedules: linear warmup from 0, then one of the shapes of a table; after that,
 * in each cycle, linear from the peak to the floor again. */
#ifndef LINNET_SCHEDULE_H
#define LINNET_SCHEDULE_H

#include "src/real.h"

typedef struct Schedule {
    size_t shape; /* of the first part */
    size_t warmup, steps;
    size_t cycles; /* after the first part, which is six times as long as each of them */
    double floor;  /* as a factor of the peak */
} Schedule;

enum { FIRST_PART = 6 };

const char *schedule_name(size_t shape); /* NULL past the end */

/* The factor of the peak learning rate at step 0..steps-1. */
double schedule_factor(const Schedule *schedule, size_t step);
/* The steps until a cycle ends; cycle 0 is the first part. Cycles that are added to a schedule,
 * with the steps for them, do not change its ends. */
size_t schedule_end(const Schedule *schedule, size_t cycle);
/* How many of these ends have been reached after `step` steps. */
size_t schedule_ended(const Schedule *schedule, size_t step);

#endif
