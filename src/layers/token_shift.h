/* Token shift (RWKV): each position is mixed with the one before, by a learned share m of each
 * feature.
 *
 *   y_t = x_t + m (x_(t-1) - x_t)
 *
 * A sequence is preceded by zeros or by its state, the last row of earlier input. */
#ifndef LINNET_TOKEN_SHIFT_H
#define LINNET_TOKEN_SHIFT_H

#include "src/base/real.h"

typedef struct TokenShiftSizes {
    size_t batch, length, width;
} TokenShiftSizes;

void token_shift_forward(real *y,           /* (batch * length, width); must not alias x */
                         const real *x,     /* (batch * length, width) */
                         const real *m,     /* (width) */
                         const real *state, /* (batch, width) or NULL */
                         TokenShiftSizes sizes);

/* Adds to dx and dm. */
void token_shift_backward(real *dx,          /* (batch * length, width) */
                          real *dm,          /* (width) */
                          const real *dy,    /* (batch * length, width) */
                          const real *x,     /* (batch * length, width) */
                          const real *m,     /* (width) */
                          const real *state, /* (batch, width) or NULL */
                          TokenShiftSizes sizes);

#endif
