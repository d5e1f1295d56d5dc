/* A Transformer block: attention sublayer and MLP sublayer, forward and backward.
 *
 * The residual stream has 2L + 1 states r[0] .. r[2L]: the embedding, then the sum after each
 * sublayer. With u[k] the input of sublayer k, attention at even k, MLP at odd k,
 *
 *   pre-norm:   u[k] = norm(r[k]),   r[k+1] = r[k] + dropout(sublayer(u[k]))
 *   post-norm:  u[k] = norm(r[k]),   r[k+1] = u[k] + dropout(sublayer(u[k])),   u[0] = r[0]
 *   parallel:   as pre-norm, but u[k] = norm(r[k-1]) for the MLP
 *
 * and u[2L] is the input of the output head. Backward, with norm' the gradient through the
 * norm, dx the gradient of r[k] and du that of u[k]:
 *
 *   pre-norm:   dx += norm'(du)           k = 2L:     dx = norm'(du)
 *   post-norm:  dx = norm'(dx + du)       k = 0:      dx = dx + du
 *   parallel:   MLP: dmlp = norm'(du)     attention:  dx += norm'(du),  dx += dmlp */
#ifndef LINNET_BLOCK_H
#define LINNET_BLOCK_H

#include "models/activations.h"

/* From r[2 layer] to r[2 layer + 1], and on to r[2 layer + 2]. No dropout if the key is NULL.
 */
void attention_sublayer_forward(Pass *pass, size_t layer, const RandomKey *key);
void mlp_sublayer_forward(Pass *pass, size_t layer, const RandomKey *key);

/* From grad.dx of r[2 layer + 2] to that of r[2 layer + 1], and on to that of r[2 layer]; add
 * to the gradients of the weights. */
void mlp_sublayer_backward(Pass *pass, Params *dparams, size_t layer, const RandomKey *key);
void attention_sublayer_backward(Pass *pass, Params *dparams, size_t layer,
                                 const RandomKey *key);

/* Forward: u[k], (B*T, C). Backward: from grad.du to grad.dx. */
const real *norm_forward(Pass *pass, size_t k);
void norm_backward(Pass *pass, Params *dparams, size_t k);

/* The attention sublayer without its norm: from u to y W_o + b_o, added to sum->base and stored
 * in r[2 layer + 1]; and back, from its gradient to grad.du. Both (B*T, C). */
void attention_branch_forward(Pass *pass, size_t layer, const real *u, const RandomKey *key,
                              const DropoutSum *sum);
void attention_branch_backward(Pass *pass, BlockParams *dw, size_t layer, const real *u,
                               const real *dbranch, const RandomKey *key);

/* Where dropout takes place; each site has random numbers of its own. */
enum {
    SITE_EMBEDDING,
    SITE_BRANCH,            /* + k, the sublayer */
    SITE_WEIGHTS = 1 << 20, /* + k */
    SITE_OUTPUT = 1 << 21,
    SITE_WORDS,
    SITE_NGRAMS
};

/* None without a key, which only training has. */
static inline Dropout dropout_at(const RandomKey *key, size_t site, double rate)
{
    return key ? (Dropout){random_subkey(*key, site), (real)rate} : (Dropout){0};
}

#endif
