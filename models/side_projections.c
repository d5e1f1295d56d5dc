#include "models/side_projections.h"
#include "src/layers/linear.h"
#include "src/layers/token_shift.h"
#include "src/math/vector.h"

#include <string.h>

typedef struct SideProjection {
    size_t mix;         /* its row of the token shift */
    Projection w, dw;   /* weights, NULL if there are none, and their gradients */
    real *y, *low;      /* (B*T, out), rows `stride` apart; (B*T, rank) f(x W_low) */
    const real *dy;     /* as y */
    size_t out, stride; /* `stride` is also that of W */
    LowRank bottleneck;
} SideProjection;

/* Those before SIDE_GATES are there with a token shift only. */
enum { SIDE_Q, SIDE_K, SIDE_V, SIDE_GATES, SIDE_RATES, SIDE_MIX, SIDE_Z, SIDES };

static real *from(real *x, size_t column)
{
    return x ? x + column : NULL;
}

/* The columns of c_attn from one on. */
static Projection columns_from(const Affine *c_attn, size_t column)
{
    return (Projection){.out = {from(c_attn->weight, column), from(c_attn->bias, column)}};
}

/* Forward does not use dw. */
static SideProjection side_at(const Pass *pass, const BlockParams *dw, size_t layer,
                              size_t index)
{
    const AttentionHead head = pass_first_head(pass, layer);
    const BlockParams *w = &pass->model->params.h[layer];
    const LayerActivations *a = &pass->act.layer[layer];
    const Gradients *grad = &pass->grad;
    const GateLayer *gates = &head.kind->gates, *rates = &head.kind->rates;
    const size_t S = head.stride, O = head.out_stride;
    const size_t G = head.gates_stride, R = head.rates_stride;
    const size_t k = head.key_heads * head.width, v = S - head.copies * O; /* first columns */
    const LowRank none = {0};
    const SideProjection all[SIDES] = {
        {SHIFT_Q, columns_from(&w->c_attn, 0), columns_from(&dw->c_attn, 0), a->qkv_raw, NULL,
         a->dqkv_raw, k, S, none},
        {SHIFT_K, columns_from(&w->c_attn, k), columns_from(&dw->c_attn, k),
         from(a->qkv_raw, k), NULL, from(a->dqkv_raw, k), v - k, S, none},
        {SHIFT_V, columns_from(&w->c_attn, v), columns_from(&dw->c_attn, v),
         from(a->qkv_raw, v), NULL, from(a->dqkv_raw, v), S - v, S, none},
        {SHIFT_GATES, w->gates, dw->gates, a->gates, a->gates_low, grad->dgates, G, G,
         gates->low},
        {SHIFT_RATES, w->rates, dw->rates, a->rates, a->rates_low, grad->drates, R, R,
         rates->low},
        {SHIFT_V, w->mix_gate, dw->mix_gate, a->mix_gates, a->mix_low, a->dmix, O, O,
         head.parts->value_mix.low},
        {SHIFT_Z, w->out_gate, dw->out_gate, a->z, a->z_low, a->dz, O, O,
         head.parts->out_gate.low},
    };
    return all[index];
}

/* The first that the layer has. */
static size_t first_side(const Pass *pass, size_t layer)
{
    return pass->model->params.h[layer].token_shift ? SIDE_Q : SIDE_GATES;
}

static TokenShiftSizes shift_sizes(const Pass *pass)
{
    return (TokenShiftSizes){pass->batch, pass->length, pass->model->config.dim};
}

/* x, (B*T, C), from u (B*T, C) and the u before the batch (B, C). */
static const real *side_input(const Pass *pass, size_t layer, size_t mix, const real *u,
                              const real *before)
{
    const real *shares = pass->model->params.h[layer].token_shift;
    if (!shares)
        return u;
    token_shift_forward(pass->act.shifted, u, shares + mix * pass->model->config.dim, before,
                        shift_sizes(pass));
    return pass->act.shifted;
}

/* y = f(x), in place;  dx = dy f'(x), from y, in place */
static void bottleneck_forward(real *x, LowRankForm form, size_t reals)
{
#pragma omp simd
    for (size_t i = 0; i < reals; i++)
        x[i] = form == LOW_RANK_TANH      ? vector_tanh(x[i])
               : form == LOW_RANK_SIGMOID ? vector_sigmoid(x[i])
                                          : x[i];
}

static void bottleneck_backward(real *dx, const real *y, LowRankForm form, size_t reals)
{
#pragma omp simd
    for (size_t i = 0; i < reals; i++)
        dx[i] *= form == LOW_RANK_TANH      ? 1 - y[i] * y[i]
                 : form == LOW_RANK_SIGMOID ? y[i] * (1 - y[i])
                                            : 1;
}

static void forward(const Pass *pass, size_t layer, const real *u, const SideProjection *side)
{
    const size_t rows = pass->rows, C = pass->model->config.dim;
    const AttentionHead head = pass_first_head(pass, layer);
    const size_t rank = attention_count(&side->bottleneck.rank, &head);
    const Projection *w = &side->w;
    if (!w->out.weight)
        return;
    const real *x = side_input(pass, layer, side->mix, u, pass->act.layer[layer].last_u);
    if (w->low) {
        linear_forward(side->low, x, w->low, NULL, rows, C, rank, rank, NULL);
        bottleneck_forward(side->low, side->bottleneck.form, rows * rank);
    }
    linear_forward(side->y, w->low ? side->low : x, w->out.weight, w->out.bias, rows,
                   w->low ? rank : C, side->out, side->stride, NULL);
}

/* dx = dy W^T,  dW += x^T dy, or both through W_low. du += dx, or with a token shift what that
 * makes of dx. */
static void backward(const Pass *pass, const BlockParams *dblock, size_t layer, const real *u,
                     const SideProjection *side)
{
    const size_t rows = pass->rows, C = pass->model->config.dim, mix = side->mix * C;
    const AttentionHead head = pass_first_head(pass, layer);
    const size_t rank = attention_count(&side->bottleneck.rank, &head);
    const Projection *w = &side->w, *dw = &side->dw;
    const real *shares = pass->model->params.h[layer].token_shift;
    const real *before = pass_state_before(pass, pass->act.layer[layer].last_u);
    real *dx = shares ? pass->act.shifted : pass->grad.du, *dlow = pass->grad.dlow;
    const GemmInto into = shares ? GEMM_SET : GEMM_ADD;
    if (!w->out.weight)
        return;
    const real *x = side_input(pass, layer, side->mix, u, before);
    if (w->low) {
        linear_backward(dlow, GEMM_SET, dw->out.weight, dw->out.bias, side->dy, side->low,
                        w->out.weight, rows, rank, side->out, side->stride);
        bottleneck_backward(dlow, side->low, side->bottleneck.form, rows * rank);
        linear_backward(dx, into, dw->low, NULL, dlow, x, w->low, rows, C, rank, rank);
    } else {
        linear_backward(dx, into, dw->out.weight, dw->out.bias, side->dy, x, w->out.weight,
                        rows, C, side->out, side->stride);
    }
    if (shares)
        token_shift_backward(pass->grad.du, dblock->token_shift + mix, dx, u, shares + mix,
                             before, shift_sizes(pass));
}

void side_projections_forward(const Pass *pass, size_t layer, const real *u)
{
    const BlockParams *w = &pass->model->params.h[layer];
    const size_t C = pass->model->config.dim;
    real *last_u = pass->act.layer[layer].last_u;
    for (size_t i = first_side(pass, layer); i < SIDES; i++) {
        const SideProjection side = side_at(pass, w, layer, i);
        forward(pass, layer, u, &side);
    }
    if (w->token_shift && last_u)
        for (size_t b = 0; b < pass->batch; b++)
            memcpy(last_u + b * C, u + ((b + 1) * pass->length - 1) * C, C * sizeof *u);
}

void side_projections_backward(const Pass *pass, const BlockParams *dw, size_t layer,
                               const real *u)
{
    for (size_t i = first_side(pass, layer); i < SIDES; i++) {
        const SideProjection side = side_at(pass, dw, layer, i);
        backward(pass, dw, layer, u, &side);
    }
}
