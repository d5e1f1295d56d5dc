/* A softmax whose scores arrive in parts. A row keeps the largest score so far, and under it
 * the sum of the exponentials; when a part brings a larger score, what was summed is scaled
 * down. */
#ifndef LINNET_RUNNING_H
#define LINNET_RUNNING_H

#include "src/vector.h"

/* What a row starts from: any score is larger. */
static inline void running_start(real *max, real *sum)
{
    *max = -INFINITY;
    *sum = 0;
}

/* Turns scores, at least one, into weights under the largest score so far. Returns the factor
 * for whatever else was summed under the one before. */
static inline real running_absorb(real *restrict scores, size_t count, real *max, real *sum)
{
    real most = vector_max(scores, count), factor = 1, part = 0;
    if (most > *max) {
        factor = vector_exp(*max - most);
        *max = most;
    }
    real top = *max;
#pragma omp simd reduction(+ : part)
    for (size_t j = 0; j < count; j++) {
        scores[j] = vector_exp(scores[j] - top);
        part += scores[j];
    }
    *sum = *sum * factor + part;
    return factor;
}

#endif
