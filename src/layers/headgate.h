/* A gate for each head on the attention output (Qwen3-Next, modded-nanogpt):
 *
 *   y = 2 sigmoid(g) x,    g = u w
 *
 * where x is the output of a head, and g a number for each position and head, from the first
 * channels of the layer's input u. With w = 0, where training starts, y is x. */
#ifndef LINNET_HEADGATE_H
#define LINNET_HEADGATE_H

#include "src/base/real.h"

enum { HEADGATE_CHANNELS = 12 }; /* of u; all of them if there are fewer */

typedef struct HeadgateSizes {
    size_t rows, heads, width; /* width of a head; u has heads * width channels */
} HeadgateSizes;

size_t headgate_channels(size_t all);

/* x and y (rows, heads * width) may be the same; saves the factors of x in (rows, heads). */
void headgate_forward(real *y, real *factors, const real *x, const real *u,
                      const real *w, /* (channels, heads) */
                      HeadgateSizes sizes);

/* dx may be dy; the gradient of g replaces the factors. */
void headgate_backward(real *dx, real *factors, const real *dy, const real *y,
                       HeadgateSizes sizes);
/* From the gradient of g; adds to du and dw. */
void headgate_backward_input(real *du, real *dw, const real *dg, const real *u, const real *w,
                             HeadgateSizes sizes);

#endif
