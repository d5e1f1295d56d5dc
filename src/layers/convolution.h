/* A short causal convolution over positions, each channel with weights of its own, and SiLU; or
 * one that is residual, and with weights of zero leaves everything as it is:
 *
 *   h_t = sum over i < taps of w_i * x_(t - taps + 1 + i)
 *   y_t = h_t sigmoid(h_t)    or    y_t = x_t + h_t
 *
 * Before a sequence's start there are zeros, or the last taps - 1 rows of what came before. */
#ifndef LINNET_CONVOLUTION_H
#define LINNET_CONVOLUTION_H

#include "src/real.h"

enum { CONVOLUTION_MOST_TAPS = 4 };

typedef struct ConvolutionSizes {
    size_t batch, length, channels, taps;
    bool residual;
} ConvolutionSizes;

void convolution_forward(real *y,       /* (batch * length, channels), not in the place of x */
                         const real *x, /* (batch * length, channels) */
                         const real *w, /* (taps, channels) */
                         ConvolutionSizes sizes,
                         real *state); /* (batch, taps - 1, channels): the rows before, and
                                        * afterwards the last ones; or NULL */

/* Adds to dw and writes dx, which must not take the place of dy or x; h is computed again. The
 * state is the one that forward began with; no gradient goes into it. */
void convolution_backward(real *dx, real *dw, const real *dy, const real *x, const real *w,
                          ConvolutionSizes sizes, const real *state);

#endif
