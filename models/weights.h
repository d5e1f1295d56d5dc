/* What a layer's attention takes from where, as weights.
 *
 * Given queries, keys and gates, every attention kind is linear in the values v:
 *
 *   out[i] = sum over j <= i of W[i][j] v[j]
 *
 * Softmax makes W and multiplies by it; other kinds never write W down, but it is there. So it
 * can be asked of each of them in the same way: values that are unit vectors give D columns of
 * W at a time, with D the width of a head. For kinds with a state these are the weights that
 * the state amounts to, and they may be negative. */
#ifndef LINNET_WEIGHTS_H
#define LINNET_WEIGHTS_H

#include "models/pass.h"

/* After pass_forward of one sequence with PASS_TRAIN: W of every head, (heads, T, T). What the
 * pass keeps stays as it is, but for the scratch of its attention. */
void weights_of_layer(const Pass *pass, size_t layer, real *weights);

#endif
