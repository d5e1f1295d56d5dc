/* Exports a model as a GGUF file for llama.cpp.
 *
 * Three of llama.cpp's architectures have blocks that linnet can make:
 *
 *   gpt2      LayerNorm, GELU, a table of positions (sinusoidal ones, and none, are written as
 *             if learned)
 *   gptneox   LayerNorm, GELU, RoPE, sequential or parallel residual
 *   llama     RMSNorm, SwiGLU, RoPE of all features
 *
 * Biases that an architecture requires and the model lacks are written as zeros. RoPE pairs
 * features (i, i + D/2) here, of which the first n pairs rotate. gptneox rotates features
 * (i, i + n), llama (2i, 2i + 1): rows of queries and keys are put in that order, which leaves
 * their dot products the same. */
#include "models/exchange/forms.h"
#include "models/exchange/gguf_file.h"
#include "models/exchange/exchange.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tensors --- */

enum { STEM = GGUF_NAME - 16 }; /* of a name, before ".weight" */

typedef struct Builder {
    Gguf gguf;
    const Model *model;
    const LlamaCppArchitecture *is;
    real *positions; /* (context, C) if the model does not learn them */
    size_t *order;   /* (3C) the outputs of c_attn in the order of the file */
} Builder;

/* Feature j of a head in the file is this one here. */
static size_t feature_here(const LlamaCppArchitecture *is, size_t j, size_t pairs, size_t width)
{
    size_t half = width / 2;
    if (is->splits)
        return j / 2 + j % 2 * half;
    if (j < pairs || j >= pairs + half)
        return j;
    return j < 2 * pairs ? half + j - pairs : j - pairs;
}

static size_t *attention_order(const LlamaCppArchitecture *is, const ModelConfig *config)
{
    size_t width = config_head_width(config), pairs = config_rotating_pairs(config);
    size_t *order = memory_take(3 * config->dim, sizeof *order, "the order of rows");
    for (size_t i = 0; i < 3 * config->dim; i++) {
        bool turns = is->rotary && i < 2 * config->dim;
        order[i] = turns ? i - i % width + feature_here(is, i % width, pairs, width) : i;
    }
    return order;
}

static void add_tensor(Builder *b, GgufTensor tensor, const char *name, const char *part)
{
    snprintf(tensor.name, sizeof tensor.name, "%s%s", name, part);
    gguf_add_tensor(&b->gguf, &tensor);
}

static void add_bias(Builder *b, const char *name, const real *bias, size_t count,
                     const size_t *order)
{
    GgufTensor tensor = {.columns = count, .at = bias, .column_step = 1, .order = order};
    if (bias || b->is->needs_biases)
        add_tensor(b, tensor, name, ".bias");
}

static void add_norm(Builder *b, const char *name, const Affine *norm)
{
    size_t width = b->model->config.dim;
    GgufTensor gain = {.columns = width, .at = norm->weight, .column_step = 1};
    add_tensor(b, gain, name, ".weight");
    add_bias(b, name, norm->bias, width, NULL);
}

/* A table with a row for each token or position. */
static void add_table(Builder *b, const char *name, const real *at, size_t rows)
{
    size_t width = b->model->config.dim;
    GgufTensor table = {
        .rows = rows, .columns = width, .at = at, .row_step = width, .column_step = 1};
    add_tensor(b, table, name, ".weight");
}

/* A linear layer, or `count` of its outputs. */
typedef struct Outputs {
    size_t all, first, count;
    const size_t *order;
} Outputs;

static void add_linear(Builder *b, size_t layer, const char *name, const Affine *linear,
                       size_t inputs, Outputs outputs)
{
    char whole[STEM];
    GgufTensor weight = {.rows = outputs.count,
                         .columns = inputs,
                         .at = linear->weight + outputs.first,
                         .row_step = 1,
                         .column_step = outputs.all,
                         .order = outputs.order};
    const real *bias = linear->bias ? linear->bias + outputs.first : NULL;
    snprintf(whole, sizeof whole, "blk.%zu.%s", layer, name);
    add_tensor(b, weight, whole, ".weight");
    add_bias(b, whole, bias, outputs.count, outputs.order);
}

static void add_inputs(Builder *b, size_t layer, const BlockParams *h)
{
    size_t width = b->model->config.dim, inner = b->model->config.ffn;
    if (!b->is->splits) {
        add_linear(b, layer, "attn_qkv", &h->c_attn, width,
                   (Outputs){3 * width, 0, 3 * width, b->order});
        add_linear(b, layer, "ffn_up", &h->c_fc, width, (Outputs){inner, 0, inner, NULL});
        return;
    }
    add_linear(b, layer, "attn_q", &h->c_attn, width, (Outputs){3 * width, 0, width, b->order});
    add_linear(b, layer, "attn_k", &h->c_attn, width,
               (Outputs){3 * width, width, width, b->order});
    add_linear(b, layer, "attn_v", &h->c_attn, width,
               (Outputs){3 * width, 2 * width, width, NULL});
    add_linear(b, layer, "ffn_gate", &h->c_fc, width, (Outputs){2 * inner, 0, inner, NULL});
    add_linear(b, layer, "ffn_up", &h->c_fc, width, (Outputs){2 * inner, inner, inner, NULL});
}

static void add_block(Builder *b, size_t layer)
{
    const BlockParams *h = &b->model->at.h[layer];
    size_t width = b->model->config.dim, inner = b->model->config.ffn;
    char name[STEM];
    snprintf(name, sizeof name, "blk.%zu.attn_norm", layer);
    add_norm(b, name, &h->ln_1);
    snprintf(name, sizeof name, "blk.%zu.ffn_norm", layer);
    add_norm(b, name, &h->ln_2);
    add_inputs(b, layer, h);
    add_linear(b, layer, "attn_output", &h->attn_proj, width, (Outputs){width, 0, width, NULL});
    add_linear(b, layer, "ffn_down", &h->mlp_proj, inner, (Outputs){width, 0, width, NULL});
}

static void add_tensors(Builder *b)
{
    const ModelConfig *config = &b->model->config;
    const Params *at = &b->model->at;
    add_table(b, "token_embd", at->wte, config->vocabulary);
    if (!b->is->rotary)
        add_table(b, "position_embd", at->wpe ? at->wpe : b->positions, config->context);
    for (size_t layer = 0; layer < config->layers; layer++)
        add_block(b, layer);
    add_norm(b, "output_norm", &at->ln_f);
    if (!config->tied || b->is->needs_head)
        add_table(b, "output", config->tied ? at->wte : at->head_weight, config->vocabulary);
}

/* --- keys and values --- */

static void add_general(Gguf *gguf, const LlamaCppArchitecture *is, const LoadedModel *loaded)
{
    enum { ALL_F32 = 0, ALIGNMENT = 32 };
    char *name = text_format("linnet, %zu parameters", loaded->model.table.parameters);
    gguf_add_text(gguf, "general.architecture", is->name);
    gguf_add_text(gguf, "general.type", "model");
    gguf_add_text(gguf, "general.name", name);
    gguf_add_count(gguf, "general.file_type", ALL_F32);
    gguf_add_count(gguf, "general.alignment", ALIGNMENT);
    gguf_add_text(gguf, "linnet.version", LINNET_VERSION);
    gguf_add_text(gguf, "linnet.settings",
                  safetensors_metadata(&loaded->checkpoint.file, "settings"));
    free(name);
}

static void add_sizes(Gguf *gguf, const LlamaCppArchitecture *is, const ModelConfig *config)
{
    const struct {
        const char *key;
        size_t value;
    } sizes[] = {{"vocab_size", config->vocabulary},
                 {"context_length", config->context},
                 {"embedding_length", config->dim},
                 {"feed_forward_length", config->ffn},
                 {"block_count", config->layers},
                 {"attention.head_count", config->heads},
                 {"attention.head_count_kv", config->heads},
                 {"rope.dimension_count", 2 * config_rotating_pairs(config)}};
    char key[GGUF_NAME];
#define KEY(word) (snprintf(key, sizeof key, "%s.%s", is->name, word), key)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (is->rotary || strcmp(sizes[i].key, "rope.dimension_count") != 0)
            gguf_add_count(gguf, KEY(sizes[i].key), sizes[i].value);
    gguf_add_number(
        gguf,
        KEY(is->rms_norm ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"),
        config->norm_eps);
    if (is->rotary)
        gguf_add_number(gguf, KEY("rope.freq_base"), config->rope_base);
    if (is->parallel)
        gguf_add_flag(gguf, KEY("use_parallel_residual"), config->parallel);
#undef KEY
}

/* --- the file --- */

static void append_summary(char **said, const LoadedModel *loaded,
                           const LlamaCppArchitecture *is, size_t size, bool has_tokens)
{
    text_append(said, "  %-24s %9.1f kB\n", is->name, (double)size / 1e3);
    if (!has_tokens)
        text_append(said,
                    "llama.cpp has no %s tokenizer, so the file contains none: give it token "
                    "ids.\n",
                    loaded->checkpoint.vocabulary.tokenizer->name);
}

bool export_gguf(const LoadedModel *loaded, const char *path, char **said, Error *error)
{
    const ModelConfig *config = &loaded->model.config;
    Error lacks;
    const LlamaCppArchitecture *is = exchange_llama_cpp(config, &lacks);
    if (!is)
        return error_set(error, "%s: llama.cpp has no %s", loaded->checkpoint.file.path,
                         lacks.text);
    if (file_exists(path))
        return error_set(error, "%s: there is a file already; name a new one", path);
    Builder b = {.model = &loaded->model,
                 .is = is,
                 .positions = export_fixed_positions(config),
                 .order = attention_order(is, config)};
    add_general(&b.gguf, is, loaded);
    add_sizes(&b.gguf, is, config);
    bool has_tokens = gguf_add_vocabulary(&b.gguf, &loaded->checkpoint.vocabulary);
    add_tensors(&b);
    size_t size;
    bool good = gguf_write(&b.gguf, path, &size, error);
    if (good)
        append_summary(said, loaded, is, size, has_tokens);
    gguf_free(&b.gguf);
    free(b.positions);
    free(b.order);
    return good;
}
