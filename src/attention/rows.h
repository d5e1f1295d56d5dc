/* Helpers for rows of numbers, and for the memory of many. */
#ifndef LINNET_ROWS_H
#define LINNET_ROWS_H

#include "src/base/memory.h"
#include "src/math/vector.h"

/* Gives COUNT reals to each of the pointers whose addresses follow. */
#define ARENA_REALS_EACH(arena, count, ...)                       \
    arena_reals_each((arena), (count), (real * *[]){__VA_ARGS__}, \
                     sizeof((real **[]){__VA_ARGS__}) / sizeof(real **))

static inline void arena_reals_each(Arena *arena, size_t count, real **const *pointers,
                                    size_t pointer_count)
{
    for (size_t i = 0; i < pointer_count; i++)
        *pointers[i] = arena_reals(arena, count);
}

/* Multiplies each row of x (rows, width) by its factor (rows). */
static inline void rows_scale(real *x, size_t stride, const real *factors, size_t rows,
                              size_t width)
{
    for (size_t i = 0; i < rows; i++) {
        real factor = factors[i];
        for (size_t j = 0; j < width; j++)
            x[i * stride + j] *= factor;
    }
}

/* x = 0, (rows, width). */
static inline void rows_zero(real *x, size_t stride, size_t rows, size_t width)
{
    for (size_t i = 0; i < rows; i++)
        vector_zero(x + i * stride, width);
}

/* 1 / |x| for x (width), safe at 0. Backward turns the gradient of x / |x|, in dx (width), into
 * that of x. */
static inline real row_unit(const real *x, size_t width)
{
    return 1 / (real)sqrt((double)(vector_dot(x, x, width) + (real)1e-6));
}

static inline void row_unit_backward(real *restrict dx, const real *restrict x, real unit,
                                     size_t width)
{
    real along = vector_dot(dx, x, width) * unit * unit;
    for (size_t i = 0; i < width; i++)
        dx[i] = unit * (dx[i] - along * x[i]);
}

#endif
