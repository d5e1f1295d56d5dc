/* A norm of every head's queries and keys, with a gain for each head:
 *
 *   y = x r gain,    r = 1 / sqrt(mean of x^2 over the head + 1e-5)
 *
 * What a query and a key say is then their direction alone, and how sharply a head looks is
 * its gain: large learning rates cannot blow up the scores. */
#ifndef LINNET_QKNORM_H
#define LINNET_QKNORM_H

#include "src/real.h"

/* In place, for `heads` heads (queries and keys counted singly) at the start of each row. */
void qknorm_forward(real *x,          /* (rows, heads * width), rows `stride` apart */
                    real *r,          /* (rows, heads) for backward */
                    const real *gain, /* (heads) */
                    size_t rows, size_t heads, size_t width, size_t stride);

/* From y and r; dx holds dy, and dgain is added to. */
void qknorm_backward(real *dx, real *dgain, const real *y, const real *r, const real *gain,
                     size_t rows, size_t heads, size_t width, size_t stride);

#endif
