/* The delta rule with a decay for every feature of the keys. Queries and keys have length 1,
 * and f, b and w come from gates:
 *
 *   S' = a_i S_(i-1),    S_i = S' + k_i^T (w_i v_i - (b_i k_i) S'),    o_i = q_i S_i / sqrt(D)
 *   a_i = exp(-A softplus(f_i))
 *
 * Kimi delta attention (KDA, Kimi team 2025) has one rate b = w = sigmoid(gate) for all
 * features. Gated DeltaNet-2 has a sigmoid gate for each feature of the key, b, for what is
 * erased, and one for each feature of the value, w, for what is written. With
 * --negative-eigenvalues b is twice the sigmoid. */
#include "src/attention/rows.h"
#include "src/attention/rowwise.h"
#include "src/attention/timestep.h"

/* The rates of a position: one, or D of erasing and Dv of writing. */
typedef struct Rates {
    const real *b, *w;
    real limit; /* of b */
} Rates;

/* Rates per feature. */
static bool has_two(const AttentionHead *head)
{
    return head->kind->gates_values;
}

static Rates rates_of(const real *rates, const AttentionHead *head)
{
    return (Rates){rates, rates + head->width, head->options->negative_eigenvalues ? 2 : 1};
}

static void load(const RowwiseRow *row, const AttentionData *data, const AttentionHead *head)
{
    const Rates rates = rates_of(data->rates, head);
    real of_q = row_unit(data->q, head->width) * attention_scale(head);
    real of_k = row_unit(data->k, head->width);
    timestep_logarithms(row->g, data->gates, data->params, head->width);
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        row->q[j] = of_q * data->q[j];
        row->k[j] = of_k * data->k[j];
    }
    if (has_two(head)) {
#pragma omp simd
        for (size_t j = 0; j < head->width; j++)
            row->find[j] = row->k[j] * (rates.limit * vector_sigmoid(rates.b[j]));
#pragma omp simd
        for (size_t j = 0; j < head->value_width; j++)
            row->v[j] = data->v[j] * vector_sigmoid(rates.w[j]);
    } else {
        real b = rates.limit * vector_sigmoid(rates.b[0]);
        for (size_t j = 0; j < head->width; j++)
            row->find[j] = row->k[j] * b;
        for (size_t j = 0; j < head->value_width; j++)
            row->v[j] = data->v[j] * b;
    }
}

/* From the gradients of find and v to those of the rates. */
static void rates_backward(const RowwiseRow *d, const AttentionData *data,
                           const AttentionHead *head, real of_k)
{
    const Rates rates = rates_of(data->rates, head);
    real *restrict db = data->drates, *restrict dw = db + head->width;
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        real b = rates.limit * vector_sigmoid(rates.b[j]);
        db[j] = d->find[j] * of_k * data->k[j] * b * (1 - b / rates.limit);
        d->k[j] += b * d->find[j];
    }
#pragma omp simd
    for (size_t j = 0; j < head->value_width; j++) {
        real w = vector_sigmoid(rates.w[j]);
        dw[j] = d->v[j] * data->v[j] * w * (1 - w);
        d->v[j] *= w;
    }
}

static void rate_backward(const RowwiseRow *d, const AttentionData *data,
                          const AttentionHead *head, real of_k)
{
    const Rates rates = rates_of(data->rates, head);
    const real *k = data->k, *v = data->v, *dfind = d->find;
    real *restrict dk = d->k, *restrict dv = d->v;
    real b = rates.limit * vector_sigmoid(rates.b[0]), db = 0;
#pragma omp simd reduction(+ : db)
    for (size_t j = 0; j < head->width; j++) {
        db += dfind[j] * of_k * k[j];
        dk[j] += b * dfind[j];
    }
#pragma omp simd reduction(+ : db)
    for (size_t j = 0; j < head->value_width; j++) {
        db += dv[j] * v[j];
        dv[j] *= b;
    }
    data->drates[0] = db * b * (1 - b / rates.limit);
}

static void backward(const RowwiseRow *d, const AttentionData *data, const AttentionHead *head)
{
    size_t width = head->width;
    real of_k = row_unit(data->k, width);
    if (has_two(head))
        rates_backward(d, data, head, of_k);
    else
        rate_backward(d, data, head, of_k);
    timestep_logarithms_backward(d->g, data->gates, data->params, data->dparams, width);
    memcpy(data->dgates, d->g, width * sizeof(real));
    for (size_t j = 0; j < width; j++)
        d->q[j] *= attention_scale(head);
    row_unit_backward(d->q, data->q, row_unit(data->q, width), width);
    row_unit_backward(d->k, data->k, of_k, width);
}

/* Step sizes differ by feature. */
static void start_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    for (size_t j = 0; j < head->width; j++)
        bias[j] = timestep_bias(random_uniform(key, j));
}

static const RowwiseRule rule = {
    .erases = true, .values = true, .load = load, .backward = backward};

/* The layer of kda, which gdn2 shares. */
#define LAYER                                                                               \
    .uses = "negative-eigenvalues", .encodes_positions = true,                              \
    .parts = {.convolution = true,                                                          \
              .norm = true,                                                                 \
              .gate = true,                                                                 \
              .keeps_lengths = true,                                                        \
              .out_gate = {.form = GATE_SIGMOID,                                            \
                           .low = {.rank = {.per_value = 1}},                               \
                           .bias = true}},                                                  \
    .gates = {.count = {.per_key = 1},                                                      \
              .low = {.rank = {.per_value = 1}},                                            \
              .start = start_gates},                                                        \
    .param_count = {.fixed = 1}, .start_params = timestep_start_params_from_one, .form = 1, \
    .engine = &rowwise_engine, .engine_options = &rule

const AttentionKind attention_kda = {
    .name = "kda",
    .changed = "its rates come from a layer of their own (since 0.2)",
    .source = "Kimi team 2025, arXiv 2510.26692",
    .help = "Kimi delta attention: the delta rule with a data-dependent decay per feature",
    .rates = {.count = {.fixed = 1}},
    LAYER,
};

const AttentionKind attention_gdn2 = {
    .name = "gdn2",
    .changed = "its rates come from a layer of their own (since 0.2)",
    .source = "Hatamizadeh et al. 2026, arXiv 2605.22791",
    .help = "Gated DeltaNet-2: kda with a gate per feature for erasing and one for writing",
    .gates_values = true,
    .rates = {.count = {.per_key = 1, .per_value = 1}},
    LAYER,
};
