/* P(|T| > t) is the regularised incomplete beta function I_x(freedom / 2, 1 / 2) at
 * x = freedom / (freedom + t^2). It is computed by its continued fraction with Lentz's method,
 * on the side of the mean where that converges fast; the quantile then by bisection, which
 * needs no derivative and cannot run away. */
#include "eval/runs/student.h"
#include "src/base/containers.h"
#include "src/math/random.h"
#include "src/math/team.h"

#include <math.h>
#include <stdlib.h>

Sample student_sample(const double *values, size_t count)
{
    Sample sample = {NAN, NAN, (double)count, NAN, NAN};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
        sample.low = fmin(sample.low, values[i]); /* which passes NaN over */
        sample.high = fmax(sample.high, values[i]);
    }
    if (count > 0)
        sample.mean = sum / sample.count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - sample.mean) * (values[i] - sample.mean);
    if (count > 1)
        sample.deviation = sqrt(squares / (sample.count - 1));
    return sample;
}

/* The continued fraction of I_x(a, b), without the factor before it. */
static double beta_fraction(double a, double b, double x)
{
    enum { MOST_TERMS = 10000 };
    const double tiny = 1e-300, precise = 1e-15;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < MOST_TERMS; m++) {
        const double terms[] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double factor = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            c = 1 + terms[i] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            factor = c * d;
            value *= factor;
        }
        if (fabs(factor - 1) < precise)
            break;
    }
    return value;
}

/* I_x(a, b); y is 1 - x, handed in because it may be too small to be had from x. */
static double incomplete_beta(double a, double b, double x, double y)
{
    if (x <= 0 || y <= 0)
        return x <= 0 ? 0 : 1;
    double factor = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
    if (x < (a + 1) / (a + b + 2))
        return factor * beta_fraction(a, b, x) / a;
    return 1 - factor * beta_fraction(b, a, y) / b;
}

double student_tails(double t, double freedom)
{
    double all = freedom + t * t;
    return incomplete_beta(freedom / 2, 0.5, freedom / all, t * t / all);
}

double student_quantile(double tails, double freedom)
{
    const double most = 1e150;
    if (!(freedom > 0) || !(tails > 0 && tails < 1))
        return NAN;
    double low = 0, high = 1;
    while (student_tails(high, freedom) > tails && high < most)
        high *= 2;
    for (;;) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            return high;
        if (student_tails(middle, freedom) > tails)
            low = middle;
        else
            high = middle;
    }
}

Pool student_pool(const Sample *samples, size_t count)
{
    double squares = 0, freedom = 0;
    for (size_t i = 0; i < count; i++)
        if (samples[i].count >= 2) {
            squares += (samples[i].count - 1) * samples[i].deviation * samples[i].deviation;
            freedom += samples[i].count - 1;
        }
    return (Pool){sqrt(squares / freedom), freedom};
}

double student_reach(Pool pool, double count_a, double count_b, double tails)
{
    return student_quantile(tails, pool.freedom) * pool.deviation *
           sqrt(1 / count_a + 1 / count_b);
}

Difference student_difference(Sample a, Sample b, Pool pool, double tails)
{
    Difference of = {b.mean - a.mean, NAN, NAN, NAN};
    if (!(a.count >= 2 && b.count >= 2 && pool.deviation > 0 && isfinite(of.mean)))
        return of;
    double reach = student_reach(pool, a.count, b.count, tails);
    of.low = of.mean - reach;
    of.high = of.mean + reach;
    of.p = student_tails(of.mean / (pool.deviation * sqrt(1 / a.count + 1 / b.count)),
                         pool.freedom);
    return of;
}

double student_mean_reach(Sample sample, double tails)
{
    if (!(sample.count >= 2))
        return NAN;
    return student_quantile(tails, sample.count - 1) * sample.deviation / sqrt(sample.count);
}

static int ascending(const void *left, const void *right)
{
    double a = **(double *const *)left, b = **(double *const *)right;
    return (a > b) - (a < b);
}

void student_holm(double *p, size_t count)
{
    double **sorted = NULL, least = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]))
            arrput(sorted, &p[i]);
    const size_t m = arrlenu(sorted);
    if (m > 0)
        qsort(sorted, m, sizeof *sorted, ascending);
    for (size_t k = 0; k < m; k++)
        *sorted[k] = least = fmax(least, fmin(1, (double)(m - k) * *sorted[k]));
    arrfree(sorted);
}

/* --- the paired bootstrap --- */

typedef struct Resampling {
    const double *differences, *sizes; /* (count) */
    size_t count;
    double *means; /* (BOOTSTRAP_RESAMPLES) */
} Resampling;

/* Each resample has a stream of numbers of its own, so threads do not change the result. */
static void resample(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Resampling *job = context;
    const RandomKey key = random_key(0, RANDOM_BOOTSTRAP, tile);
    double difference = 0, size = 0;
    for (size_t i = 0; i < job->count; i++) {
        size_t drawn = (size_t)random_below(key, i, job->count);
        difference += job->differences[drawn];
        size += job->sizes[drawn];
    }
    job->means[tile] = size > 0 ? difference / size : 0;
}

static int compare_means(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Bootstrap student_bootstrap(const double *differences, const double *sizes, size_t count,
                            double tails)
{
    double means[BOOTSTRAP_RESAMPLES];
    Resampling job = {differences, sizes, count, means};
    if (count < 2)
        return (Bootstrap){NAN, NAN, NAN};
    team_run(BOOTSTRAP_RESAMPLES, resample, &job);
    qsort(means, BOOTSTRAP_RESAMPLES, sizeof *means, compare_means);
    size_t below = 0, above = 0;
    for (size_t i = 0; i < BOOTSTRAP_RESAMPLES; i++) {
        below += means[i] <= 0;
        above += means[i] >= 0;
    }
    /* The text itself counts as one more resample, in p and in the rank of the bounds. */
    const double all = BOOTSTRAP_RESAMPLES + 1;
    const size_t rank = (size_t)fmax(1, tails / 2 * all), fewer = below < above ? below : above;
    return (Bootstrap){means[rank - 1], means[BOOTSTRAP_RESAMPLES - rank],
                       fmin(1, 2 * (double)(fewer + 1) / all)};
}
