/* Gated linear attention with one data-dependent decay per position and head,
 *
 *   S_i = a_i S_(i-1) + k_i^T v_i,    o_i = q_i S_i / sqrt(D),    a_i = sigmoid(gate)^(1/16)
 *
 *  The root keeps decays near 1: for a gate of 0 it is 0.958, a half-life of 16 positions. */
#include "src/attention/decay.h"
#include "src/math/vector.h"

#define ROOT ((real)16)

static void logarithms(real *g, const real *raw, const real *params, size_t count)
{
    (void)params;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        g[i] = vector_log_sigmoid(raw[i]) / ROOT;
}

static void logarithms_backward(real *dg, const real *raw, const real *params, real *dparams,
                                size_t count)
{
    (void)params, (void)dparams;
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        dg[i] *= vector_sigmoid(-raw[i]) / ROOT;
}

const AttentionKind attention_gated = {
    DECAY_KIND(.logarithms = logarithms, .logarithms_backward = logarithms_backward),
    .name = "gated",
    .help = "gated linear attention with one data-dependent decay per position",
    .knows_positions = true,
    .wants_gate = true,
};
