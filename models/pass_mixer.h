/* The attention sublayer: from the input u of a block to its branch.
 *
 *   q, k, v = u W            through a short convolution, where the model has one; then the
 *                            first layer's v may be mixed in, and q and k be normed
 *   gates   = u W_g          what the kind wants to know of each position, if anything
 *   mixed   = the kind's attention over q, k, v
 *   y       = norm(mixed) * silu(u W_z), each where the model has it
 *   branch  = y W_o
 *
 * The backward pass comes in two halves, so that u can be computed again between them. */
#ifndef LINNET_PASS_MIXER_H
#define LINNET_PASS_MIXER_H

#include "models/pass.h"

/* Up to y, and from y on. */
void mixer_mix(Pass *pass, size_t layer, const real *u, Dropout dropout);
/* The first once more for the backward pass, from the state with which it began. */
void mixer_mix_again(Pass *pass, size_t layer, const real *u, Dropout dropout);
void mixer_project(Pass *pass, size_t layer);

/* From the branch's gradient to those of what is computed from u; and from these to that of u,
 * in pass->branch. */
void mixer_backward(Pass *pass, BlockParams *gradients, size_t layer, const real *dbranch,
                    Dropout dropout);
void mixer_backward_input(Pass *pass, BlockParams *gradients, size_t layer, const real *u);

/* Reals that each part of a layer needs. */
size_t mixer_part_reals(const Pass *pass, size_t layer, MixerPart part);
size_t mixer_scratch_reals(const Pass *pass, size_t layer);
/* What decoding carries of a layer: the kind's state, then the convolution's. */
size_t mixer_state_reals(const Pass *pass, size_t layer);

#endif
