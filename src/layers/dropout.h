/* Dropout with masks that nobody stores: whether an element is dropped is a function of the
 * key (seed, step, place in the model) and its index, so the backward pass computes the same
 * mask again. Survivors are scaled by 1 / (1 - rate). Rows may share a mask: with a locked one,
 * a feature that is dropped is dropped at every position of a sequence. */
#ifndef LINNET_DROPOUT_H
#define LINNET_DROPOUT_H

#include "src/random.h"

typedef struct Dropout {
    RandomKey key;
    real rate;   /* 0: nothing is dropped */
    size_t span; /* so many rows after one another share a mask; 0: each has its own */
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

/* Where a row of so many features finds its part of the mask. */
static inline uint32_t dropout_first(Dropout dropout, size_t row, size_t width)
{
    return (uint32_t)((dropout.span ? row / dropout.span : row) * width);
}

/* y = base + dropout(x), (rows, width) each; base may be NULL, and y may be x or base. */
void dropout_add(real *y, const real *base, const real *x, Dropout dropout, size_t rows,
                 size_t width);

#endif
