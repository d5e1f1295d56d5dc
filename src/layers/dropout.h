/* Dropout with masks that nobody stores: whether an element is dropped is a function of the
 * key (seed, step, place in the model) and its index, so the backward pass computes the same
 * mask again. Survivors are scaled by 1 / (1 - rate). */
#ifndef LINNET_DROPOUT_H
#define LINNET_DROPOUT_H

#include "src/random.h"

typedef struct Dropout {
    RandomKey key;
    real rate; /* 0: nothing is dropped */
} Dropout;

/* The factor of one element: 0, or 1 / (1 - rate). */
static inline real dropout_factor(RandomKey key, uint32_t index, uint32_t threshold, real scale)
{
    return random_word(key, index) >= threshold ? scale : 0;
}

static inline uint32_t dropout_threshold(real rate)
{
    return (uint32_t)((double)rate * 4294967296.0);
}

/* y = base + dropout(x); base may be NULL, and y may be x or base. */
void dropout_add(real *y, const real *base, const real *x, Dropout dropout, size_t count);

#endif
