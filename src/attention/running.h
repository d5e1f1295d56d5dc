/* A softmax whose scores arrive in parts. A row keeps the largest score so far, and under it
 * the sum of the exponentials; when a part brings a larger score, what was summed is scaled
 * down. At the end the logarithm of the whole sum is all that backward needs. */
#ifndef LINNET_RUNNING_H
#define LINNET_RUNNING_H

#include "src/vector.h"

/* What a row starts from: any score is larger. */
static inline void running_start(real *max, real *sum)
{
    *max = -INFINITY;
    *sum = 0;
}

/* Turns scores into weights exp(score - top), and gives their sum. */
static inline real running_weigh(real *restrict scores, size_t count, real top)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        scores[j] = vector_exp(scores[j] - top);
        sum += scores[j];
    }
    return sum;
}

/* Turns scores, at least one, into weights under the largest score so far. Returns the factor
 * for whatever else was summed under the one before. */
static inline real running_absorb(real *restrict scores, size_t count, real *max, real *sum)
{
    real most = vector_max(scores, count), factor = 1;
    if (most > *max) {
        factor = vector_exp(*max - most);
        *max = most;
    }
    real part = running_weigh(scores, count, *max);
    *sum = *sum * factor + part;
    return factor;
}

/* The logarithm of the sum of the exponentials. */
static inline real running_lse(real max, real sum)
{
    return max + (real)log((double)sum);
}

/* Divides the values that were summed with the weights; the lse takes the place of the sum. */
static inline void running_finish(real *values, size_t width, real max, real *sum)
{
    real share = 1 / *sum;
    for (size_t i = 0; i < width; i++)
        values[i] *= share;
    *sum = running_lse(max, *sum);
}

/* All scores of a row at once: the weights then sum to 1. Returns the lse. */
static inline real running_whole(real *scores, size_t count)
{
    real max, sum;
    running_start(&max, &sum);
    running_absorb(scores, count, &max, &sum);
    running_finish(scores, count, max, &sum);
    return sum;
}

/* From scores and the gradient of the weights to the weights and the gradient of the scores;
 * output_product is do . o, the sum of all the row's weights times their gradients. */
static inline void running_backward(real *restrict p, real *restrict dp, size_t count, real lse,
                                    real output_product)
{
    for (size_t j = 0; j < count; j++) {
        p[j] = vector_exp(p[j] - lse);
        dp[j] = p[j] * (dp[j] - output_product);
    }
}

#endif
