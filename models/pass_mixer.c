#include "models/pass_mixer.h"
#include "src/layers/blend.h"
#include "src/layers/convolution.h"
#include "src/layers/headgate.h"
#include "src/layers/headnorm.h"
#include "src/layers/linear.h"
#include "src/layers/qknorm.h"
#include "src/layers/rotary.h"
#include "src/phase.h"
#include "src/vector.h"

static const AttentionKind *kind_of(const Pass *pass, size_t layer)
{
    return config_kind(&pass->model->config, layer);
}

static AttentionSizes sizes_of(const Pass *pass, size_t layer)
{
    AttentionSizes sizes = config_attention_sizes(&pass->model->config, layer);
    sizes.batch = pass->batch;
    sizes.length = pass->capacity;
    sizes.rotary = kind_of(pass, layer)->turns_itself ? pass->angles : NULL;
    sizes.carries = pass->carries;
    sizes.position = pass->position;
    return sizes;
}

/* --- memory --- */

size_t mixer_part_reals(const Pass *pass, size_t layer, MixerPart part)
{
    const ModelConfig *config = &pass->model->config;
    const AttentionKind *kind = kind_of(pass, layer);
    AttentionSizes sizes = sizes_of(pass, layer);
    size_t rows = pass->rows, width = config->dim;
    bool gated = config_gates_output(config, layer);
    bool finished = gated || config->head_gate || config_norms_heads(config, layer);
    switch (part) {
    case MIXER_RAW:
        return config_convolves(config, layer) ? rows * 3 * width : 0;
    case MIXER_QKV:
        return rows * 3 * width;
    case MIXER_VALUES:
        return config->value_residual && layer > 0 ? rows * width : 0;
    case MIXER_SIZES:
        return config->qk_norm ? rows * 2 * config->heads : 0;
    case MIXER_HIDDEN:
        return rows * kind->gate_rank;
    case MIXER_GATES:
        return rows * attention_gates(kind, &sizes);
    case MIXER_SAVED:
        return pass->decoding ? 0 : attention_memory(kind, &sizes).saved;
    case MIXER_MIXED:
        return rows * width;
    case MIXER_Z:
        return gated ? rows * width : 0;
    case MIXER_FACTORS:
        return config->head_gate ? rows * config->heads : 0;
    case MIXER_FINISHED:
        return finished ? rows * width : 0;
    case MIXER_SCRATCH:
        return attention_memory(kind, &sizes).scratch;
    }
    return 0;
}

static size_t kind_state_reals(const Pass *pass, size_t layer)
{
    AttentionSizes sizes = sizes_of(pass, layer);
    return attention_memory(kind_of(pass, layer), &sizes).state;
}

size_t mixer_state_reals(const Pass *pass, size_t layer)
{
    const ModelConfig *config = &pass->model->config;
    size_t taps = (CONVOLUTION_TAPS - 1) * 3 * config->dim * pass->batch;
    size_t reals = kind_state_reals(pass, layer) + (config_convolves(config, layer) ? taps : 0);
    return memory_whole_lines(reals); /* layers do not share cache lines */
}

/* --- forward --- */

static const BlockParams *block_of(const Pass *pass, size_t layer)
{
    return &pass->model->at.h[layer];
}

/* The projections of u: q, k, v, gates and output gate. */
static void read_input(Pass *pass, size_t layer, const real *u)
{
    const BlockParams *h = block_of(pass, layer);
    const AttentionKind *kind = kind_of(pass, layer);
    AttentionSizes sizes = sizes_of(pass, layer);
    real **part = pass->mixer[layer].part, *hidden = part[MIXER_HIDDEN];
    size_t rows = pass->rows, width = pass->model->config.dim;
    size_t gates = attention_gates(kind, &sizes);
    phase_enter(PHASE_PROJECTIONS);
    linear_forward(h->convolution ? part[MIXER_RAW] : part[MIXER_QKV], u, h->c_attn.weight,
                   h->c_attn.bias, rows, width, 3 * width);
    if (h->gate_in)
        linear_forward(hidden, u, h->gate_in, NULL, rows, width, kind->gate_rank);
    if (gates)
        linear_forward(part[MIXER_GATES], h->gate_in ? hidden : u, h->gates.weight,
                       h->gates.bias, rows, h->gate_in ? kind->gate_rank : width, gates);
    if (h->out_gate)
        linear_forward(part[MIXER_Z], u, h->out_gate, NULL, rows, width, width);
}

static void turn(Pass *pass, size_t layer, real *qkv, bool back)
{
    const ModelConfig *config = &pass->model->config;
    if (pass->angles && !kind_of(pass, layer)->turns_itself)
        rotary_turn_rows(qkv, pass->angles, pass->rows, pass->length, config->heads,
                         config_head_width(config), back);
}

static AttentionBatch batch_of(const Pass *pass, size_t layer)
{
    real *const *part = pass->mixer[layer].part;
    return (AttentionBatch){.qkv = part[MIXER_QKV],
                            .gates = part[MIXER_GATES],
                            .own = block_of(pass, layer)->own,
                            .out = part[MIXER_MIXED],
                            .saved = part[MIXER_SAVED],
                            .scratch = pass->scratch,
                            .states = pass->mixer[layer].state};
}

/* Value residual: the first layer stores its values, later layers mix them in. */
static void mix_values(Pass *pass, size_t layer)
{
    size_t width = pass->model->config.dim, stride = 3 * width;
    real **part = pass->mixer[layer].part, *v = part[MIXER_QKV] + 2 * width;
    if (!pass->first_values)
        return;
    if (layer > 0)
        blend_forward(v, part[MIXER_VALUES], pass->first_values,
                      *block_of(pass, layer)->value_mix, pass->rows, width, stride);
    for (size_t row = 0; layer == 0 && row < pass->rows; row++)
        memcpy(pass->first_values + row * width, v + row * stride, width * sizeof *v);
}

static void mix_values_backward(Pass *pass, BlockParams *gradients, size_t layer)
{
    size_t width = pass->model->config.dim, stride = 3 * width;
    real *dv = pass->wide + 2 * width;
    if (!pass->first_values)
        return;
    if (layer > 0)
        blend_backward(dv, pass->dfirst_values, gradients->value_mix,
                       pass->mixer[layer].part[MIXER_VALUES], pass->first_values,
                       *block_of(pass, layer)->value_mix, pass->rows, width, stride);
    for (size_t row = 0; layer == 0 && row < pass->rows; row++)
        vector_add_scaled(dv + row * stride, pass->dfirst_values + row * width, 1, width);
}

static ConvolutionSizes convolution_sizes(const Pass *pass)
{
    const ModelConfig *config = &pass->model->config;
    return (ConvolutionSizes){.batch = pass->batch,
                              .length = pass->length,
                              .channels = 3 * config->dim,
                              .taps = CONVOLUTION_TAPS,
                              .residual = config->convolution == CONVOLUTION_RESIDUAL};
}

/* The state of the convolution, after that of the kind. */
static real *rows_before(const Pass *pass, size_t layer, real *state)
{
    return state ? state + kind_state_reals(pass, layer) : NULL;
}

static HeadgateSizes headgate_sizes(const Pass *pass)
{
    const ModelConfig *config = &pass->model->config;
    return (HeadgateSizes){pass->rows, config->heads, config_head_width(config)};
}

/* The norm and the gates on the output of the kind. */
static void finish(Pass *pass, size_t layer, const real *u)
{
    const ModelConfig *config = &pass->model->config;
    const BlockParams *h = block_of(pass, layer);
    real **part = pass->mixer[layer].part, *from = part[MIXER_MIXED];
    if (h->head_norm || h->out_gate) {
        headnorm_forward(part[MIXER_FINISHED], from, h->head_norm, part[MIXER_Z], pass->rows,
                         config->heads, config_head_width(config));
        from = part[MIXER_FINISHED];
    }
    if (h->head_gate)
        headgate_forward(part[MIXER_FINISHED], part[MIXER_FACTORS], from, u, h->head_gate,
                         headgate_sizes(pass));
}

/* Up to y. */
static void mix(Pass *pass, size_t layer, const real *u, Dropout dropout)
{
    const ModelConfig *config = &pass->model->config;
    const BlockParams *h = block_of(pass, layer);
    AttentionSizes sizes = sizes_of(pass, layer);
    sizes.dropout = dropout;
    real **part = pass->mixer[layer].part;
    read_input(pass, layer, u);
    phase_enter(PHASE_ATTENTION);
    if (h->convolution)
        convolution_forward(part[MIXER_QKV], part[MIXER_RAW], h->convolution,
                            convolution_sizes(pass),
                            rows_before(pass, layer, pass->mixer[layer].state));
    mix_values(pass, layer);
    if (h->qk_gain)
        qknorm_forward(part[MIXER_QKV], part[MIXER_SIZES], h->qk_gain, pass->rows,
                       2 * config->heads, config_head_width(config), 3 * config->dim);
    turn(pass, layer, part[MIXER_QKV], false);
    AttentionBatch batch = batch_of(pass, layer);
    if (pass->decoding)
        attention_step(kind_of(pass, layer), &batch, &sizes);
    else
        attention_forward(kind_of(pass, layer), &batch, &sizes);
    finish(pass, layer, u);
}

static const real *finished(const Pass *pass, size_t layer)
{
    real *const *part = pass->mixer[layer].part;
    return part[MIXER_FINISHED] ? part[MIXER_FINISHED] : part[MIXER_MIXED];
}

void mixer_forward(Pass *pass, real *branch, size_t layer, const real *u, Dropout dropout,
                   GemmFinish finish)
{
    const BlockParams *h = block_of(pass, layer);
    size_t width = pass->model->config.dim;
    mix(pass, layer, u, dropout);
    phase_enter(PHASE_PROJECTIONS);
    linear_forward_then(branch, finished(pass, layer), h->attn_proj.weight, h->attn_proj.bias,
                        pass->rows, width, width, finish);
}

/* --- backward --- */

void mixer_again(Pass *pass, size_t layer, const real *u, Dropout dropout)
{
    const Mixer *mixer = &pass->mixer[layer];
    if (pass->carries)
        memcpy(mixer->state, mixer->begun, mixer_state_reals(pass, layer) * sizeof(real));
    mix(pass, layer, u, dropout);
}

/* Gradients overwrite activations that are no longer needed: branch holds that of the
 * attention output, MIXER_Z that of the output gate, MIXER_QKV that of the convolution input.
 */
void mixer_backward(Pass *pass, BlockParams *gradients, size_t layer, const real *dbranch,
                    Dropout dropout)
{
    const ModelConfig *config = &pass->model->config;
    const BlockParams *h = block_of(pass, layer);
    AttentionSizes sizes = sizes_of(pass, layer);
    sizes.dropout = dropout;
    real **part = pass->mixer[layer].part, *dmixed = pass->branch;
    size_t rows = pass->rows, width = config->dim;
    phase_enter(PHASE_PROJECTIONS);
    linear_backward(dmixed, GEMM_SET, gradients->attn_proj.weight, gradients->attn_proj.bias,
                    dbranch, finished(pass, layer), h->attn_proj.weight, rows, width, width);
    phase_enter(PHASE_ATTENTION);
    if (h->head_gate)
        headgate_backward(dmixed, part[MIXER_FACTORS], dmixed, part[MIXER_FINISHED],
                          headgate_sizes(pass));
    if (h->head_norm || h->out_gate)
        headnorm_backward(dmixed, gradients->head_norm, part[MIXER_Z], dmixed,
                          part[MIXER_MIXED], h->head_norm, part[MIXER_Z], rows, config->heads,
                          config_head_width(config));
    AttentionBatch batch = batch_of(pass, layer);
    batch.dout = dmixed;
    batch.dqkv = pass->wide;
    batch.dgates = pass->dgates;
    batch.down = gradients->own;
    attention_backward(kind_of(pass, layer), &batch, &sizes);
    turn(pass, layer, pass->wide, true);
    if (h->qk_gain) {
        turn(pass, layer, part[MIXER_QKV], true);
        qknorm_backward(pass->wide, gradients->qk_gain, part[MIXER_QKV], part[MIXER_SIZES],
                        h->qk_gain, rows, 2 * config->heads, config_head_width(config),
                        3 * width);
    }
    mix_values_backward(pass, gradients, layer);
    if (h->convolution)
        convolution_backward(part[MIXER_QKV], gradients->convolution, pass->wide,
                             part[MIXER_RAW], h->convolution, convolution_sizes(pass),
                             rows_before(pass, layer, pass->mixer[layer].begun));
}

void mixer_backward_input(Pass *pass, BlockParams *gradients, size_t layer, const real *u)
{
    const BlockParams *h = block_of(pass, layer);
    const AttentionKind *kind = kind_of(pass, layer);
    AttentionSizes sizes = sizes_of(pass, layer);
    real **part = pass->mixer[layer].part, *du = pass->branch;
    size_t rows = pass->rows, width = pass->model->config.dim;
    size_t gates = attention_gates(kind, &sizes), rank = kind->gate_rank;
    phase_enter(PHASE_PROJECTIONS);
    linear_backward(du, GEMM_SET, gradients->c_attn.weight, gradients->c_attn.bias,
                    h->convolution ? part[MIXER_QKV] : pass->wide, u, h->c_attn.weight, rows,
                    width, 3 * width);
    if (gates && h->gate_in) {
        linear_backward(pass->dhidden, GEMM_SET, gradients->gates.weight, gradients->gates.bias,
                        pass->dgates, part[MIXER_HIDDEN], h->gates.weight, rows, rank, gates);
        linear_backward(du, GEMM_ADD, gradients->gate_in, NULL, pass->dhidden, u, h->gate_in,
                        rows, width, rank);
    } else if (gates) {
        linear_backward(du, GEMM_ADD, gradients->gates.weight, gradients->gates.bias,
                        pass->dgates, u, h->gates.weight, rows, width, gates);
    }
    if (h->out_gate)
        linear_backward(du, GEMM_ADD, gradients->out_gate, NULL, part[MIXER_Z], u, h->out_gate,
                        rows, width, width);
    if (h->head_gate)
        headgate_backward_input(du, gradients->head_gate, part[MIXER_FACTORS], u, h->head_gate,
                                headgate_sizes(pass));
}
