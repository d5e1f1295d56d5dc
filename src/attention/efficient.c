/* Causal Efficient Attention (after Shen et al. 2018). The original applies to every feature of
 * the keys a softmax over the whole sequence. To be causal, that softmax must end at the
 * query's position; for each feature c:
 *
 *   p_i = softmax(q_i) over its features,   E_jc = exp(k_jc),   z_ic = sum over j <= i of E_jc
 *   o_i = sum over c of p_ic (sum over j <= i of E_jc v_j) / z_ic
 *
 * The shares p_i / z_i, feature by feature, are the queries of the engine in features.c, and E
 * are its keys; the weights sum to 1 already. With s the shares, backward is
 *
 *   dp = ds / z,    dz = -ds s / z,    and dE_j gets the sum of dz_i from j on.
 *
 * RoPE would break it: rotated shares and keys no longer sum to 1. */
#include "src/attention/features.h"

/* z += k,  s = q / z */
static void share(real *restrict shares, real *restrict z, const real *restrict q,
                  const real *restrict k, size_t rows, size_t width)
{
    for (size_t at = 0; at < rows * width; at += width)
        for (size_t i = 0; i < width; i++) {
            z[i] += k[at + i];
            shares[at + i] = q[at + i] / z[i];
        }
}

static void share_backward(real *restrict dq, real *restrict dk, real *restrict dz,
                           real *restrict shares, real *restrict z, const real *restrict k,
                           size_t rows, size_t width)
{
    for (size_t at = 0; at < rows * width; at += width)
        for (size_t i = 0; i < width; i++) {
            z[i] += k[at + i];
            real gradient = dq[at + i] / z[i];
            dq[at + i] = gradient;
            shares[at + i] *= -gradient; /* now the row's dz */
        }
    for (size_t at = rows * width; at > 0;) {
        at -= width;
        for (size_t i = 0; i < width; i++) {
            dz[i] += shares[at + i];
            dk[at + i] += dz[i];
        }
    }
}

const AttentionKind attention_efficient = {
    FEATURES_KIND(.query = &feature_softmax, .key = &feature_exp, .share = share,
                  .share_backward = share_backward),
    .name = "efficient",
    .help = "Efficient Attention, causal: softmax over q's features and over k's positions",
    .cost = "D^2",
    .no_rotary = true,
};
