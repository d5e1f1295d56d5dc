/* The memory of a pass. */
#include "models/activations.h"
#include "src/layers/embedding.h"
#include "src/layers/head.h"
#include "src/layers/linear.h"
#include "src/layers/rotary.h"
#include "src/math/vector.h"

#include <stdlib.h>

void pass_make(Pass *pass, const Model *model, size_t batch, size_t length, PassUse use)
{
    size_t layers = model->config.layers, states = 2 * layers + 1;
    *pass = (Pass){.model = model,
                   .batch = batch,
                   .length = length,
                   .use = use,
                   .rows = memory_product(batch, length, "the batch"),
                   .capacity = length,
                   .carries = model->config.carry_state};
    pass->mlp = (MlpSizes){model->activation, pass->rows, model->config.dim, model->config.ffn};
    Activations *act = &pass->act;
    act->residual = memory_take(3 * states, sizeof *act->residual, "the layers");
    act->mean = act->residual + states;
    act->rstd = act->mean + states;
    act->layer = memory_take(layers, sizeof *act->layer, "the layers");
}

void pass_make_decoder(Pass *pass, const Model *model, size_t batch, size_t capacity)
{
    pass_make(pass, model, batch, 1, PASS_EVALUATE);
    pass->capacity = capacity;
    pass->decoding = true;
    pass->carries = false;
}

void pass_free(Pass *pass)
{
    gemm_set_workspace(NULL, 0);
    free(pass->act.residual);
    free(pass->act.layer);
    arena_free(&pass->memory);
    *pass = (Pass){0};
}

AttentionSizes pass_attention_sizes(const Pass *pass, size_t layer)
{
    AttentionSizes sizes = config_attention_sizes(&pass->model->config, layer);
    sizes.batch = pass->batch;
    sizes.length = pass->capacity;
    sizes.rotary = config_kind(&pass->model->config, layer)->turns_itself ? pass->angles : NULL;
    sizes.carries = pass->carries;
    sizes.position = pass->position;
    return sizes;
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* NULL for none. */
static real *reals_or_null(Arena *arena, size_t reals)
{
    return reals ? arena_reals(arena, reals) : NULL;
}

/* r[k], and the statistics of the norms. */
static void lay_out_residual(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    const Activations *act = &pass->act;
    const bool evaluating = pass->use == PASS_EVALUATE;
    size_t reals = memory_product(pass->rows, config->dim, "the batch");
    for (size_t k = 0; k <= 2 * config->layers; k++) {
        bool shared = evaluating || (config->parallel && k % 2);
        act->residual[k] = shared && k > 1 ? act->residual[k - 2] : arena_reals(arena, reals);
        shared = evaluating && k > 0;
        act->mean[k] = config->rms_norm ? NULL
                       : shared         ? act->mean[0]
                                        : arena_reals(arena, pass->rows);
        act->rstd[k] = shared ? act->rstd[0] : arena_reals(arena, pass->rows);
    }
}

static void lay_out_layer(Pass *pass, size_t layer, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    const AttentionKind *kind = config_kind(config, layer);
    const AttentionSizes sizes = pass_attention_sizes(pass, layer);
    const size_t rows = pass->rows, C = config->dim, H = config->heads;
    const bool gated = config_gates_output(config, layer);
    const bool convolves = config_convolves(config, layer);
    LayerActivations *a = &pass->act.layer[layer];
    a->qkv = arena_reals(arena, rows * 3 * C);
    a->qkv_raw = convolves ? arena_reals(arena, rows * 3 * C) : a->qkv;
    a->values = reals_or_null(arena, config->value_residual && layer > 0 ? rows * C : 0);
    a->qk_rms = reals_or_null(arena, config->qk_norm ? rows * 2 * H : 0);
    a->gates_low = reals_or_null(arena, rows * kind->gate_rank);
    a->gates = reals_or_null(arena, rows * attention_gates(kind, &sizes));
    a->saved = reals_or_null(arena, pass->decoding ? 0 : attention_memory(kind, &sizes).saved);
    a->mixed = arena_reals(arena, rows * C);
    a->z = reals_or_null(arena, gated ? rows * C : 0);
    a->head_factors = reals_or_null(arena, config->head_gate ? rows * H : 0);
    a->y = gated || config->head_gate || config_norms_heads(config, layer)
               ? arena_reals(arena, rows * C)
               : a->mixed;
    a->hidden = arena_reals(arena, mlp_hidden_reals(&pass->mlp));
    a->dqkv_raw = convolves ? a->qkv : pass->grad.dqkv;
    a->dz = a->z;
    a->dfactors = a->head_factors;
    a->dhidden = a->hidden;
}

static void lay_out_layers(Pass *pass, Arena *arena)
{
    size_t start = arena->used, end = start;
    for (size_t layer = 0; layer < pass->model->config.layers; layer++) {
        if (pass->use != PASS_TRAIN)
            arena->used = start;
        lay_out_layer(pass, layer, arena);
        end = most(end, arena->used);
    }
    arena->used = end;
}

/* The tokens of n-grams, then for each layer the state (or KV cache) of its kind and that of
 * the convolution. Layers do not share cache lines, so there is nothing between them. */
static void lay_out_states(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    const size_t tokens = memory_whole_lines((config->ngrams - 1) * pass->batch);
    const size_t taps = (CONVOLUTION_TAPS - 1) * 3 * config->dim * pass->batch;
    pass->states = arena_reals(arena, tokens);
    pass->states_reals = tokens;
    for (size_t layer = 0; layer < config->layers; layer++) {
        LayerActivations *a = &pass->act.layer[layer];
        const AttentionSizes sizes = pass_attention_sizes(pass, layer);
        const size_t reals = attention_memory(config_kind(config, layer), &sizes).state;
        a->state_reals = memory_whole_lines(reals +
                                            (config_convolves(config, layer) ? taps : 0));
        a->state = arena_reals(arena, a->state_reals);
        a->taps = a->state ? a->state + reals : NULL;
        pass->states_reals += a->state_reals;
    }
    if (pass->carries && pass->use != PASS_EVALUATE)
        pass->states_before = arena_reals(arena, pass->states_reals);
}

/* The largest that a layer needs; layers may be of different attention kinds. */
static void measure_layers(const Pass *pass, size_t *scratch, size_t *gates, size_t *low)
{
    const ModelConfig *config = &pass->model->config;
    size_t products = linear_workspace_reals(pass->rows, config->dim, 3 * config->dim);
    *scratch = most(products, mlp_workspace_reals(&pass->mlp));
    for (size_t layer = 0; layer < config->layers; layer++) {
        const AttentionKind *kind = config_kind(config, layer);
        AttentionSizes sizes = pass_attention_sizes(pass, layer);
        *scratch = most(*scratch, attention_memory(kind, &sizes).scratch);
        *gates = most(*gates, pass->rows * attention_gates(kind, &sizes));
        *low = most(*low, pass->rows * kind->gate_rank);
    }
}

/* What the sublayers and the head need while they run, which is never at the same time. */
static void lay_out_transients(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    Gradients *grad = &pass->grad;
    size_t rows = pass->rows, C = config->dim, gates = 0, low = 0, start = arena->used, end;
    HeadSizes head = {rows, C, config->vocabulary, (real)config->logit_cap};
    pass->head_scratch = arena_reals(arena, head_scratch_reals(head, pass->teacher_dim));
    end = arena->used;
    arena->used = start;
    measure_layers(pass, &pass->scratch_reals, &gates, &low);
    pass->scratch = arena_reals(arena, pass->scratch_reals);
    start = arena->used;
    pass->act.active = grad->dactive = arena_reals(arena, mlp_active_reals(&pass->mlp));
    end = most(end, arena->used);
    arena->used = start;
    if (pass->use != PASS_EVALUATE) {
        grad->dqkv = arena_reals(arena, memory_product(rows, 3 * C, "the batch"));
        grad->dy = grad->dmixed = arena_reals(arena, rows * C);
        grad->dgates = reals_or_null(arena, gates);
        grad->dgates_low = reals_or_null(arena, low);
    }
    arena->used = most(end, arena->used);
}

/* Gradients and inputs of the sublayers, and what the head leaves. */
static void lay_out_stream(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    const size_t rows = pass->rows, reals = rows * config->dim, last = 2 * config->layers;
    Activations *act = &pass->act;
    Gradients *grad = &pass->grad;
    ScoredRows *scored = &pass->scored;
    act->u = arena_reals(arena, reals);
    act->first_values = reals_or_null(arena, config->value_residual ? reals : 0);
    if (pass->use != PASS_EVALUATE) {
        grad->dx = act->residual[last];
        grad->du = arena_reals(arena, reals);
        grad->dbranch = config->dropout > 0 ? grad->du : grad->dx;
        grad->dmlp = config->parallel ? act->residual[1] : NULL;
        grad->dfirst_values = reals_or_null(arena, config->value_residual ? reals : 0);
    } else if (config->head_bias != HEAD_BIAS_NO) {
        pass->cooled_bias = arena_reals(arena, config->vocabulary);
    }
    pass->cooled = act->residual[last - 1];
    scored->rows = arena_bytes(arena, rows, sizeof *scored->rows);
    scored->targets = arena_bytes(arena, rows, sizeof *scored->targets);
    scored->losses = arena_reals(arena, rows);
    scored->gathered = act->residual[last];
}

/* Fills the position tables for positions from `first` on. */
static void fill_position_tables(Pass *pass, size_t first)
{
    const ModelConfig *config = &pass->model->config;
    size_t C = config->dim, D = config_head_width(config);
    size_t pairs = config_rotating_pairs(config);
    for (size_t t = 0; t < pass->length; t++) {
        if (pass->position_rows)
            embedding_sinusoids(pass->position_rows + t * C, first + t, C);
        if (pass->angles)
            rotary_row(pass->angles + t * D, first + t, D, pairs, config->rope_base);
    }
}

void pass_layout(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    lay_out_residual(pass, arena);
    lay_out_transients(pass, arena);
    lay_out_layers(pass, arena);
    if (pass->decoding || pass->carries)
        lay_out_states(pass, arena);
    lay_out_stream(pass, arena);
    pass->slots = arena_bytes(arena, (config->ngrams - 1) * pass->rows, sizeof *pass->slots);
    if (config->positions == POSITIONS_SINUSOIDAL)
        pass->position_rows = arena_reals(arena, pass->length * config->dim);
    if (config->positions == POSITIONS_ROTARY)
        pass->angles = arena_reals(arena, pass->length * config_head_width(config));
    fill_position_tables(pass, 0); /* none while measuring */
}

void pass_allocate(Pass *pass, const char *what)
{
    pass_layout(pass, &pass->memory);
    arena_allocate(&pass->memory, what);
    pass_layout(pass, &pass->memory);
}

void pass_restart(Pass *pass)
{
    vector_zero(pass->states, pass->states_reals);
    pass_move(pass, 0);
}

void pass_move(Pass *pass, size_t position)
{
    pass->position = position;
    fill_position_tables(pass, position);
}
