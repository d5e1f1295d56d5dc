/* Learned factors around attention: the value residual before it, a gate for each head after
 * it. */
#ifndef LINNET_GATES_H
#define LINNET_GATES_H

#include "src/base/real.h"

/* The value residual interpolates with a learned weight m: y = (1 - m) x + m z; or with gates
 * with one for each number, sigmoid(gate). Overwrites x with y, and saves x for the backward
 * pass. */
void blend_forward(real *x,           /* (rows, width), rows `stride` apart */
                   real *saved,       /* (rows, width) */
                   const real *z,     /* (rows, width) */
                   const real *m,     /* (1), or */
                   const real *gates, /* (rows, width); the other is NULL */
                   size_t rows, size_t width, size_t stride);

/* dx holds dy on entry. Adds to dz and dm; writes dgates, which may be gates. */
void blend_backward(real *dx,          /* (rows, width), rows `stride` apart */
                    real *dz,          /* (rows, width) */
                    real *dm,          /* (1) or NULL */
                    real *dgates,      /* (rows, width) or NULL */
                    const real *saved, /* (rows, width) */
                    const real *z,     /* (rows, width) */
                    const real *m,     /* as in forward */
                    const real *gates, size_t rows, size_t width, size_t stride);

/* A gate for each head on the attention output (Qwen3-Next, modded-nanogpt):
 *
 *   y = 2 sigmoid(g) x,    g = u w
 *
 * where x is the output of a head, and g a number for each position and head, from the first
 * channels of the layer's input u. With w = 0, where training starts, y is x. */
enum { HEADGATE_CHANNELS = 12 }; /* of u; all of them if there are fewer */

typedef struct HeadgateSizes {
    size_t rows, heads, width; /* width: of a head */
    size_t inputs;             /* of u */
} HeadgateSizes;

size_t headgate_channels(size_t inputs);

/* x and y may be the same; saves the factors of x. */
void headgate_forward(real *y,       /* (rows, heads * width) */
                      real *factors, /* (rows, heads) */
                      const real *x, /* (rows, heads * width) */
                      const real *u, /* (rows, inputs) */
                      const real *w, /* (channels, heads) */
                      HeadgateSizes sizes);

/* dx may be dy; the gradient of g, dfactors, replaces the factors: the same memory. */
void headgate_backward(real *dx,            /* (rows, heads * width) */
                       real *dfactors,      /* (rows, heads) */
                       const real *dy,      /* (rows, heads * width) */
                       const real *y,       /* (rows, heads * width) */
                       const real *factors, /* (rows, heads) */
                       HeadgateSizes sizes);
/* From the gradient of g; adds to du and dw. */
void headgate_backward_input(real *du,       /* (rows, inputs) */
                             real *dw,       /* (channels, heads) */
                             const real *dg, /* (rows, heads) */
                             const real *u,  /* (rows, inputs) */
                             const real *w,  /* (channels, heads) */
                             HeadgateSizes sizes);

#endif
