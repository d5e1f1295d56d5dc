/* A short causal depthwise convolution over positions, followed by SiLU, or alone, or added to
 * its input (residual; with zero weights it is the identity):
 *
 *   h_t = sum over i < taps of w_i * x_(t - taps + 1 + i) + b
 *   y_t = h_t sigmoid(h_t)    or    y_t = h_t    or    y_t = x_t + h_t
 *
 * A sequence is preceded by zeros or by its state, the last taps - 1 rows of earlier input. */
#ifndef LINNET_CONVOLUTION_H
#define LINNET_CONVOLUTION_H

#include "src/base/real.h"

enum { CONVOLUTION_MOST_TAPS = 4 };

typedef enum ConvolutionForm {
    CONVOLVE_SILU,
    CONVOLVE_PLAIN,
    CONVOLVE_RESIDUAL
} ConvolutionForm;

typedef struct ConvolutionSizes {
    size_t batch, length, channels, taps;
    ConvolutionForm form;
} ConvolutionSizes;

void convolution_forward(real *y,       /* (batch * length, channels); must not alias x */
                         const real *x, /* (batch * length, channels) */
                         const real *w, /* (taps, channels) */
                         const real *b, /* (channels) or NULL */
                         ConvolutionSizes sizes,
                         real *state); /* (batch, taps - 1, channels): the rows before, and
                                        * afterwards the last ones; or NULL */

/* Adds to dw and db and writes dx, which must not alias dy or x; recomputes h. `state` is the
 * state before the forward pass; it gets no gradient. */
void convolution_backward(real *dx,       /* (batch * length, channels) */
                          real *dw,       /* (taps, channels) */
                          real *db,       /* (channels) or NULL */
                          const real *dy, /* (batch * length, channels) */
                          const real *x,  /* (batch * length, channels) */
                          const real *w,  /* (taps, channels) */
                          const real *b,  /* (channels) or NULL */
                          ConvolutionSizes sizes,
                          const real *state); /* (batch, taps - 1, channels) or NULL */

#endif
