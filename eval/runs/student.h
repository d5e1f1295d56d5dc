/* Student's t distribution: confidence intervals of means and of their differences. */
#ifndef LINNET_STUDENT_H
#define LINNET_STUDENT_H

#include <stddef.h>

/* The t beyond which, on both sides together, the share `tails` of the distribution lies, with
 * so many degrees of freedom, whole or not: student_quantile(0.05, 10) is 2.228. */
double student_quantile(double tails, double freedom);

/* A sample. The standard deviation divides by n - 1 and is NaN for a single value; without
 * values all numbers but the count are NaN. */
typedef struct Sample {
    double mean, deviation, count;
    double low, high;
} Sample;

Sample student_sample(const double *values, size_t count);

typedef struct Interval {
    double low, high; /* NaN where the samples allow none */
    double freedom;
} Interval;

/* Welch's confidence interval, at level 1 - tails, of the mean of b less the mean of a; the
 * variances need not be equal. Each sample needs two values, and at least one sample two
 * different ones. */
Interval student_difference(Sample a, Sample b, double tails);

/* Half the width of the confidence interval of a mean. NaN for a sample of one. */
double student_mean_reach(Sample sample, double tails);

/* Half the width of the prediction interval for one more value. NaN for a sample of one. */
double student_next_value(Sample sample, double tails);

/* --- the paired bootstrap --- */

enum { BOOTSTRAP_RESAMPLES = 10000 };

typedef struct Bootstrap {
    double low, high; /* NaN for a single unit */
} Bootstrap;

/* The percentile interval, at level 1 - tails, of the sum of all differences over the sum of
 * all sizes, such as the difference in nats and the tokens of every line of a text: `count`
 * units are drawn with replacement, again and again. The numbers drawn are always the same.
 * Runs on the team. */
Bootstrap student_bootstrap(const double *differences /* (count) */,
                            const double *sizes /* (count) */, size_t count, double tails);

#endif
