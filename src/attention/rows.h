/* Small things that engines do with rows of numbers, and with their scratch memory. */
#ifndef LINNET_ROWS_H
#define LINNET_ROWS_H

#include "src/vector.h"

/* Hands out scratch memory piece by piece, or only counts it while there is none. */
typedef struct Supply {
    real *base;
    size_t used;
} Supply;

static inline real *supply_take(Supply *supply, size_t count)
{
    enum { LINE = 16 };
    real *start = supply->base ? supply->base + supply->used : NULL;
    supply->used += (count + LINE - 1) / LINE * LINE;
    return start;
}

/* Each row times a number of its own. */
static inline void rows_scale(real *x, size_t stride, const real *factors, size_t rows,
                              size_t width)
{
    for (size_t i = 0; i < rows; i++) {
        real factor = factors[i];
        for (size_t j = 0; j < width; j++)
            x[i * stride + j] *= factor;
    }
}

static inline void rows_zero(real *x, size_t stride, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++)
        vector_zero(x + i * stride, width);
}

#endif
