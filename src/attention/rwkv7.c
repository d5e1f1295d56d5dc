/* RWKV-7 (Peng et al. 2025): the delta rule with a decay for every feature, where what is
 * looked up, removed and written have keys of their own,
 *
 *   S_i = w_i S_(i-1) - (a_i h_i)^T (h_i S_(i-1)) + k'_i^T v_i,    o_i = q_i S_i
 *   h_i = (k_i m) / |k_i m|,    k'_i = k_i (1 + (a_i - 1) c)
 *   w_i = exp(-sigmoid(gate) / sqrt(e)),    a_i = sigmoid(rate)
 *
 * w multiplies the rows of the state; w, a, and the parameters m, c and p of the head have a
 * number for each feature. The lookup reads the state before its decay, so it is (h_i / w_i) S'
 * with the decayed state S'. The bonus is what a position reads of its own pair of key and
 * value: (q_i . k'_i p) v_i.
 *
 * The row describes the layer around it: token shift, low ranks, value mix and GroupNorm. */
#include "src/attention/rows.h"
#include "src/attention/rowwise.h"

#define FASTEST ((real)0.6065306597126334) /* 1 / sqrt(e) */

/* --- a position --- */

/* Writes k m to `to`, (D); returns 1 / |k m|. */
static real look_up(real *restrict to, const AttentionData *data, const AttentionHead *head)
{
    const real *m = data->params;
    for (size_t j = 0; j < head->width; j++)
        to[j] = data->k[j] * m[j];
    return row_unit(to, head->width);
}

/* q . k' p */
static real bonus_share(const real *restrict q, const real *restrict written,
                        const real *restrict p, size_t width)
{
    real share = 0;
#pragma omp simd reduction(+ : share)
    for (size_t j = 0; j < width; j++)
        share += q[j] * written[j] * p[j];
    return share;
}

static void load(const RowwiseRow *row, const AttentionData *data, const AttentionHead *head)
{
    size_t width = head->width;
    const real *w = data->gates, *a = data->rates, *c = data->params + width, *p = c + width;
    real unit = look_up(row->find, data, head);
#pragma omp simd
    for (size_t j = 0; j < width; j++) {
        real h = unit * row->find[j], rate = vector_sigmoid(a[j]);
        row->g[j] = -FASTEST * vector_sigmoid(w[j]);
        row->q[j] = data->q[j];
        row->k[j] = data->k[j] * (1 + (rate - 1) * c[j]);
        row->find[j] = h * vector_exp(-row->g[j]);
        row->erase[j] = rate * h;
    }
    real share = data->bonus ? bonus_share(data->q, row->k, p, width) : 0;
    for (size_t j = 0; data->bonus && j < head->value_width; j++)
        data->bonus[j] = share * data->v[j];
}

/* Adds to the gradients of q, k', v and p. */
static void bonus_backward(const RowwiseRow *d, const AttentionData *data,
                           const AttentionHead *head)
{
    size_t width = head->width;
    const real *q = data->q, *a = data->rates, *c = data->params + width, *p = c + width;
    real *restrict written = d->room, *restrict dp = data->dparams + 2 * width;
    real dshare = vector_dot(data->dbonus, data->v, head->value_width);
#pragma omp simd
    for (size_t j = 0; j < width; j++) {
        written[j] = data->k[j] * (1 + (vector_sigmoid(a[j]) - 1) * c[j]);
        d->q[j] += dshare * written[j] * p[j];
        d->k[j] += dshare * q[j] * p[j];
        dp[j] += dshare * q[j] * written[j];
    }
    vector_add_scaled(d->v, data->dbonus, bonus_share(q, written, p, width), head->value_width);
}

/* Leaves dh in find. */
static void rates_backward(const RowwiseRow *d, const AttentionData *data,
                           const AttentionHead *head, const real *restrict km, real unit)
{
    size_t width = head->width;
    const real *w = data->gates, *a = data->rates, *c = data->params + width;
    real *restrict dw = data->dgates, *restrict da = data->drates;
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
    if (data->dbonus)
        bonus_backward(d, data, head);
    real *restrict km = d->room, unit = look_up(km, data, head);
    rates_backward(d, data, head, km, unit);
    row_unit_backward(d->find, km, unit, width);
    for (size_t j = 0; j < width; j++) {
        d->k[j] += m[j] * d->find[j];
        data->dparams[j] += data->k[j] * d->find[j];
    }
}

/* --- sizes --- */

/* A multiple of 32 near `factor` times the root of the model's dimension. */
static size_t rank_near(double factor, const AttentionHead *head)
{
    double rank = 32 * rint(factor * sqrt((double)(head->heads * head->width)) / 32);
    return rank > 32 ? (size_t)rank : 32;
}

static size_t rank_of_rates(const AttentionHead *head)
{
    return rank_near(2.5 * (double)head->width / 64, head);
}

static size_t rank_of_mix(const AttentionHead *head)
{
    return rank_near(1.7 * (double)head->width / 64, head);
}

static size_t rank_of_out_gate(const AttentionHead *head)
{
    return rank_near(5, head);
}

/* --- initial values --- */

/* Where an index lies among `count`, from 0 to 1. */
static double place(size_t index, size_t count)
{
    return count > 1 ? (double)index / (double)(count - 1) : 0;
}

/* Where a feature lies among those of all heads; and in its head, from -1 to 1 and squared,
 * with its sign. */
static double in_model(const AttentionHead *head, size_t j)
{
    return place(head->index * head->width + j, head->heads * head->width);
}

static double in_head(const AttentionHead *head, size_t j)
{
    double x = 2 * place(j, head->width) - 1;
    return x * fabs(x);
}

/* Half-lives from 1 to 3400 positions: short ones in the last features of a head and in the
 * last heads, and in more of them the lower the layer. */
static void start_decays(real *bias, const AttentionHead *head, RandomKey key)
{
    (void)key;
    double power = 1 + pow(place(head->layer, head->layers), 0.3);
    for (size_t j = 0; j < head->width; j++)
        bias[j] = (real)(6 * pow(in_model(head, j), power) - 5.5 + 2.5 * in_head(head, j));
}

static void start_rates(real *bias, const AttentionHead *head, RandomKey key)
{
    (void)key;
    for (size_t j = 0; j < head->width; j++)
        bias[j] = (real)(0.4 * in_model(head, j) - 0.39 + 0.3 * in_head(head, j));
}

static void start_value_mix(real *bias, const AttentionHead *head, RandomKey key)
{
    (void)key;
    for (size_t j = 0; j < head->value_width; j++)
        bias[j] = (real)(0.93 - 0.4 * in_model(head, j));
}

static void start_params(real *params, const AttentionHead *head, RandomKey key)
{
    (void)key;
    real *m = params, *c = m + head->width, *p = c + head->width;
    for (size_t j = 0; j < head->width; j++) {
        m[j] = (real)(0.76 - 0.1 * in_model(head, j));
        c[j] = (real)1.02;
        p[j] = (real)-0.04;
    }
}

const AttentionKind attention_rwkv7 = {
    .name = "rwkv7",
    .source = "Peng et al. 2025, arXiv 2503.14456",
    .help = "RWKV-7: the delta rule with a decay per feature, and keys of its own for erasing",
    .encodes_positions = true,
    .parts = {.norm = true,
              .gate = true,
              .token_shift = (const double[SHIFTS]){0.2, 0.7, 0.7, 0.9, 0.9, 0.2},
              .value_mix = {.count = {.per_value = 1},
                            .low = {.rank = {.more = rank_of_mix}},
                            .start = start_value_mix},
              .has_bonus = true,
              .group_norm = true,
              .norm_power = 0.7,
              .out_gate = {.form = GATE_PLAIN,
                           .low = {.rank = {.more = rank_of_out_gate},
                                   .form = LOW_RANK_SIGMOID}},
              .keeps_lengths = true},
    .gates = {.count = {.per_key = 1},
              .low = {.rank = {.more = rank_of_rates}, .form = LOW_RANK_TANH},
              .start = start_decays},
    .rates = {.count = {.per_key = 1},
              .low = {.rank = {.more = rank_of_rates}},
              .start = start_rates},
    .param_count = {.per_key = 3},
    .start_params = start_params,
    .form = 1,
    .changed = "it has the layer of its authors: token shift, low ranks, bonus, value mix and "
               "GroupNorm (since 0.2)",
    .engine = &rowwise_engine,
    .engine_options = &(const RowwiseRule){
        .erases = true, .erase_key = true, .load = load, .backward = backward}};
