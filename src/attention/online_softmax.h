/* Online softmax: scores arrive in parts. A row keeps its largest score so far and the sum of
 * exponentials relative to it; when a part has a larger score, the sums are rescaled. Backward
 * needs only the logarithm of the final sum. */
#ifndef LINNET_ONLINE_SOFTMAX_H
#define LINNET_ONLINE_SOFTMAX_H

#include "src/math/vector.h"

/* The start of a row: any score is larger. */
static inline void online_softmax_start(real *max, real *sum)
{
    *max = -INFINITY;
    *sum = 0;
}

/* Turns scores (count) into weights exp(score - top); returns their sum. */
static inline real online_softmax_exp(real *restrict scores, size_t count, real top)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        scores[j] = vector_exp(scores[j] - top);
        sum += scores[j];
    }
    return sum;
}

/* Turns scores (count), at least one, into weights relative to the largest score so far.
 * Returns the factor that rescales the row's other sums. */
static inline real online_softmax_absorb(real *restrict scores, size_t count, real *max,
                                         real *sum)
{
    real most = vector_max(scores, count), factor = 1;
    if (most > *max) {
        factor = vector_exp(*max - most);
        *max = most;
    }
    real part = online_softmax_exp(scores, count, *max);
    *sum = *sum * factor + part;
    return factor;
}

/* log-sum-exp */
static inline real online_softmax_lse(real max, real sum)
{
    return max + (real)log((double)sum);
}

/* Divides the weighted sum of values (width) by the sum of weights, which the lse replaces. */
static inline void online_softmax_finish(real *values, size_t width, real max, real *sum)
{
    real share = 1 / *sum;
    for (size_t i = 0; i < width; i++)
        values[i] *= share;
    *sum = online_softmax_lse(max, *sum);
}

/* Softmax of a whole row (count); returns the lse. */
static inline real online_softmax_whole(real *scores, size_t count)
{
    real max, sum;
    online_softmax_start(&max, &sum);
    online_softmax_absorb(scores, count, &max, &sum);
    online_softmax_finish(scores, count, max, &sum);
    return sum;
}

/* Turns the gradient d (count) of its weights (count) into that of its scores. */
static inline void online_softmax_whole_backward(real *restrict d, const real *restrict weights,
                                                 size_t count)
{
    real mean = vector_dot(d, weights, count);
    for (size_t j = 0; j < count; j++)
        d[j] = weights[j] * (d[j] - mean);
}

/* Turns scores p (count) and the gradient dp (count) of the weights into the weights and the
 * gradient of the scores; output_product is do . o, the sum over the row of weights times
 * gradients. */
static inline void online_softmax_backward(real *restrict p, real *restrict dp, size_t count,
                                           real lse, real output_product)
{
    for (size_t j = 0; j < count; j++) {
        p[j] = vector_exp(p[j] - lse);
        dp[j] = p[j] * (dp[j] - output_product);
    }
}

#endif
