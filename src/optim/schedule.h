/* Learning-rate schedules: linear warmup from 0, then one of the shapes of a table; after that,
 * in each cycle, linear from the peak to the floor again. */
#ifndef LINNET_SCHEDULE_H
#define LINNET_SCHEDULE_H

#include "src/base/real.h"

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
/* The number of steps after which a cycle ends; cycle 0 is the first part. Adding cycles, and
 * the steps for them, does not move the ends of earlier cycles. */
size_t schedule_cycle_end(const Schedule *schedule, size_t cycle);
/* How many cycles, with cycle 0, have ended after `step` steps. */
size_t schedule_cycles_ended(const Schedule *schedule, size_t step);

#endif
