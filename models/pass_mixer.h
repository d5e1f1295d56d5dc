/* The attention sublayer: from the block input u to its residual branch.
 *
 *   q, k, v = u W            then optional convolution, value residual, QK-norm and RoPE
 *   gates   = u W_g          per-position gates, if the kind has them
 *   mixed   = the kind's attention over q, k, v
 *   y       = norm(mixed) * silu(u W_z) * 2 sigmoid(u W_h), all optional; W_h: per head
 *   branch  = y W_o
 *
 * The backward pass has two halves, so that u can be recomputed between them. */
#ifndef LINNET_PASS_MIXER_H
#define LINNET_PASS_MIXER_H

#include "models/pass.h"

void mixer_forward(Pass *pass, real *branch, size_t layer, const real *u, Dropout dropout,
                   GemmFinish finish);
/* Recomputes y for the backward pass, from the saved initial state. */
void mixer_again(Pass *pass, size_t layer, const real *u, Dropout dropout);

/* Backward from the branch to the gradients of everything computed from u, and from there to
 * the gradient of u, in pass->branch. */
void mixer_backward(Pass *pass, BlockParams *gradients, size_t layer, const real *dbranch,
                    Dropout dropout);
void mixer_backward_input(Pass *pass, BlockParams *gradients, size_t layer, const real *u);

/* Size in reals of each saved activation of a layer, and of its scratch memory. */
size_t mixer_part_reals(const Pass *pass, size_t layer, MixerPart part);
/* State per layer: the state (or KV cache) of the kind, then that of the convolution. */
size_t mixer_state_reals(const Pass *pass, size_t layer);

#endif
