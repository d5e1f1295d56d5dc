/* Gated linear attention (Yang et al. 2023): every feature of the keys decays at a rate of its
 * own, which depends on the position. The D decays a_i multiply the rows of the state,
 *
 *   S_i = a_i S_(i-1) + k_i^T v_i,    o_i = q_i S_i / sqrt(D),    a_i = sigmoid(gates)^(1/16)
 *
 * HGRN2 (Qin et al. 2024) has no keys apart from the decays: a row forgets as much as is
 * written into it,
 *
 *   S_i = f_i S_(i-1) + (1 - f_i)^T v_i,    f_i = l + (1 - l) sigmoid(k_i)
 *   o_i = silu(q_i) S_i / sqrt(D)
 *
 * The lower bound l of the decay factor rises from layer to layer, so that later layers
 * remember longer: it is the share of the layers below, and at least 1/12. */
#include "src/attention/rowwise.h"
#include "src/layers/activation.h"

#define ROOT ((real)16)

static void gla_load(const RowwiseRow *row, const AttentionData *data,
                     const AttentionHead *head)
{
    real scale = attention_scale(head);
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        row->g[j] = vector_log_sigmoid(data->gates[j]) / ROOT;
        row->q[j] = scale * data->q[j];
        row->k[j] = data->k[j];
    }
}

static void gla_backward(const RowwiseRow *d, const AttentionData *data,
                         const AttentionHead *head)
{
    real scale = attention_scale(head);
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        data->dgates[j] = d->g[j] * vector_sigmoid(-data->gates[j]) / ROOT;
        d->q[j] *= scale;
    }
}

static size_t gates(const AttentionHead *head)
{
    return head->width;
}

const AttentionKind attention_gla = {
    ROWWISE_KIND(.load = gla_load, .backward = gla_backward),
    .name = "gla",
    .help = "GLA: gated linear attention with a data-dependent decay per feature",
    .wants_gate = true,
    .gates = gates,
    .gate_rank = 16,
};

/* --- hgrn2 --- */

/* The engine takes no log decay below -2.5; that of 1/12 is -2.48. */
static real least_decay(const AttentionHead *head)
{
    real share = head->layer ? (real)head->layer / (real)head->layers : 0;
    return 12 * share < 1 ? 1 / (real)12 : share;
}

static void hgrn2_load(const RowwiseRow *row, const AttentionData *data,
                       const AttentionHead *head)
{
    real scale = attention_scale(head), most = 1 - least_decay(head);
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        row->k[j] = most * vector_sigmoid(-data->k[j]);
        row->g[j] = vector_log(1 - row->k[j]);
        row->q[j] = scale * silu(data->q[j]);
    }
}

/* With f = 1 - k':  dk = (dg / f - dk') k' sigmoid(k) */
static void hgrn2_backward(const RowwiseRow *d, const AttentionData *data,
                           const AttentionHead *head)
{
    real scale = attention_scale(head), most = 1 - least_decay(head);
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        real key = most * vector_sigmoid(-data->k[j]);
        d->k[j] = (d->g[j] / (1 - key) - d->k[j]) * key * vector_sigmoid(data->k[j]);
        d->q[j] *= scale * silu_slope(data->q[j]);
    }
}

const AttentionKind attention_hgrn2 = {
    ROWWISE_KIND(.load = hgrn2_load, .backward = hgrn2_backward),
    .name = "hgrn2",
    .help = "HGRN2: gla with k = 1 - decay, whose lower bound rises with the layer",
    .no_rotary = true,
};
