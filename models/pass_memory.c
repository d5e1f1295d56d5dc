/* Where a pass keeps its numbers. */
#include "models/pass.h"
#include "src/layers/embedding.h"
#include "src/layers/head.h"
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
                   .capacity = length};
    real **tables = memory_take(3 * places + 4 * layers, sizeof *tables, "the layers");
    pass->stream = tables;
    pass->mean = pass->stream + places;
    pass->rstd = pass->mean + places;
    pass->qkv = pass->rstd + places;
    pass->attended = pass->qkv + layers;
    pass->saved = pass->attended + layers;
    pass->inner = pass->saved + layers;
}

void pass_make_decoder(Pass *pass, const Model *model, size_t batch, size_t capacity)
{
    pass_make(pass, model, batch, 1, PASS_EVALUATE);
    pass->capacity = capacity;
    AttentionSizes sizes = {.batch = batch,
                            .length = capacity,
                            .heads = model->config.heads,
                            .width = config_head_width(&model->config)};
    pass->state_reals = attention_state_reals(model->kind, &sizes);
}

void pass_free(Pass *pass)
{
    free(pass->stream);
    *pass = (Pass){0};
}

/* Memory for each place of a table, or for `period` of them, in turn, if the others may forget:
 * table[i] = table[i - period]. */
static void lay_out_each(real **table, size_t count, size_t period, size_t reals, Arena *arena)
{
    for (size_t i = 0; i < count; i++)
        table[i] = i < period ? arena_reals(arena, reals) : table[i - period];
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* What the layers use while they work, forward and backward, the head does not need while it
 * works, and the other way round. */
static void lay_out_scratch(Pass *pass, const AttentionSizes *sizes, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    bool evaluating = pass->use == PASS_EVALUATE;
    size_t rows = pass->rows, width = config->dim, start = arena->used;
    size_t wide = evaluating ? config->ffn : most(config->ffn, 3 * width);
    pass->wide = arena_reals(arena, rows * wide);
    pass->attention_scratch = arena_reals(arena,
                                          attention_scratch_reals(pass->model->kind, sizes));
    size_t layers_end = arena->used;
    arena->used = start;
    HeadSizes head = {rows, width, config->vocabulary};
    pass->head_scratch = arena_reals(arena, head_scratch_reals(head));
    arena->used = most(arena->used, layers_end);
}

void pass_layout(Pass *pass, Arena *arena)
{
    const ModelConfig *config = &pass->model->config;
    size_t rows = pass->rows, width = config->dim, layers = config->layers;
    AttentionSizes sizes = {.batch = pass->batch,
                            .length = pass->capacity,
                            .heads = config->heads,
                            .width = config_head_width(config),
                            .rotary = NULL};
    size_t stream = memory_product(rows, width, "the batch");
    size_t inner = memory_product(rows, pass->model->activation->inputs * config->ffn,
                                  "the batch");
    bool evaluating = pass->use == PASS_EVALUATE;
    size_t places = 2 * layers + 1, kept_layers = pass->use == PASS_TRAIN ? layers : 1;
    lay_out_each(pass->stream, places, evaluating ? 2 : places, stream, arena);
    pass->dstream =
        pass->stream[2 * layers]; /* the last norm's input gives way to its gradient */
    lay_out_each(pass->mean, places, evaluating ? 1 : places, rows, arena);
    lay_out_each(pass->rstd, places, evaluating ? 1 : places, rows, arena);
    lay_out_each(pass->qkv, layers, kept_layers, 3 * stream, arena);
    lay_out_each(pass->attended, layers, kept_layers, stream, arena);
    lay_out_each(pass->inner, layers, kept_layers, inner, arena);
    if (!pass->state_reals)
        lay_out_each(pass->saved, layers, kept_layers,
                     attention_saved_reals(pass->model->kind, &sizes), arena);
    pass->states = arena_reals(arena, layers * pass->state_reals);
    pass->input = arena_reals(arena, stream);
    pass->branch = arena_reals(arena, stream);
    pass->row_loss = arena_reals(arena, rows);
    if (config->positions == POSITIONS_SINUSOIDAL)
        pass->position_rows = arena_reals(arena, pass->length * width);
    if (config->positions == POSITIONS_ROTARY)
        pass->angles = arena_reals(arena, pass->length * config_head_width(config));
    lay_out_scratch(pass, &sizes, arena);
}

/* Rows of the tables for the positions from `first` on. */
static void fill_position_tables(Pass *pass, size_t first)
{
    size_t width = pass->model->config.dim, head = config_head_width(&pass->model->config);
    for (size_t t = 0; t < pass->length; t++) {
        if (pass->position_rows)
            embedding_sinusoids(pass->position_rows + t * width, first + t, width);
        if (pass->angles)
            rotary_row(pass->angles + t * head, first + t, head);
    }
}

void pass_prepare(Pass *pass)
{
    fill_position_tables(pass, 0);
}

void pass_restart(Pass *pass)
{
    vector_zero(pass->states, pass->model->config.layers * pass->state_reals);
    pass->position = 0;
    fill_position_tables(pass, 0);
}

void pass_advance(Pass *pass)
{
    pass->position++;
    fill_position_tables(pass, pass->position);
}
