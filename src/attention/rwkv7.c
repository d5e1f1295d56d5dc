/* RWKV-7 (Peng et al. 2025): the delta rule with a decay for every feature, where what is
 * looked up, removed and written have keys of their own,
 *
 *   S_i = w_i S_(i-1) - (a_i h_i)^T (h_i S_(i-1)) + (k_i (1 + (a_i - 1) c))^T v_i
 *   o_i = q_i S_i,    h_i = (k_i m) / |k_i m|
 *   w_i = exp(-sigmoid(gate) / sqrt(e)),    a_i = sigmoid(gate')
 *
 * w multiplies the rows of the state; gates, a, and the parameters m and c of the head have a
 * number for each feature. The lookup reads the state before its decay, so it is
 * (h_i / w_i) S' with the decayed state S'. Neither the token shift, for which there is the
 * short convolution, nor the term of the own position, (q . r k) v, is part of the kind. */
#include "src/attention/rows.h"
#include "src/attention/rowwise.h"

#define FASTEST ((real)0.6065306597126334) /* 1 / sqrt(e) */

/* The parameters of the head are m, then c. */

/* h, and 1 / |k m|; `to` holds k m in between. */
static real look_up(real *restrict to, const AttentionData *data, const AttentionHead *head)
{
    const real *m = data->params;
    for (size_t j = 0; j < head->width; j++)
        to[j] = data->k[j] * m[j];
    return row_unit(to, head->width);
}

static void load(const RowwiseRow *row, const AttentionData *data, const AttentionHead *head)
{
    const real *w = data->gates, *a = w + head->width;
    const real *c = data->params + head->width;
    real unit = look_up(row->find, data, head);
#pragma omp simd
    for (size_t j = 0; j < head->width; j++) {
        real h = unit * row->find[j], rate = vector_sigmoid(a[j]);
        row->g[j] = -FASTEST * vector_sigmoid(w[j]);
        row->q[j] = data->q[j];
        row->k[j] = data->k[j] * (1 + (rate - 1) * c[j]);
        row->find[j] = h * vector_exp(-row->g[j]);
        row->erase[j] = rate * h;
    }
}

/* Leaves dh in find. */
static void rates_backward(const RowwiseRow *d, const AttentionData *data,
                           const AttentionHead *head, const real *restrict km, real unit)
{
    size_t width = head->width;
    const real *w = data->gates, *a = w + width, *c = data->params + head->width;
    real *restrict dw = data->dgates, *restrict da = data->dgates + width;
    real *restrict dc = data->dparams + width;
#pragma omp simd
    for (size_t j = 0; j < width; j++) {
        real decay = vector_sigmoid(w[j]), rate = vector_sigmoid(a[j]), h = unit * km[j];
        real find = vector_exp(FASTEST * decay) * d->find[j], dk = d->k[j] * data->k[j];
        dw[j] = -FASTEST * (d->g[j] - find * h) * decay * (1 - decay);
        da[j] = (d->erase[j] * h + dk * c[j]) * rate * (1 - rate);
        dc[j] += dk * (rate - 1);
        d->k[j] *= 1 + (rate - 1) * c[j];
        d->find[j] = find + rate * d->erase[j];
    }
}

static void backward(const RowwiseRow *d, const AttentionData *data, const AttentionHead *head)
{
    size_t width = head->width;
    const real *m = data->params;
    real *restrict km = d->room, unit = look_up(km, data, head);
    rates_backward(d, data, head, km, unit);
    row_unit_backward(d->find, km, unit, width);
    for (size_t j = 0; j < width; j++) {
        d->k[j] += m[j] * d->find[j];
        data->dparams[j] += data->k[j] * d->find[j];
    }
}

static size_t gates(const AttentionHead *head)
{
    return 2 * head->width;
}

/* Half-lives of 6 to 760 positions over the features; a starts at one half. */
static void start_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    (void)key;
    for (size_t j = 0; j < 2 * head->width; j++)
        bias[j] = j < head->width ? (real)(5 * ((double)j + 0.5) / (double)head->width - 6.5)
                                  : 0;
}

static size_t param_count(const AttentionHead *head)
{
    return 2 * head->width;
}

static void start_params(real *params, const AttentionHead *head, RandomKey key)
{
    (void)key;
    for (size_t j = 0; j < 2 * head->width; j++)
        params[j] = j < head->width ? (real)0.85 : 1;
}

const AttentionKind attention_rwkv7 = {
    ROWWISE_KIND(.erases = true, .erase_key = true, .load = load, .backward = backward),
    .name = "rwkv7",
    .help = "RWKV-7: the delta rule with a decay per feature, and keys of its own for erasing",
    .wants_convolution = true,
    .wants_gate = true,
    .gates = gates,
    .gate_rank = 32,
    .start_gates = start_gates,
    .param_count = param_count,
    .start_params = start_params,
};
