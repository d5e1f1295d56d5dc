/* Copies weights and starts new parts; adopt.h says how. */
#include "models/adopt.h"
#include "src/layers/gates.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_named(const ParamRow *row, const char *name)
{
    return strcmp(row->name, name) == 0;
}

static bool load(real *to, const Checkpoint *from, const ParamRow *source, Error *error)
{
    return safetensors_load(&from->file, source->name, TENSOR_REAL, source->rank, source->shape,
                            to, error);
}

/* --- rows of tokens and positions --- */

/* The mean of the rows. */
static void mean_row(double *mean, const real *rows, size_t count, size_t width)
{
    for (size_t row = 0; row < count; row++)
        for (size_t i = 0; i < width; i++)
            mean[i] += (double)rows[row * width + i] / (double)count;
}

/* Rows of known tokens are copied; the mean is added to the initial values of the others. */
static void map_rows(real *to, const real *rows, size_t count, size_t width, const int32_t *ids,
                     size_t tokens)
{
    assert(ids);
    double *mean = memory_take(width, sizeof *mean, "the mean of the embeddings");
    mean_row(mean, rows, count, width);
    for (size_t token = 0; token < tokens; token++) {
        real *row = to + token * width;
        if (ids[token] != TOKEN_NONE)
            memcpy(row, rows + (size_t)ids[token] * width, width * sizeof *row);
        for (size_t i = 0; ids[token] == TOKEN_NONE && i < width; i++)
            row[i] += (real)mean[i];
    }
    free(mean);
}

/* A bias that starts from token frequencies keeps those for new tokens. */
static void map_bias(real *to, const real *bias, const int32_t *ids, size_t tokens)
{
    assert(ids);
    for (size_t token = 0; token < tokens; token++)
        if (ids[token] != TOKEN_NONE)
            to[token] = bias[ids[token]];
}

static bool is_of_tokens(const ParamRow *row)
{
    return is_named(row, "wte.weight") || is_named(row, "lm_head.weight") ||
           is_named(row, "lm_head.bias");
}

/* Tensors with a row for each token or position, of which the model has others. */
static bool take_rows(Model *model, const ParamRow *row, const Checkpoint *from,
                      const ParamRow *source, const int32_t *ids, Error *error)
{
    real *rows = memory_take(source->count, sizeof *rows, source->name);
    real *to = model->base + row->offset;
    bool good = load(rows, from, source, error);
    size_t width = row->rank == 2 ? row->shape[1] : 1, count = source->shape[0];
    bool unigram = is_named(row, "lm_head.bias") &&
                   model->config.head_bias == HEAD_BIAS_UNIGRAM;
    if (good && unigram)
        map_bias(to, rows, ids, row->count);
    else if (good && is_of_tokens(row))
        map_rows(to, rows, count, width, ids, row->shape[0]);
    else if (good) /* positions */
        memcpy(to, rows,
               (row->count < source->count ? row->count : source->count) * sizeof *to);
    free(rows);
    return good;
}

/* --- output gates --- */

/* A gate is silu(z), and silu of this is 1. */
#define OPEN 1.2784645427610738

/* Shifts the input u of the projections by `shift` (C), and their biases so that their outputs
 * stay. */
static void take_back(real *bias, const real *weight, const double *shift, size_t in,
                      size_t out)
{
    for (size_t i = 0; i < in; i++)
        for (size_t j = 0; j < out; j++)
            bias[j] -= (real)(shift[i] * (double)weight[i * out + j]);
}

/* The gates of an attention kind, which may have a bottleneck. */
static void take_back_gates(const BlockParams *h, const double *shift, const ParamRow *row,
                            size_t width)
{
    size_t in = row->shape[0], gates = row->shape[1];
    if (!h->gate_in) {
        take_back(h->gates.bias, h->gates.weight, shift, in, gates);
        return;
    }
    double *hidden = memory_take(in, sizeof *hidden, "the gates");
    for (size_t i = 0; i < width; i++)
        for (size_t j = 0; j < in; j++)
            hidden[j] += shift[i] * (double)h->gate_in[i * in + j];
    take_back(h->gates.bias, h->gates.weight, hidden, in, gates);
    free(hidden);
}

/* The mean of b/g. */
static double mean_ratio(const Affine *norm, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)norm->bias[i] / (double)norm->weight[i];
    return sum / (double)width;
}

/* Makes every output gate of a layer 1. If the mean of b/g is small, it becomes 1 first, by the
 * channels that head gates do not read: these have no bias to take a shift back. */
static void open_gate(Model *model, size_t layer)
{
    const BlockParams *h = &model->at.h[layer];
    size_t width = model->config.dim;
    size_t first = model->config.head_gate ? headgate_channels(width) : 0;
    double mean = mean_ratio(&h->ln_1, width);
    double rise = fabs(mean) < 1 ? (1 - mean) * (double)width / (double)(width - first) : 0;
    double *shift = memory_take(width, sizeof *shift, "the output gate");
    for (size_t i = first; i < width; i++) {
        real old = h->ln_1.bias[i];
        h->ln_1.bias[i] += (real)(rise * (double)h->ln_1.weight[i]);
        shift[i] = (double)h->ln_1.bias[i] - (double)old; /* as rounded */
    }
    take_back(h->c_attn.bias, h->c_attn.weight, shift, width, 3 * width);
    char name[64];
    snprintf(name, sizeof name, "h.%zu.attn.gate.weight", layer);
    const ParamRow *gates = param_table_find(&model->table, name);
    if (gates)
        take_back_gates(h, shift, gates, width);
    mean = mean_ratio(&h->ln_1, width);
    for (size_t i = 0; i < width * width; i++)
        h->out_gate[i] = (real)(OPEN /
                                ((double)width * mean * (double)h->ln_1.weight[i / width]));
    free(shift);
}

/* Whether a layer has an output gate that is to start open. */
static bool opens(const ModelConfig *config, const Checkpoint *from, size_t layer)
{
    return adopt_opens_gates(config) && config_gates_output(config, layer) &&
           !config_gates_output(&from->config, layer);
}

static void open_new_gates(Model *model, const Checkpoint *from)
{
    for (size_t layer = 0; layer < model->config.layers; layer++)
        if (opens(&model->config, from, layer))
            open_gate(model, layer);
}

/* --- all --- */

/* What a part that the checkpoint lacks starts with; gates wait for the other weights. */
static void start_part(Model *model, const ParamRow *row, const Checkpoint *from)
{
    const AdoptPart *part = adopt_part(row->name);
    bool gate = part && part->start == START_OPEN;
    if (!gate && adopt_is_neutral(row, &model->config, from))
        memset(model->base + row->offset, 0, row->count * sizeof(real));
}

bool adopt_weights(Model *model, const Checkpoint *from, const int32_t *ids, Error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        const ParamRow *source = adopt_source(row, &model->config, from);
        if (ids && is_named(row, "ngrams.weight")) /* of other tokens */
            source = NULL;
        if (!source && is_named(row, "lm_head.weight"))
            source = param_table_find(&from->table, "wte.weight");
        if (!source)
            start_part(model, row, from);
        else if ((ids && is_of_tokens(row)) || is_named(row, "wpe.weight"))
            good = take_rows(model, row, from, source, ids, error);
        else
            good = load(model->base + row->offset, from, source, error);
    }
    if (good)
        open_new_gates(model, from);
    return good;
}

/* An output gate divides by the gains of the norm before it. */
static bool check_gains(const ModelConfig *config, const Checkpoint *from, const ParamRow *row,
                        const real *values, Error *error)
{
    const char *ending = ".ln_1.weight";
    if (!text_ends_in(row->name, ending) || !opens(config, from, row->layer))
        return true;
    for (size_t i = 0; i < row->count; i++)
        if (values[i] == 0)
            return error_usage(error,
                               "%s: %s has a gain of 0, so an output gate cannot start without "
                               "effect; leave --out-gate out",
                               from->file.path, row->name);
    return true;
}

bool adopt_verify(const ModelConfig *config, const Checkpoint *from, Error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < from->table.count; i++) {
        const ParamRow *row = &from->table.rows[i];
        real *values = memory_take(row->count, sizeof *values, row->name);
        good = load(values, from, row, error) && check_gains(config, from, row, values, error);
        free(values);
    }
    return good;
}
