/* Projections of an attention layer's input u beside that of queries, keys and values: the
 * gates and rates of the kind, the shares of the value mix, and the output gate,
 *
 *   y = x W + b    or    y = f(x W_low) W + b,    f is the identity, tanh or sigmoid
 *
 * x is u. With a token shift it is a mix of u and the u of the position before, another for
 * each projection; then queries, keys and values are three of these projections. */
#ifndef LINNET_SIDE_PROJECTIONS_H
#define LINNET_SIDE_PROJECTIONS_H

#include "models/activations.h"

void side_projections_forward(const Pass *pass, size_t layer, const real *u); /* (B*T, C) */
/* Adds to grad.du. */
void side_projections_backward(const Pass *pass, const BlockParams *dw, size_t layer,
                               const real *u); /* (B*T, C) */

#endif
