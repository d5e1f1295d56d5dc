/* Dropout without stored masks. Whether an element is dropped is a function of its index and of
 * a key (seed, step, site in the model), so the backward pass recomputes the mask. Survivors
 * are scaled by 1 / (1 - rate). */
#ifndef LINNET_DROPOUT_H
#define LINNET_DROPOUT_H

#include "src/math/gemm.h"
#include "src/math/random.h"

typedef struct Dropout {
    RandomKey key;
    real rate; /* 0: nothing is dropped */
} Dropout;

/* Returns the factor of one element: 0, or 1 / (1 - rate). */
static inline real dropout_factor(RandomKey key, uint32_t index, uint32_t threshold, real scale)
{
    return random_word(key, index) >= threshold ? scale : 0;
}

static inline uint32_t dropout_threshold(real rate)
{
    return (uint32_t)((double)rate * 4294967296.0);
}

/* y = base + dropout(x). y may alias x or base. */
void dropout_add(real *y,          /* (rows, width) */
                 const real *base, /* (rows, width) or NULL */
                 const real *x,    /* (rows, width) */
                 Dropout dropout, size_t rows, size_t width);

/* The same for a product: once a tile of C is computed, C = base + dropout(C). Nothing is done
 * if the sum is NULL. */
typedef struct DropoutSum {
    const real *base; /* (rows, width), like C, and not the same memory */
    Dropout dropout;
    size_t width;
} DropoutSum;
GemmFinish dropout_finish(const DropoutSum *sum);

#endif
