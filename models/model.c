#include "models/model.h"
#include "src/base/containers.h"
#include "src/layers/gates.h"
#include "src/math/random.h"
#include "src/math/vector.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct Visitor {
    ParamTable *table; /* to which rows are added; NULL: none */
    real *base;        /* the buffer (table->total) that fields are pointed into, or NULL */
    size_t layer;      /* of the next tensor, */
    size_t offset;     /* and its offset */
} Visitor;

/* Tensors are described by a row without shape, name and place. */
static const ParamRow gain = {.init_mean = 1}, half = {.init_mean = (real)0.5}, zeros = {0},
                      matrix = {.init_std = 0.02, .has_weight_decay = true},
                      embedding = {.init_std = 0.02,
                                   .has_weight_decay = true,
                                   .is_embedding = true},
                      ngrams = {.has_weight_decay = true};

static void tensor(Visitor *visitor, real **field, ParamRow row, size_t rows, size_t columns,
                   const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Visits one tensor: (rows, columns), or a vector if columns is 0. */
static void tensor(Visitor *visitor, real **field, ParamRow row, size_t rows, size_t columns,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(row.name, sizeof row.name, format, args);
    va_end(args);
    row.shape[0] = rows;
    row.shape[1] = columns;
    row.rank = columns ? 2 : 1;
    row.count = columns ? memory_product(rows, columns, row.name) : rows;
    row.layer = visitor->layer;
    row.offset = visitor->offset;
    if (visitor->table)
        arrput(visitor->table->rows, row);
    *field = visitor->base ? visitor->base + row.offset : NULL;
    visitor->offset += memory_whole_lines(row.count);
}

static void norm(Visitor *visitor, Affine *affine, const ModelConfig *config, const char *name)
{
    tensor(visitor, &affine->weight, gain, config->dim, 0, "%s.weight", name);
    if (config->bias && !config->rms_norm)
        tensor(visitor, &affine->bias, zeros, config->dim, 0, "%s.bias", name);
}

static void linear(Visitor *visitor, Affine *affine, const ModelConfig *config, double init_std,
                   size_t in, size_t out, size_t parts, size_t part_columns, const char *name)
{
    ParamRow weight = {.init_std = init_std,
                       .has_weight_decay = true,
                       .parts = parts,
                       .part_columns = part_columns};
    tensor(visitor, &affine->weight, weight, in, out, "%s.weight", name);
    if (config->bias)
        tensor(visitor, &affine->bias, zeros, out, 0, "%s.bias", name);
}

/* A projection of the layer's input, perhaps with a low rank. */
static void projection(Visitor *visitor, Projection *to, ParamRow weight, const ParamRow *bias,
                       size_t in, size_t rank, size_t out, const char *name)
{
    const size_t layer = visitor->layer;
    if (out == 0)
        return;
    if (rank)
        tensor(visitor, &to->low, matrix, in, rank, "h.%zu.attn.%s_in.weight", layer, name);
    tensor(visitor, &to->out.weight, weight, rank ? rank : in, out, "h.%zu.attn.%s.weight",
           layer, name);
    if (bias)
        tensor(visitor, &to->out.bias, *bias, out, 0, "h.%zu.attn.%s.bias", layer, name);
}

static void gate_layer(Visitor *visitor, Projection *to, const GateLayer *layer,
                       const AttentionHead *head, size_t in, const char *name)
{
    projection(visitor, to, matrix, &(ParamRow){.start_head = layer->start}, in,
               attention_count(&layer->low.rank, head),
               head->heads * attention_count(&layer->count, head), name);
}

/* Parameters of the attention kind of a layer, and of the optional parts around it. */
static void mixer(Visitor *visitor, BlockParams *h, const ModelConfig *config, size_t layer)
{
    enum { NAME = 48 };
    const AttentionSizes sizes = config_attention_sizes(config, layer);
    const AttentionKind *kind = sizes.kind;
    const AttentionHead head = attention_head(&sizes, 0);
    const bool residual = config->convolution == CONVOLUTION_RESIDUAL;
    const bool gates_output = config_gates_output(config, layer);
    const ParamRow taps = {.init_std = residual ? 0 : 0.3};
    const ParamRow shares = {.powers = head.parts->token_shift};
    const ParamRow of_kind = {.start_head = kind->start_params,
                              .is_random_feature = kind->params_random};
    const ParamRow head_gain = {
        .init_mean = (real)pow((double)(layer + 1) / (double)config->layers,
                               head.parts->norm_power)};
    const size_t width = config->dim, S = head.stride, O = head.out_stride;
    const size_t param_count = attention_param_count(&sizes);
    const ParamRow whole = {
        .init_std = 0.02, .has_weight_decay = true, .parts = 1, .part_columns = O};
    char name[NAME];
    snprintf(name, sizeof name, "h.%zu.attn", layer);
    if (head.parts->token_shift)
        tensor(visitor, &h->token_shift, shares, gates_output ? SHIFTS : SHIFT_Z, width,
               "%s.token_shift", name);
    if (config_convolves(config, layer))
        tensor(visitor, &h->convolution.weight, taps, CONVOLUTION_TAPS, S, "%s.conv.weight",
               name);
    if (config_convolves(config, layer) && head.parts->convolution_bias)
        tensor(visitor, &h->convolution.bias, taps, S, 0, "%s.conv.bias", name);
    gate_layer(visitor, &h->gates, &kind->gates, &head, width, "gate");
    gate_layer(visitor, &h->rates, &kind->rates, &head, width, "rate");
    if (param_count)
        tensor(visitor, &h->kind_params, of_kind, config->heads, param_count / config->heads,
               "%s.own", name);
    if (config_norms_heads(config, layer))
        tensor(visitor, &h->head_norm.weight, head_gain, O, 0, "%s.norm.weight", name);
    if (config_norms_heads(config, layer) && head.parts->group_norm)
        tensor(visitor, &h->head_norm.bias, zeros, O, 0, "%s.norm.bias", name);
    if (config_norms_queries(config, layer))
        tensor(visitor, &h->qk_gain, gain, 2 * head.key_heads, 0, "%s.qk_norm.weight", name);
    if (config_mixes_values(config, layer) && attention_has(&head.parts->value_mix.count))
        gate_layer(visitor, &h->mix_gate, &head.parts->value_mix, &head, width, "mix_gate");
    else if (config_mixes_values(config, layer))
        tensor(visitor, &h->value_mix, half, 1, 0, "%s.value_mix", name);
    if (gates_output)
        projection(visitor, &h->out_gate, whole, head.parts->out_gate.bias ? &zeros : NULL,
                   width, attention_count(&head.parts->out_gate.low.rank, &head), O,
                   "out_gate");
    if (config->head_gate)
        tensor(visitor, &h->head_gate, zeros, headgate_channels(width), config->heads,
               "%s.head_gate.weight", name);
}

static void block(Visitor *visitor, BlockParams *h, const ModelConfig *config, size_t layer)
{
    enum { NAME = 48 };
    const double init_std = 0.02;
    /* Scaled so that the sum of 2L residual branches has the variance of one (GPT-2). */
    const double usual = init_std / sqrt(2.0 * (double)config->layers);
    const double branch = config->zero_init ? 0 : usual;
    const AttentionHead head = config_head(config, layer);
    const size_t width = config->dim, inner = config->ffn;
    const size_t gates = activation_find(config->activation)->inputs;
    char name[NAME];
#define NAMED(suffix) (snprintf(name, sizeof name, "h.%zu." suffix, layer), name)
    norm(visitor, &h->ln_1, config, NAMED("ln_1"));
    linear(visitor, &h->c_attn, config, init_std, width, head.stride, 2 + head.copies,
           head.key_heads * head.width, NAMED("attn.c_attn"));
    mixer(visitor, h, config, layer);
    linear(visitor, &h->attn_proj, config, branch, head.out_stride, width, 1, width,
           NAMED("attn.c_proj"));
    norm(visitor, &h->ln_2, config, NAMED("ln_2"));
    linear(visitor, &h->c_fc, config, init_std, width, gates * inner, gates, inner,
           NAMED("mlp.c_fc"));
    linear(visitor, &h->mlp_proj, config, branch, inner, width, 1, width, NAMED("mlp.c_proj"));
#undef NAMED
}

static void params_visit(Params *params, const ModelConfig *config, Visitor *visitor)
{
    size_t width = config->dim, vocabulary = config->vocabulary;
    tensor(visitor, &params->wte, embedding, vocabulary, width, "wte.weight");
    if (config->positions == POSITIONS_LEARNED)
        tensor(visitor, &params->wpe, embedding, config->context, width, "wpe.weight");
    if (config->ngrams > 1)
        tensor(visitor, &params->ngrams, ngrams, config->ngram_rows, width, "ngrams.weight");
    for (size_t layer = 0; layer < config->layers; layer++) {
        visitor->layer = layer;
        block(visitor, &params->h[layer], config, layer);
    }
    if (config->norm == NORM_PRE)
        norm(visitor, &params->ln_f, config, "ln_f");
    if (!config->tied)
        tensor(visitor, &params->head_weight, embedding, vocabulary, width, "lm_head.weight");
    if (config->head_bias)
        tensor(visitor, &params->head_bias, zeros, vocabulary, 0, "lm_head.bias");
}

void param_table_make(ParamTable *table, const ModelConfig *config)
{
    *table = (ParamTable){0};
    Params nowhere = {.h = memory_new(config->layers, sizeof *nowhere.h, "the layers")};
    Visitor visitor = {.table = table};
    params_visit(&nowhere, config, &visitor);
    free(nowhere.h);
    table->count = arrlenu(table->rows);
    table->total = visitor.offset;
    for (size_t i = 0; i < table->count; i++)
        table->parameters += table->rows[i].is_random_feature ? 0 : table->rows[i].count;
}

void param_table_free(ParamTable *table)
{
    arrfree(table->rows);
    *table = (ParamTable){0};
}

size_t param_count(const ModelConfig *config)
{
    ParamTable table;
    param_table_make(&table, config);
    size_t count = table.parameters;
    param_table_free(&table);
    return count;
}

/* Each column of the MLP has the same number of parameters. */
size_t param_match_ffn(const ModelConfig *config, size_t parameters)
{
    ModelConfig narrow = *config, wider = *config;
    narrow.ffn = 1;
    wider.ffn = 2;
    size_t least = param_count(&narrow), column = param_count(&wider) - least;
    return parameters + column <= least ? 0
                                        : (parameters + column - least + column / 2) / column;
}

const ParamRow *param_table_find(const ParamTable *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    return NULL;
}

void params_bind(Params *params, const ModelConfig *config, real *base)
{
    Visitor visitor = {.base = base};
    params_visit(params, config, &visitor);
}

/* The shares of a token shift, more of the position before in lower layers and features. */
static void start_shares(const ParamRow *row, const ModelConfig *config, real *shares)
{
    const double above = 1 - (double)row->layer / (double)config->layers;
    for (size_t i = 0; i < row->count; i++) {
        double feature = (double)(i % config->dim) / (double)config->dim;
        shares[i] = (real)(1 - pow(feature, row->powers[i / config->dim] * above));
    }
}

/* Initialises every head of a layer by its attention kind. */
static void start_heads(const ParamRow *row, const ModelConfig *config, real *values,
                        RandomKey key)
{
    AttentionSizes sizes = config_attention_sizes(config, row->layer);
    size_t per_head = row->count / config->heads;
    for (size_t i = 0; i < config->heads; i++) {
        AttentionHead head = attention_head(&sizes, i);
        row->start_head(values + i * per_head, &head, random_subkey(key, i));
    }
}

void params_initialise(const ParamTable *table, const ModelConfig *config, real *base,
                       uint64_t seed)
{
    for (size_t r = 0; r < table->count; r++) {
        const ParamRow *row = &table->rows[r];
        const RandomKey key = random_subkey(random_key(seed, RANDOM_INIT, 0), r);
        real *values = base + row->offset;
        if (row->start_head)
            start_heads(row, config, values, key);
        else if (row->powers)
            start_shares(row, config, values);
        else
            for (size_t i = 0; i < row->count; i++)
                values[i] = row->init_mean +
                            (row->init_std > 0 ? (real)(row->init_std * random_normal(key, i))
                                               : 0);
    }
}

void params_start_unigram(Params *params, const ModelConfig *config, Tokens ids, size_t count)
{
    size_t vocabulary = config->vocabulary;
    size_t *seen = memory_new(vocabulary, sizeof *seen, "the vocabulary");
    tokens_tally(ids, count, seen);
    for (size_t id = 0; id < vocabulary; id++) /* add-one smoothing */
        params->head_bias[id] = (real)log((double)(seen[id] + 1) /
                                          (double)(count + vocabulary));
    free(seen);
}

/* --- models --- */

void model_make(Model *model, const ModelConfig *config)
{
    *model = (Model){.config = *config, .activation = activation_find(config->activation)};
    param_table_make(&model->table, config);
    model->params.h = memory_new(config->layers, sizeof *model->params.h, "the layers");
}

void model_free(Model *model)
{
    param_table_free(&model->table);
    free(model->params.h);
    arena_free(&model->memory);
    *model = (Model){0};
}

bool model_is_endless(const Model *model)
{
    const ModelConfig *config = &model->config;
    for (size_t k = 0; k < config->attention.count; k++)
        if (!config_kind(config, k)->engine->finite_state)
            return false;
    return config->positions != POSITIONS_LEARNED;
}

void model_layout(Model *model, Arena *arena)
{
    model->base = arena_reals(arena, model->table.total);
    params_bind(&model->params, &model->config, model->base);
}

void model_allocate(Model *model)
{
    model_layout(model, &model->memory);
    arena_allocate(&model->memory, "the model");
    model_layout(model, &model->memory);
}
