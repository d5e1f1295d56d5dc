/* Memory layout of a pass. */
#include "models/pass_mixer.h"
#include "src/layers/embedding.h"
#include "src/layers/head.h"
#include "src/layers/linear.h"
#include "src/layers/rotary.h"
#include "src/vector.h"

#include <stdlib.h>

void pass_make(Pass *pass, const Model *model, size_t batch, size_t length, PassUse use)
{
    size_t layers = model->config.layers, places = 2 * layers + 1;
    *pass = (Pass){.model = model,
                   .batch = batch,
                   .length = length,
                   .use = use,
                   .rows = memory_product(batch, length, "the batch"),
                   .capacity = length,
                   .carries = model->config.carry_state};
    pass->mlp = (MlpSizes){model->activation, pass->rows, model->config.dim, model->config.ffn};
    real **tables = memory_take(3 * places + layers, sizeof *tables, "the layers");
    pass->mixer = memory_take(layers, sizeof *pass->mixer, "the layers");
    pass->stream = tables;
    pass->mean = pass->stream + places;
    pass->rstd = pass->mean + places;
    pass->inner = pass->rstd + places;
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
    gemm_lend(NULL, 0);
    free(pass->stream);
    free(pass->mixer);
    arena_free(&pass->own);
    *pass = (Pass){0};
}

/* Allocates `period` buffers and cycles through them: table[i] = table[i - period]. */
static void lay_out_each(real **table, size_t count, size_t period, size_t reals, Arena *arena)
{
    for (size_t i = 0; i < count; i++)
        table[i] = i < period ? arena_reals(arena, reals) : table[i - period];
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Maximum over layers, which may be of different attention kinds. */
static size_t most_of_layers(const Pass *pass, MixerPart part)
{
    size_t needed = 0;
    for (size_t layer = 0; layer < pass->model->config.layers; layer++)
        needed = most(needed, mixer_part_reals(pass, layer, part));
    return needed;
}

static void lay_out_mixers(Pass *pass, Arena *arena)
{
    for (MixerPart part = 0; part < MIXER_PARTS; part++) {
        bool shared = pass->use != PASS_TRAIN;
        real *common = shared ? arena_reals(arena, most_of_layers(pass, part)) : NULL;
        for (size_t layer = 0; layer < pass->model->config.layers; layer++) {
            size_t reals = mixer_part_reals(pass, layer, part);
            real *own = shared || reals == 0 ? common : arena_reals(arena, reals);
            pass->mixer[layer].part[part] = reals ? own : NULL;
        }
    }
}

/* Tokens before the batch; layers do not share their cache lines. */
static size_t ngram_state_reals(const Pass *pass)
{
    return memory_whole_lines((pass->model->config.ngrams - 1) * pass->batch);
}

static void lay_out_states(Pass *pass, Arena *arena)
{
    size_t layers = pass->model->config.layers, first = ngram_state_reals(pass);
    pass->states_reals = first;
    for (size_t layer = 0; layer < layers; layer++)
        pass->states_reals += mixer_state_reals(pass, layer);
    pass->states = arena_reals(arena, pass->states_reals);
    pass->begun = pass->use == PASS_EVALUATE ? NULL : arena_reals(arena, pass->states_reals);
    for (size_t layer = 0; layer < layers; layer++) {
        Mixer *mixer = &pass->mixer[layer];
        mixer->state = pass->states + first;
        mixer->begun = pass->begun ? pass->begun + first : NULL;
        first += mixer_state_reals(pass, layer);
    }
}

/* The widest layers' products. */
static size_t products_reals(const Pass *pass)
{
    return most(linear_products_reals(pass->rows, pass->mlp.width, 3 * pass->mlp.width),
                mlp_products_reals(&pass->mlp));
}

/* Scratch memory of the layers and of the head overlaps, since they never run at the same
 * time. */
static void lay_out_scratch(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    bool evaluating = pass->use == PASS_EVALUATE;
    size_t rows = pass->rows, width = config->dim, start = arena->used;
    size_t dqkv = evaluating ? 0 : memory_product(rows, 3 * width, "the batch");
    pass->wide = arena_reals(arena, most(mlp_active_reals(&pass->mlp), dqkv));
    pass->scratch_reals = most(most_of_layers(pass, MIXER_SCRATCH), products_reals(pass));
    pass->scratch = arena_reals(arena, pass->scratch_reals);
    if (!evaluating) {
        pass->dgates = arena_reals(arena, most_of_layers(pass, MIXER_GATES));
        pass->dhidden = arena_reals(arena, most_of_layers(pass, MIXER_HIDDEN));
    }
    size_t layers_end = arena->used;
    arena->used = start;
    HeadSizes head = {rows, width, config->vocabulary, (real)config->logit_cap};
    size_t of_teacher = pass->teacher ? pass->teacher->model->config.dim : 0;
    pass->head_scratch = arena_reals(arena, head_scratch_reals(head, of_teacher));
    arena->used = most(arena->used, layers_end);
}

static void lay_out_scored(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    ScoredRows *scored = &pass->scored;
    scored->rows = arena_bytes(arena, pass->rows, sizeof *scored->rows);
    scored->targets = arena_bytes(arena, pass->rows, sizeof *scored->targets);
    scored->losses = arena_reals(arena, pass->rows);
    if (config->head_bias != HEAD_BIAS_NO && pass->use == PASS_EVALUATE)
        pass->cooled_bias = arena_reals(arena, config->vocabulary);
}

/* Fills the position tables for positions from `first` on. */
static void fill_position_tables(Pass *pass, size_t first)
{
    const ModelConfig *config = &pass->model->config;
    size_t width = config->dim, head = config_head_width(config);
    size_t pairs = config_rotating_pairs(config);
    for (size_t t = 0; t < pass->length; t++) {
        if (pass->position_rows)
            embedding_sinusoids(pass->position_rows + t * width, first + t, width);
        if (pass->angles)
            rotary_row(pass->angles + t * head, first + t, head, pairs, config->rope_base);
    }
}

/* Evaluation needs two states at a time; a parallel residual shares those at odd places. */
static void lay_out_stream(Pass *pass, size_t reals, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    for (size_t place = 0; place < 2 * config->layers + 1; place++) {
        bool shared = pass->use == PASS_EVALUATE || (config->parallel && place % 2);
        pass->stream[place] = shared && place > 1 ? pass->stream[place - 2]
                                                  : arena_reals(arena, reals);
    }
}

void pass_layout(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    size_t rows = pass->rows, width = config->dim, layers = config->layers;
    size_t stream = memory_product(rows, width, "the batch");
    bool evaluating = pass->use == PASS_EVALUATE;
    size_t places = 2 * layers + 1, kept_layers = pass->use == PASS_TRAIN ? layers : 1;
    lay_out_stream(pass, stream, arena);
    pass->dstream =
        pass->stream[2 * layers]; /* shares the buffer: the last norm overwrites its input */
    if (!config->rms_norm)
        lay_out_each(pass->mean, places, evaluating ? 1 : places, rows, arena);
    lay_out_each(pass->rstd, places, evaluating ? 1 : places, rows, arena);
    lay_out_each(pass->inner, layers, kept_layers, mlp_hidden_reals(&pass->mlp), arena);
    lay_out_mixers(pass, arena);
    if (pass->decoding || pass->carries)
        lay_out_states(pass, arena);
    pass->input = arena_reals(arena, stream);
    pass->branch = arena_reals(arena, stream);
    pass->row_loss = arena_reals(arena, rows);
    lay_out_scored(pass, arena);
    if (pass->teacher)
        pass->counts = arena_bytes(arena, rows, sizeof *pass->counts);
    if (config->value_residual) {
        pass->first_values = arena_reals(arena, stream);
        pass->dfirst_values = evaluating ? NULL : arena_reals(arena, stream);
    }
    pass->slots = arena_bytes(arena, (config->ngrams - 1) * rows, sizeof *pass->slots);
    if (config->positions == POSITIONS_SINUSOIDAL)
        pass->position_rows = arena_reals(arena, pass->length * width);
    if (config->positions == POSITIONS_ROTARY)
        pass->angles = arena_reals(arena, pass->length * config_head_width(config));
    lay_out_scratch(pass, arena);
    fill_position_tables(pass, 0); /* none while measuring */
}

void pass_allocate(Pass *pass, const char *what)
{
    pass_layout(pass, &pass->own);
    arena_allocate(&pass->own, what);
    pass_layout(pass, &pass->own);
}

void pass_restart(Pass *pass)
{
    vector_zero(pass->states, pass->states_reals);
    pass_move(pass, 0);
}

void pass_advance(Pass *pass)
{
    pass_move(pass, pass->position + pass->length);
}

void pass_move(Pass *pass, size_t position)
{
    pass->position = position;
    fill_position_tables(pass, position);
}
