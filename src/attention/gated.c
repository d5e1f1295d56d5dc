/* Linear attention with a state that fades:
 *
 *   S_i = a_i S_(i-1) + k_i^T v_i,    o_i = q_i S_i / sqrt(D)
 *
 *   retention   a = 1 - 2^-(5+h)             in head h          RetNet, Sun et al. 2023
 *   gated       a_i = sigmoid(gate)^(1/16)   per head
 *   gla         a_i = sigmoid(gates)^(1/16)  per feature        Yang et al. 2023
 *   hgrn2       a_i = l + (1 - l) sigmoid(k_i) per feature      Qin et al. 2024
 *
 * Retention fades at a fixed rate: a half-life of 22 positions in the first head, and twice
 * that in each further one, as long as floats tell the factor from 1: 20 heads fade. So slow a
 * decay hardly encodes positions, so a position encoding is on by default. The root of gated
 * and gla keeps decays near 1: for a gate of 0 it is 0.958, a half-life of 16 positions. The
 * decays of features multiply the rows of the state.
 *
 * HGRN2 has no keys apart from the decays: a row forgets as much as is written into it, so 1 -
 * a_i takes the place of k_i, and silu(q_i) that of q_i. Each feature has a lower bound l of
 * the decay, sigmoid(b) of a parameter b, but 0 in the first layer. It starts at the share of
 * the layers below, so that later layers remember longer. The authors' bounds start there too,
 * but are the running sums of one softmax over the layers, so they always rise.
 *
 * retention and gated use decay.c, gla and hgrn2 rowwise.c. */
#include "src/attention/decay.h"
#include "src/attention/rowwise.h"
#include "src/layers/activation.h"

#define ROOT ((real)16)

/* --- retention --- */

static real decay(const AttentionHead *head)
{
    return (real)(1 - exp2(-5 - (double)head->index));
}

const AttentionKind attention_retention = {
    .name = "retention",
    .source = "Sun et al. 2023, arXiv 2307.08621",
    .help = "RetNet retention: linear attention with a fixed decay per head",
    .parts = {.gate = true,
              .norm = true,
              .keeps_lengths = true,
              .values = {.parts = 2, .of = 1}},
    .form = 1,
    .changed = "values are twice as wide, and there is no QK-norm (since 0.2)",
    .engine = &decay_engine,
    .engine_options = &(const DecayRule){.constant = decay},
};

/* --- gated --- */

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
    .name = "gated",
    .source = "gla with one decay: Yang et al. 2023, arXiv 2312.06635",
    .help = "gated linear attention with one data-dependent decay per position",
    .encodes_positions = true,
    .parts = {.gate = true, .norm = true, .keeps_lengths = true},
    .gates = {.count = {.fixed = 1}},
    .form = 1,
    .changed = "it has no QK-norm any more (since 0.2)",
    .engine = &decay_engine,
    .engine_options = &(const DecayRule){.logarithms = logarithms,
                                         .logarithms_backward = logarithms_backward},
};

/* --- gla --- */

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

const AttentionKind attention_gla = {
    .name = "gla",
    .source = "Yang et al. 2023, arXiv 2312.06635",
    .help = "GLA: gated linear attention with a data-dependent decay per feature",
    .parts = {.gate = true, .norm = true, .keeps_lengths = true, .keys = {.parts = 1, .of = 2}},
    .gates = {.count = {.per_key = 1}, .low = {.rank = {.fixed = 16}}},
    .encodes_positions = true,
    .form = 1,
    .changed = "queries and keys are half as wide, without QK-norm (since 0.2)",
    .engine = &rowwise_engine,
    .engine_options = &(const RowwiseRule){.load = gla_load, .backward = gla_backward},
};

/* --- hgrn2 --- */

/* The decay f = l + (1 - l) sigmoid(k) of a feature. The bound l is a parameter of all layers
 * but the first, where it is 0. */
typedef struct Decay {
    real bound, kept, forgotten; /* l, f, 1 - f */
} Decay;

/* `learned` is 1, or 0 if the bound is 0 whatever b is. */
static inline Decay decay_of(real k, real b, real learned)
{
    const real l = learned * vector_sigmoid(b);
    /* Above 0, of which there is no logarithm. */
    const real kept = l + (1 - l) * vector_sigmoid(k) + (real)1e-30;
    return (Decay){l, kept, (1 - l) * vector_sigmoid(-k)};
}

static void hgrn2_load(const RowwiseRow *row, const AttentionData *data,
                       const AttentionHead *head)
{
    const real scale = attention_scale(head), learned = data->params ? 1 : 0;
    const real *b = data->params ? data->params : data->k;
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        const Decay decay = decay_of(data->k[j], b[j], learned);
        row->k[j] = decay.forgotten;
        row->g[j] = vector_log(decay.kept);
        row->q[j] = scale * silu(data->q[j]);
    }
}

/* With e = (dg / f - dk') (1 - f):  dk = e sigmoid(k),  db = e l */
static void hgrn2_backward(const RowwiseRow *d, const AttentionData *data,
                           const AttentionHead *head)
{
    const real scale = attention_scale(head), learned = data->params ? 1 : 0;
    const real *b = data->params ? data->params : data->k;
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        const Decay decay = decay_of(data->k[j], b[j], learned);
        const real e = (d->g[j] / decay.kept - d->k[j]) * decay.forgotten;
        d->room[j] = e * decay.bound;
        d->k[j] = e * vector_sigmoid(data->k[j]);
        d->q[j] *= scale * silu_slope(data->q[j]);
    }
    if (data->dparams)
        vector_add_scaled(data->dparams, d->room, 1, head->width);
}

static size_t bounds(const AttentionHead *head)
{
    return head->layer > 0 ? head->width : 0;
}

static void start_bounds(real *params, const AttentionHead *head, RandomKey key)
{
    (void)key;
    for (size_t j = 0; j < head->width; j++)
        params[j] = (real)log((double)head->layer / (double)(head->layers - head->layer));
}

const AttentionKind attention_hgrn2 = {
    .name = "hgrn2",
    .source = "Qin et al. 2024, arXiv 2404.07904",
    .help = "HGRN2: gla with k = 1 - decay, whose lower bounds are learned",
    .no_rotary = true,
    .encodes_positions = true,
    .parts = {.norm = true,
              .keeps_lengths = true,
              .plain_convolution = true,
              .norms_all_heads = true},
    .param_count = {.more = bounds},
    .start_params = start_bounds,
    .form = 1,
    .changed =
        "learned lower bounds of the decay, no QK-norm, no SiLU behind the convolution, and "
        "one norm of all heads (since 0.2)",
    .engine = &rowwise_engine,
    .engine_options = &(const RowwiseRule){.load = hgrn2_load, .backward = hgrn2_backward},
};
