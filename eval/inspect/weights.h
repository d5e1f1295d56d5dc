/* Attention weights of any attention kind.
 *
 * Given queries, keys and gates, every kind is linear in the values v:
 *
 *   out[i] = sum over j <= i of W[i][j] v[j]
 *
 * Softmax attention computes W explicitly, other kinds only implicitly. Running any kind on
 * unit vectors as values gives D columns of W at a time, where D is the head dimension. For
 * recurrent kinds these are the effective weights of the state, which may be negative. If a
 * kind has a weight for every feature of the values, W has their means: it takes a run per
 * column. */
#ifndef LINNET_WEIGHTS_H
#define LINNET_WEIGHTS_H

#include "models/pass.h"

/* After pass_forward of one sequence with PASS_TRAIN: W of every head, (heads, T, T). Does not
 * change the saved activations, only the attention scratch memory. */
void weights_of_layer(const Pass *pass, size_t layer, real *weights);

#endif
