/* Student's t distribution: confidence intervals of means, and many comparisons of means with
 * one standard deviation, pooled over all samples, and Holm's correction. */
#ifndef LINNET_STUDENT_H
#define LINNET_STUDENT_H

#include <stddef.h>

/* The t beyond which, on both sides together, the share `tails` of the distribution lies, with
 * so many degrees of freedom, whole or not: student_quantile(0.05, 10) is 2.228. */
double student_quantile(double tails, double freedom);
/* Its inverse: the p of a t, two-sided. */
double student_tails(double t, double freedom);

/* A sample. The standard deviation divides by n - 1 and is NaN for a single value; without
 * values all numbers but the count are NaN. */
typedef struct Sample {
    double mean, deviation, count;
    double low, high;
} Sample;

Sample student_sample(const double *values, size_t count);

/* The standard deviation that samples share, sqrt(sum (x - mean of its sample)^2 / freedom)
 * with sum (n - 1) degrees of freedom; NaN and 0 if none of them has two values. */
typedef struct Pool {
    double deviation, freedom;
} Pool;

Pool student_pool(const Sample *samples /* (count) */, size_t count);

/* Half the width of the confidence interval, at level 1 - tails, of the difference of two means
 * over so many values. NaN without a pool. */
double student_reach(Pool pool, double count_a, double count_b, double tails);

/* The mean of b less the mean of a. The interval and p, which is two-sided, are NaN unless each
 * sample has two values and the pool a deviation. */
typedef struct Difference {
    double mean, low, high, p;
} Difference;

Difference student_difference(Sample a, Sample b, Pool pool, double tails);

/* Holm's correction: in ascending order the k-th of m values of p is multiplied by m - k + 1,
 * and is no less than the one before and at most 1. NaN are no comparisons and stay. */
void student_holm(double *p /* (count) */, size_t count);

/* Half the width of the confidence interval of a mean. NaN for a sample of one. */
double student_mean_reach(Sample sample, double tails);

/* --- the paired bootstrap --- */

enum { BOOTSTRAP_RESAMPLES = 10000 };

typedef struct Bootstrap {
    double low, high, p; /* NaN for a single unit */
} Bootstrap;

/* The percentile interval, at level 1 - tails, of the sum of all differences over the sum of
 * all sizes, such as the difference in nats and the tokens of every line of a text: `count`
 * units are drawn with replacement, again and again. Its p is two-sided, twice the share of the
 * resamples on the far side of zero, and at least 0.0002; it is below `tails` where the
 * interval leaves zero out. The numbers drawn are always the same. Runs on the team. */
Bootstrap student_bootstrap(const double *differences /* (count) */,
                            const double *sizes /* (count) */, size_t count, double tails);

#endif
