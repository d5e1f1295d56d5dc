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
    act->residual = memory_new(3 * states, sizeof *act->residual, "the layers");
    act->mean = act->residual + states;
    act->rstd = act->mean + states;
    act->layer = memory_new(layers, sizeof *act->layer, "the layers");
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
    const ModelConfig *config = &pass->model->config;
    AttentionSizes sizes = config_attention_sizes(config, layer);
    sizes.batch = pass->batch;
    sizes.length = pass->capacity;
    bool rotates = config_rotates(config, layer) && sizes.kind->applies_rope;
    sizes.rotary = rotates ? pass->act.layer[layer].angles : NULL;
    sizes.carries = pass->carries;
    sizes.position = pass->position;
    return sizes;
}

AttentionHead pass_first_head(const Pass *pass, size_t layer)
{
    const AttentionSizes sizes = pass_attention_sizes(pass, layer);
    return attention_head(&sizes, 0);
}

const real *pass_state_before(const Pass *pass, const real *state)
{
    return pass->states_before ? pass->states_before + (state - pass->states) : NULL;
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
    const AttentionSizes sizes = pass_attention_sizes(pass, layer);
    const AttentionHead head = attention_head(&sizes, 0);
    const size_t rows = pass->rows, H = config->heads;
    const size_t S = head.stride, O = head.out_stride;
    const bool gated = config_gates_output(config, layer);
    const bool convolves = config_convolves(config, layer);
    LayerActivations *a = &pass->act.layer[layer];
    a->qkv = arena_reals(arena, rows * S);
    a->qkv_raw = convolves ? arena_reals(arena, rows * S) : a->qkv;
    const bool mixes = config_mixes_values(config, layer);
    a->values = reals_or_null(arena, mixes ? rows * O : 0);
    if (mixes && attention_has(&head.parts->value_mix.count)) {
        a->mix_gates = arena_reals(arena, rows * O);
        a->mix_low = reals_or_null(
            arena, rows * attention_count(&head.parts->value_mix.low.rank, &head));
    }
    a->qk_rms = reals_or_null(
        arena, config_norms_queries(config, layer) ? rows * 2 * head.key_heads : 0);
    a->gates_low = reals_or_null(arena,
                                 rows * attention_count(&head.kind->gates.low.rank, &head));
    a->rates_low = reals_or_null(arena,
                                 rows * attention_count(&head.kind->rates.low.rank, &head));
    a->z_low = reals_or_null(
        arena, gated ? rows * attention_count(&head.parts->out_gate.low.rank, &head) : 0);
    a->gates = reals_or_null(arena, rows * head.gates_stride);
    a->rates = reals_or_null(arena, rows * head.rates_stride);
    a->saved = reals_or_null(arena, pass->decoding ? 0 : attention_memory(&sizes).saved);
    a->mixed = arena_reals(arena, rows * O);
    a->bonus = reals_or_null(arena, head.parts->has_bonus ? rows * O : 0);
    a->z = reals_or_null(arena, gated ? rows * O : 0);
    const bool whole = head.parts->norms_all_heads && config_norms_heads(config, layer);
    const bool gates_whole = whole && gated, first = head.parts->gates_first;
    const bool changes = gated || config->head_gate || config_norms_heads(config, layer) ||
                         head.parts->has_bonus;
    a->norm_rstd = reals_or_null(arena, whole ? rows : 0);
    a->head_factors = reals_or_null(arena, config->head_gate ? rows * H : 0);
    a->y = changes ? arena_reals(arena, rows * O) : a->mixed;
    a->gated = gates_whole && first ? arena_reals(arena, rows * O) : a->mixed;
    a->normed = gates_whole && !first ? arena_reals(arena, rows * O) : a->y;
    a->hidden = arena_reals(arena, mlp_hidden_reals(&pass->mlp));
    a->dqkv_raw = convolves ? a->qkv : pass->grad.dqkv;
    a->dmix = a->mix_gates;
    a->dbonus = a->bonus;
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

/* The tokens of n-grams, then for each layer the state (or KV cache) of its kind and those of
 * convolution and token shift. Layers do not share cache lines, so there is nothing between
 * them. */
static void lay_out_states(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    const size_t tokens = memory_whole_lines((config->ngrams - 1) * pass->batch);
    pass->states = arena_reals(arena, tokens);
    pass->states_reals = tokens;
    for (size_t layer = 0; layer < config->layers; layer++) {
        LayerActivations *a = &pass->act.layer[layer];
        const AttentionSizes sizes = pass_attention_sizes(pass, layer);
        const AttentionHead head = attention_head(&sizes, 0);
        const size_t reals = attention_memory(&sizes).state;
        size_t taps = (CONVOLUTION_TAPS - 1) * head.stride;
        taps = config_convolves(config, layer) ? taps * pass->batch : 0;
        const size_t last = head.parts->token_shift ? config->dim * pass->batch : 0;
        a->state_reals = memory_whole_lines(reals + taps + last);
        a->state = arena_reals(arena, a->state_reals);
        a->taps = a->state ? a->state + reals : NULL;
        a->last_u = a->state ? a->taps + taps : NULL;
        pass->states_reals += a->state_reals;
    }
    if (pass->carries && pass->use != PASS_EVALUATE)
        pass->states_before = arena_reals(arena, pass->states_reals);
}

/* The most that a layer needs; layers may be of different attention kinds. */
typedef struct LayerMost {
    size_t scratch, shared, qkv, out, gates, rates, low; /* reals; the last five for a row */
    bool shifts;                                         /* one has a token shift */
} LayerMost;

static LayerMost measure_layers(const Pass *pass)
{
    const ModelConfig *config = &pass->model->config;
    LayerMost all = {.scratch = mlp_workspace_reals(&pass->mlp)};
    for (size_t layer = 0; layer < config->layers; layer++) {
        const AttentionSizes sizes = pass_attention_sizes(pass, layer);
        const AttentionHead head = attention_head(&sizes, 0);
        const size_t products = linear_workspace_reals(pass->rows, config->dim, head.stride);
        all.scratch = most(all.scratch, most(products, attention_memory(&sizes).scratch));
        all.shared = most(all.shared, attention_dheads_reals(&sizes));
        all.qkv = most(all.qkv, head.stride);
        all.out = most(all.out, head.out_stride);
        all.gates = most(all.gates, head.gates_stride);
        all.rates = most(all.rates, head.rates_stride);
        all.low = most(all.low, attention_count(&head.kind->gates.low.rank, &head));
        all.low = most(all.low, attention_count(&head.kind->rates.low.rank, &head));
        all.low = most(all.low, attention_count(&head.parts->value_mix.low.rank, &head));
        all.low = most(all.low, attention_count(&head.parts->out_gate.low.rank, &head));
        all.shifts = all.shifts || head.parts->token_shift;
    }
    return all;
}

/* What the sublayers and the head need while they run, which is never at the same time. */
static void lay_out_transients(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    const LayerMost all = measure_layers(pass);
    const size_t rows = pass->rows;
    Gradients *grad = &pass->grad;
    size_t start = arena->used, end;
    HeadSizes head = {rows, config->dim, config->vocabulary, (real)config->logit_cap};
    pass->head_scratch = arena_reals(arena, head_scratch_reals(head, pass->teacher_dim));
    end = arena->used;
    arena->used = start;
    pass->scratch_reals = all.scratch;
    pass->scratch = arena_reals(arena, pass->scratch_reals);
    start = arena->used;
    pass->act.active = grad->dactive = arena_reals(arena, mlp_active_reals(&pass->mlp));
    end = most(end, arena->used);
    arena->used = start;
    pass->act.shifted = reals_or_null(arena, all.shifts ? rows * config->dim : 0);
    if (pass->use != PASS_EVALUATE) {
        grad->dqkv = arena_reals(arena, memory_product(rows, all.qkv, "the batch"));
        grad->dheads = reals_or_null(arena, all.shared);
        grad->dy = grad->dmixed = arena_reals(arena, rows * all.out);
        grad->dgates = reals_or_null(arena, rows * all.gates);
        grad->drates = reals_or_null(arena, rows * all.rates);
        grad->dlow = reals_or_null(arena, rows * all.low);
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
    size_t values = 0;
    for (size_t layer = 0; layer < config->layers; layer++)
        if (config_mixes_values(config, layer))
            values = rows * config_value_width(config, 0);
    act->first_values = reals_or_null(arena, values);
    if (pass->use != PASS_EVALUATE) {
        grad->dx = act->residual[last];
        grad->du = arena_reals(arena, reals);
        grad->dbranch = config->dropout > 0 ? grad->du : grad->dx;
        grad->dmlp = config->parallel ? act->residual[1] : NULL;
        grad->dfirst_values = reals_or_null(arena, values);
    } else if (config->head_bias != HEAD_BIAS_NO) {
        pass->cooled_bias = arena_reals(arena, config->vocabulary);
    }
    pass->cooled = act->residual[last - 1];
    scored->rows = arena_bytes(arena, rows, sizeof *scored->rows);
    scored->targets = arena_bytes(arena, rows, sizeof *scored->targets);
    scored->losses = arena_reals(arena, rows);
    scored->gathered = act->residual[last];
}

/* The first layer whose queries rotate and are as wide as those of a layer. */
static size_t first_as_wide(const ModelConfig *config, size_t layer)
{
    const size_t width = config_key_width(config, layer);
    size_t first = 0;
    while (!config_rotates(config, first) || config_key_width(config, first) != width)
        first++;
    return first;
}

static void lay_out_angles(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    for (size_t layer = 0; layer < config->layers; layer++) {
        if (!config_rotates(config, layer))
            continue;
        const size_t first = first_as_wide(config, layer);
        const size_t reals = pass->length * config_key_width(config, layer);
        pass->act.layer[layer].angles = first < layer ? pass->act.layer[first].angles
                                                      : arena_reals(arena, reals);
    }
}

/* Fills the position tables for positions from `first` on. */
static void fill_position_tables(Pass *pass, size_t first)
{
    const ModelConfig *config = &pass->model->config;
    const size_t C = config->dim;
    for (size_t t = 0; pass->position_rows && t < pass->length; t++)
        embedding_sinusoids(pass->position_rows + t * C, first + t, C);
    for (size_t layer = 0; layer < config->layers; layer++) {
        real *angles = pass->act.layer[layer].angles;
        if (!angles || first_as_wide(config, layer) < layer)
            continue;
        const size_t D = config_key_width(config, layer);
        const size_t pairs = config_rotating_pairs(config, D);
        for (size_t t = 0; t < pass->length; t++)
            rotary_row(angles + t * D, first + t, D, pairs, config->rope_base);
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
    lay_out_angles(pass, arena);
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
