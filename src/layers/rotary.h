/* RoPE (rotary position encoding): at position t, the first n pairs of features (i, i +
 * width/2) of a head are rotated by the angle t base^(-i/n). The dot product of a query and a
 * key then depends on their distance only. The backward pass rotates the gradient by the
 * opposite angle. Usually all pairs rotate, n = width/2, and the base is 10000. */
#ifndef LINNET_ROTARY_H
#define LINNET_ROTARY_H

#include "src/base/real.h"

/* Fills the table's row of a position: width/2 cosines, then width/2 sines. */
void rotary_row(real *row, /* (width) */
                size_t position, size_t width, size_t pairs, double base);

static inline void rotary_rotate(real *restrict x,         /* (width) */
                                 const real *restrict row, /* (width) */
                                 size_t width, bool back)
{
    size_t half = width / 2;
    for (size_t i = 0; i < half; i++) {
        real cosine = row[i], sine = back ? -row[half + i] : row[half + i];
        real a = x[i], b = x[half + i];
        x[i] = a * cosine - b * sine;
        x[half + i] = a * sine + b * cosine;
    }
}

/* Rotates all heads and rows, queries and keys being heads of their own; row r is at position r
 * mod length. */
void rotary_rotate_rows(real *x, size_t stride, /* (rows, heads * width), rows `stride` apart */
                        const real *table,      /* (length, width) */
                        size_t rows, size_t length, size_t heads, size_t width, bool back);

#endif
