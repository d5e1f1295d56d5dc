/* A Transformer block. The steps of the sublayers, in brackets those that only some models or
 * kinds have:
 *
 *   attention    1  u = norm(r)
 *                2  q, k, v = u W + b   [gates, rates = u W_g + b_g, or f(u W_low) W_g + b_g]
 *                   [z = u W_z]  [each reads a mix of u and the u before: token shift]
 *                3  [q, k, v = convolution(q, k, v)]
 *                4  [v = (1 - m) v + m v of the first layer; m a number, or sigmoid(u W_m + b)]
 *                5  [q, k = QK-norm(q, k)]
 *                6  [q, k = RoPE(q, k)]
 *                7  mixed [, bonus] = attention(q, k, v, gates), the kind
 *                8  [y = (norm of each head(mixed) + bonus) f(z), norm of all(mixed) f(z), or
 *                   norm of all(mixed f(z)); f is silu, sigmoid or the identity]
 *                9  [y = 2 sigmoid(u W_h) y, a factor for each head]
 *               10  r' = r + dropout(y W_o + b_o)
 *
 *   MLP          1  u = norm(r)
 *                2  hidden = u W_in + b_in,   active = f(hidden)
 *                3  r' = r + dropout(active W_out + b_out)
 *
 * Buffers of steps that a model does not have are those of their neighbours (activations.h):
 * without a convolution qkv_raw is qkv and dqkv_raw is dqkv; without head norm and gates y is
 * mixed; dmixed is always dy.
 *
 * The backward pass takes the same steps from the last to the first. dt is the gradient of a
 * tensor t; that of the residual stream r is grad.dx. Each step adds the gradients of its
 * weights w to dw. u and active are not kept: backward computes them again, and with
 * PASS_RECOMPUTE (gradient checkpointing) all steps but the last.
 *
 * The file has norms and residual connections, then attention: steps 2 to 6 are in
 * projections_forward, 7 to 9 in mixing_forward, all in attention_sublayer_forward; then the
 * MLP. Each function named forward has its backward beside it. */
#include "models/block.h"
#include "models/side_projections.h"
#include "src/layers/convolution.h"
#include "src/layers/gates.h"
#include "src/layers/layernorm.h"
#include "src/layers/linear.h"
#include "src/layers/rotary.h"
#include "src/base/phase.h"
#include "src/math/vector.h"

/* --- norms and residual connections, of both sublayers --- */

/* The norm that computes u[k]; NULL for the embedding of a post-norm model. */
static const Affine *norm_at(const ModelConfig *config, const Params *params, size_t k)
{
    if (config->norm == NORM_PRE) {
        if (k == 2 * config->layers)
            return &params->ln_f;
        return k % 2 ? &params->h[k / 2].ln_2 : &params->h[k / 2].ln_1;
    }
    if (k == 0)
        return NULL;
    return k % 2 ? &params->h[k / 2].ln_1 : &params->h[k / 2 - 1].ln_2;
}

/* The r that it reads; with a parallel residual both norms of a layer read the same. */
static const real *norm_input(const Pass *pass, size_t k)
{
    return pass->act.residual[pass->model->config.parallel && k % 2 ? k - 1 : k];
}

const real *norm_forward(Pass *pass, size_t k)
{
    const ModelConfig *config = &pass->model->config;
    const Activations *act = &pass->act;
    const Affine *norm = norm_at(config, &pass->model->params, k);
    if (!norm)
        return act->residual[k];
    phase_enter(PHASE_NORMS);
    layernorm_forward(act->u, act->mean[k], act->rstd[k], norm_input(pass, k), norm->weight,
                      norm->bias, (real)config->norm_eps, pass->rows, config->dim);
    return act->u;
}

/* out = x + y, (rows, C) each: dropout_add that drops nothing. */
static void rows_add(real *out, const real *x, const real *y, size_t rows, size_t C)
{
    dropout_add(out, x, y, (Dropout){0}, rows, C);
}

/* The equations are in block.h. */
void norm_backward(Pass *pass, Params *dparams, size_t k)
{
    const ModelConfig *config = &pass->model->config;
    const Activations *act = &pass->act;
    const Gradients *grad = &pass->grad;
    const Affine *norm = norm_at(config, &pass->model->params, k);
    const Affine *dnorm = norm_at(config, dparams, k);
    const size_t rows = pass->rows, C = config->dim;
    const bool last = k == 2 * config->layers, post = config->norm == NORM_POST;
    const bool before_attention = config->parallel && k % 2; /* which still needs dx */
    real *dr = before_attention ? grad->dmlp : grad->dx;
    phase_enter(PHASE_NORMS);
    if (post && !last)
        rows_add(norm ? grad->du : grad->dx, grad->dx, grad->du, rows, C);
    if (!norm)
        return;
    layernorm_backward(dr, !last && !post && !before_attention, dnorm->weight, dnorm->bias,
                       grad->du, norm_input(pass, k), act->mean[k], act->rstd[k], norm->weight,
                       rows, C);
    if (config->parallel && !last && !before_attention)
        rows_add(grad->dx, grad->dx, grad->dmlp, rows, C);
}

/* What the last product of a sublayer is added to: r' = r + dropout(branch). */
static DropoutSum residual_sum(const Pass *pass, size_t k, const real *u, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    return (DropoutSum){.base = config->norm == NORM_PRE ? pass->act.residual[k] : u,
                        .dropout = dropout_at(key, SITE_BRANCH + k, config->dropout),
                        .width = config->dim};
}

/* From dx, the gradient of r', to dbranch. dx itself goes on unchanged, as the gradient of r.
 */
static const real *branch_dropout_backward(const Pass *pass, size_t k, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    const Gradients *grad = &pass->grad;
    if (config->dropout == 0)
        return grad->dx;
    phase_enter(PHASE_NORMS);
    dropout_add(grad->dbranch, NULL, grad->dx,
                dropout_at(key, SITE_BRANCH + k, config->dropout), pass->rows, config->dim);
    return grad->dbranch;
}

/* --- attention: steps 2 to 6 --- */

static bool has_norm_or_gate(const BlockParams *w, const LayerActivations *a)
{
    return w->head_norm.weight || w->out_gate.out.weight || a->bonus;
}

static HeadgateSizes headgate_sizes(const Pass *pass, const AttentionHead *head)
{
    return (HeadgateSizes){pass->rows, head->heads, head->value_width, pass->model->config.dim};
}

static ConvolutionSizes convolution_sizes(const Pass *pass, const AttentionHead *head)
{
    const bool residual = pass->model->config.convolution == CONVOLUTION_RESIDUAL;
    return (ConvolutionSizes){.batch = pass->batch,
                              .length = pass->length,
                              .channels = head->stride,
                              .taps = CONVOLUTION_TAPS,
                              .form = residual                         ? CONVOLVE_RESIDUAL
                                      : head->parts->plain_convolution ? CONVOLVE_PLAIN
                                                                       : CONVOLVE_SILU};
}

static void rotate(const Pass *pass, const AttentionHead *head, real *qkv, bool back)
{
    if (config_rotates(&pass->model->config, head->layer) && !head->kind->applies_rope)
        rotary_rotate_rows(qkv, head->stride, pass->act.layer[head->layer].angles, pass->rows,
                           pass->length, (1 + head->copies) * head->key_heads, head->width,
                           back);
}

static void projections_forward(Pass *pass, size_t layer, const real *u)
{
    const AttentionHead head = pass_first_head(pass, layer);
    const BlockParams *w = &pass->model->params.h[layer];
    const LayerActivations *a = &pass->act.layer[layer];
    const size_t rows = pass->rows, C = pass->model->config.dim;
    const size_t S = head.stride, O = head.out_stride;
    real *first_values = pass->act.first_values, *v = a->qkv + S - O;
    /* 2. q, k, v = u W + b; with a token shift among the side projections */
    phase_enter(PHASE_PROJECTIONS);
    if (!w->token_shift)
        linear_forward(a->qkv_raw, u, w->c_attn.weight, w->c_attn.bias, rows, C, S, S, NULL);
    side_projections_forward(pass, layer, u);
    /* 3. convolution */
    phase_enter(PHASE_ATTENTION);
    if (w->convolution.weight)
        convolution_forward(a->qkv, a->qkv_raw, w->convolution.weight, w->convolution.bias,
                            convolution_sizes(pass, &head), a->taps);
    /* 4. value residual */
    if (a->values)
        blend_forward(v, a->values, first_values, w->value_mix, a->mix_gates, rows, O, S);
    if (first_values && layer == 0)
        for (size_t row = 0; row < rows; row++)
            memcpy(first_values + row * O, v + row * S, O * sizeof *v);
    /* 5. QK-norm */
    if (w->qk_gain)
        qknorm_forward(a->qkv, a->qk_rms, w->qk_gain, rows, 2 * head.key_heads, head.width, S);
    /* 6. RoPE */
    rotate(pass, &head, a->qkv, false);
}

static void projections_backward(Pass *pass, BlockParams *dw, size_t layer, const real *u)
{
    const AttentionHead head = pass_first_head(pass, layer);
    const BlockParams *w = &pass->model->params.h[layer];
    const LayerActivations *a = &pass->act.layer[layer];
    const Gradients *grad = &pass->grad;
    const size_t rows = pass->rows, C = pass->model->config.dim;
    const size_t S = head.stride, O = head.out_stride;
    real *first_values = pass->act.first_values, *dfirst_values = grad->dfirst_values;
    real *dqkv = grad->dqkv, *dv = dqkv + S - O, *du = grad->du;
    /* 6. RoPE */
    rotate(pass, &head, dqkv, true);
    /* 5. QK-norm. Its backward pass reads its output, so q and k are rotated back first */
    if (w->qk_gain) {
        rotate(pass, &head, a->qkv, true);
        qknorm_backward(dqkv, dw->qk_gain, a->qkv, a->qk_rms, w->qk_gain, rows,
                        2 * head.key_heads, head.width, S);
    }
    /* 4. value residual */
    if (a->values)
        blend_backward(dv, dfirst_values, dw->value_mix, a->dmix, a->values, first_values,
                       w->value_mix, a->mix_gates, rows, O, S);
    if (first_values && layer == 0)
        for (size_t row = 0; row < rows; row++)
            vector_add_scaled(dv + row * S, dfirst_values + row * O, 1, O);
    /* 3. convolution */
    if (w->convolution.weight)
        convolution_backward(a->dqkv_raw, dw->convolution.weight, dw->convolution.bias, dqkv,
                             a->qkv_raw, w->convolution.weight, w->convolution.bias,
                             convolution_sizes(pass, &head), pass_state_before(pass, a->taps));
    /* 2. du = dqkv_raw W^T,  dW += u^T dqkv_raw; the side projections add to du */
    phase_enter(PHASE_PROJECTIONS);
    if (w->token_shift)
        vector_zero(du, rows * C);
    else
        linear_backward(du, GEMM_SET, dw->c_attn.weight, dw->c_attn.bias, a->dqkv_raw, u,
                        w->c_attn.weight, rows, C, S, S);
    side_projections_backward(pass, dw, layer, u);
    /* du += dg W_h^T,  dW_h += u^T dg: the head gate, from step 9 */
    if (w->head_gate)
        headgate_backward_input(du, dw->head_gate, a->dfactors, u, w->head_gate,
                                headgate_sizes(pass, &head));
}

/* --- attention: steps 7 to 9 --- */

static AttentionBatch attention_batch(const Pass *pass, size_t layer)
{
    const LayerActivations *a = &pass->act.layer[layer];
    return (AttentionBatch){.qkv = a->qkv,
                            .gates = a->gates,
                            .rates = a->rates,
                            .params = pass->model->params.h[layer].kind_params,
                            .out = a->mixed,
                            .bonus = a->bonus,
                            .saved = a->saved,
                            .scratch = pass->scratch,
                            .state = a->state};
}

static HeadnormSizes headnorm_sizes(const AttentionHead *head, size_t rows)
{
    return (HeadnormSizes){rows, head->heads, head->value_width, head->parts->out_gate.form};
}

static HeadnormParts headnorm_parts(const BlockParams *w, real *bonus, real *z)
{
    return (HeadnormParts){w->head_norm.weight, w->head_norm.bias, bonus, z};
}

/* Step 8. Most kinds norm each head, with a gate behind; some all heads together, with the gate
 * behind or before. */
static void norm_and_gate_forward(const BlockParams *w, const LayerActivations *a,
                                  const AttentionHead *head, size_t rows)
{
    const HeadnormSizes sizes = headnorm_sizes(head, rows);
    const HeadnormParts gate = {.z = a->z};
    if (!a->norm_rstd) {
        headnorm_forward(a->y, a->mixed, headnorm_parts(w, a->bonus, a->z), sizes);
        return;
    }
    if (a->gated != a->mixed)
        headnorm_forward(a->gated, a->mixed, gate, sizes);
    layernorm_forward(a->normed, NULL, a->norm_rstd, a->gated, w->head_norm.weight, NULL,
                      HEAD_EPSILON, rows, head->out_stride);
    if (a->normed != a->y)
        headnorm_forward(a->y, a->normed, gate, sizes);
}

/* From dy to dmixed, in the same memory, dz and dbonus. */
static void norm_and_gate_backward(const BlockParams *w, const BlockParams *dw,
                                   const LayerActivations *a, real *dy,
                                   const AttentionHead *head, size_t rows)
{
    const HeadnormSizes sizes = headnorm_sizes(head, rows);
    const HeadnormParts gate = {.z = a->z}, dgate = {.z = a->dz};
    if (!a->norm_rstd) {
        headnorm_backward(dy, headnorm_parts(dw, a->dbonus, a->dz), dy, a->mixed,
                          headnorm_parts(w, a->bonus, a->z), sizes);
        return;
    }
    if (a->normed != a->y)
        headnorm_backward(dy, dgate, dy, a->normed, gate, sizes);
    layernorm_backward(dy, 0, dw->head_norm.weight, NULL, dy, a->gated, NULL, a->norm_rstd,
                       w->head_norm.weight, rows, head->out_stride);
    if (a->gated != a->mixed)
        headnorm_backward(dy, dgate, dy, a->mixed, gate, sizes);
}

static void mixing_forward(Pass *pass, size_t layer, const real *u, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    const AttentionBatch batch = attention_batch(pass, layer);
    const BlockParams *w = &pass->model->params.h[layer];
    const LayerActivations *a = &pass->act.layer[layer];
    const AttentionHead head = pass_first_head(pass, layer);
    AttentionSizes sizes = pass_attention_sizes(pass, layer);
    /* 7. the attention kind */
    sizes.dropout = dropout_at(key, SITE_WEIGHTS + 2 * layer, config->attention_dropout);
    if (pass->decoding)
        attention_step(&batch, &sizes);
    else
        attention_forward(&batch, &sizes);
    /* 8. head norm and output gate */
    if (has_norm_or_gate(w, a))
        norm_and_gate_forward(w, a, &head, pass->rows);
    /* 9. head gate */
    if (w->head_gate)
        headgate_forward(a->y, a->head_factors, has_norm_or_gate(w, a) ? a->y : a->mixed, u,
                         w->head_gate, headgate_sizes(pass, &head));
}

static void mixing_backward(Pass *pass, BlockParams *dw, size_t layer, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    const BlockParams *w = &pass->model->params.h[layer];
    const LayerActivations *a = &pass->act.layer[layer];
    const Gradients *grad = &pass->grad;
    const AttentionHead head = pass_first_head(pass, layer);
    AttentionSizes sizes = pass_attention_sizes(pass, layer);
    AttentionBatch batch = attention_batch(pass, layer);
    /* 9. head gate */
    phase_enter(PHASE_ATTENTION);
    if (w->head_gate)
        headgate_backward(grad->dy, a->dfactors, grad->dy, a->y, a->head_factors,
                          headgate_sizes(pass, &head));
    /* 8. head norm and output gate */
    if (has_norm_or_gate(w, a))
        norm_and_gate_backward(w, dw, a, grad->dy, &head, pass->rows);
    /* 7. the attention kind */
    sizes.dropout = dropout_at(key, SITE_WEIGHTS + 2 * layer, config->attention_dropout);
    batch.bonus = NULL;
    batch.dbonus = a->dbonus;
    batch.dout = grad->dmixed;
    batch.dqkv = grad->dqkv;
    batch.dgates = grad->dgates;
    batch.drates = grad->drates;
    batch.dheads = grad->dheads;
    batch.dparams = dw->kind_params;
    attention_backward(&batch, &sizes);
}

/* --- the attention sublayer --- */

void attention_branch_forward(Pass *pass, size_t layer, const real *u, const RandomKey *key,
                              const DropoutSum *sum)
{
    const BlockParams *w = &pass->model->params.h[layer];
    const LayerActivations *a = &pass->act.layer[layer];
    const size_t C = pass->model->config.dim, O = pass_first_head(pass, layer).out_stride;
    /* 2 to 9. from u to y */
    projections_forward(pass, layer, u);
    mixing_forward(pass, layer, u, key);
    /* 10. r' = r + dropout(y W_o + b_o) */
    phase_enter(PHASE_PROJECTIONS);
    linear_forward(pass->act.residual[2 * layer + 1], a->y, w->attn_proj.weight,
                   w->attn_proj.bias, pass->rows, O, C, C, sum);
}

void attention_branch_backward(Pass *pass, BlockParams *dw, size_t layer, const real *u,
                               const real *dbranch, const RandomKey *key)
{
    const BlockParams *w = &pass->model->params.h[layer];
    const LayerActivations *a = &pass->act.layer[layer];
    const size_t C = pass->model->config.dim, O = pass_first_head(pass, layer).out_stride;
    /* 10. dy = dbranch W_o^T,  dW_o += y^T dbranch */
    phase_enter(PHASE_PROJECTIONS);
    linear_backward(pass->grad.dy, GEMM_SET, dw->attn_proj.weight, dw->attn_proj.bias, dbranch,
                    a->y, w->attn_proj.weight, pass->rows, O, C, C);
    /* 9 to 2. from dy to du */
    mixing_backward(pass, dw, layer, key);
    projections_backward(pass, dw, layer, u);
}

void attention_sublayer_forward(Pass *pass, size_t layer, const RandomKey *key)
{
    const size_t k = 2 * layer;
    /* 1. u = norm(r) */
    const real *u = norm_forward(pass, k);
    /* 2 to 10. r' = r + the branch */
    const DropoutSum sum = residual_sum(pass, k, u, key);
    attention_branch_forward(pass, layer, u, key, &sum);
}

void attention_sublayer_backward(Pass *pass, Params *dparams, size_t layer,
                                 const RandomKey *key)
{
    const LayerActivations *a = &pass->act.layer[layer];
    const size_t k = 2 * layer;
    const real *u = norm_forward(pass, k);
    if (pass->use == PASS_RECOMPUTE) {
        const real *before = pass_state_before(pass, a->state);
        if (before)
            memcpy(a->state, before, a->state_reals * sizeof *a->state);
        projections_forward(pass, layer, u);
        mixing_forward(pass, layer, u, key);
    }
    /* 10 to 2. from dx to du */
    const real *dbranch = branch_dropout_backward(pass, k, key);
    attention_branch_backward(pass, &dparams->h[layer], layer, u, dbranch, key);
    /* 1. dx += the gradient through the norm */
    norm_backward(pass, dparams, k);
}

/* --- the MLP sublayer --- */

static MlpWeights mlp_weights(const BlockParams *h)
{
    return (MlpWeights){h->c_fc.weight, h->c_fc.bias, h->mlp_proj.weight, h->mlp_proj.bias};
}

void mlp_sublayer_forward(Pass *pass, size_t layer, const RandomKey *key)
{
    const MlpWeights w = mlp_weights(&pass->model->params.h[layer]);
    const Activations *act = &pass->act;
    const size_t k = 2 * layer + 1;
    /* 1. u = norm(r) */
    const real *u = norm_forward(pass, k);
    const DropoutSum sum = residual_sum(pass, k, u, key);
    /* 2. hidden = u W_in + b_in,  active = f(hidden) */
    phase_enter(PHASE_FFN);
    mlp_up_forward(act->layer[layer].hidden, act->active, u, &w, &pass->mlp);
    /* 3. r' = r + dropout(active W_out + b_out) */
    mlp_down_forward(act->residual[k + 1], act->active, &w, &pass->mlp, &sum);
}

void mlp_sublayer_backward(Pass *pass, Params *dparams, size_t layer, const RandomKey *key)
{
    const MlpWeights w = mlp_weights(&pass->model->params.h[layer]);
    const MlpWeights dw = mlp_weights(&dparams->h[layer]);
    const LayerActivations *a = &pass->act.layer[layer];
    const Gradients *grad = &pass->grad;
    const size_t k = 2 * layer + 1;
    const real *u = norm_forward(pass, k);
    phase_enter(PHASE_FFN);
    if (pass->use == PASS_RECOMPUTE)
        mlp_up_forward(a->hidden, NULL, u, &w, &pass->mlp);
    /* 3. dactive = dbranch W_out^T,  dW_out += active^T dbranch;  2. dhidden = f'(hidden)
     * dactive */
    const real *dbranch = branch_dropout_backward(pass, k, key);
    phase_enter(PHASE_FFN);
    mlp_down_backward(a->dhidden, grad->dactive, &dw, dbranch, a->hidden, &w, &pass->mlp);
    /* du = dhidden W_in^T,  dW_in += u^T dhidden */
    mlp_up_backward(grad->du, &dw, a->dhidden, u, &w, &pass->mlp);
    /* 1. dx += the gradient through the norm */
    norm_backward(pass, dparams, k);
}
