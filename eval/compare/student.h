/* Student's t distribution, as far as intervals for means and their differences need it. */
#ifndef LINNET_STUDENT_H
#define LINNET_STUDENT_H

#include <stddef.h>

/* The t beyond which, on both sides together, the share `tails` of the distribution lies, with
 * so many degrees of freedom, whole or not: student_quantile(0.05, 10) is 2.228. */
double student_quantile(double tails, double freedom);

/* What is known of one sample. The deviation has n - 1 below, and is NaN for a single value; of
 * no value at all every number but the count is NaN. */
typedef struct Sample {
    double mean, deviation, count;
    double low, high;
} Sample;

Sample student_sample(const double *values, size_t count);

typedef struct Interval {
    double low, high; /* NaN where the samples allow none */
    double freedom;
} Interval;

/* Welch's interval for the difference of two means, b's less a's, that misses the true one in
 * the share `tails` of cases; the deviations need not be equal. Each sample needs two values,
 * and they must differ in at least one of the two. */
Interval student_difference(Sample a, Sample b, double tails);

/* How far the true mean may lie from the mean of a sample, on either side, in all but the share
 * `tails` of cases. NaN for a sample of one. */
double student_mean_reach(Sample sample, double tails);

/* How far one more value may lie from the mean of a sample before chance explains it no longer:
 * less than this in all but the share `tails` of cases. NaN for a sample of one. */
double student_next_value(Sample sample, double tails);

#endif
