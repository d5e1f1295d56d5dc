/* Exports a model as a GPT-2 for Python's transformers.
 *
 * linnet names and lays out tensors as GPT-2 does. The arithmetic must agree too, so models
 * that GPT-2 would compute differently are refused. Sinusoidal positions are written as if
 * learned. */
#include "eval/export/forms.h"
#include "src/layers/embedding.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

/* transformers' names of linnet's activations; its "gelu" is another formula. */
static const struct ActivationName {
    const char *here, *there;
} activation_names[] = {{"gelu", "gelu_new"}, {"relu", "relu"}, {"relu2", "relu2"}};

static const char *activation_there(const ModelConfig *config)
{
    const char *here = activation_name(config->activation);
    for (size_t i = 0; i < sizeof activation_names / sizeof *activation_names; i++)
        if (strcmp(activation_names[i].here, here) == 0)
            return activation_names[i].there;
    return NULL;
}

/* --- what GPT-2 lacks --- */

static bool refuse(Error *error, const char *what, const char *name)
{
    return error_set(error,
                     "GPT-2 in transformers has no %s%s; --plain writes the tensors and "
                     "settings for a program of your own",
                     what, name);
}

static bool check_layer(const ModelConfig *config, size_t layer, Error *error)
{
    const char *kind = config_kind(config, layer)->name;
    if (strcmp(kind, "softmax") != 0)
        return refuse(error, "attention of the kind ", kind);
    if (config_convolves(config, layer))
        return refuse(error, "convolution before the attention (--conv)", "");
    if (config_norms_heads(config, layer))
        return refuse(error, "norm of a head's output (--head-norm)", "");
    if (config_gates_output(config, layer))
        return refuse(error, "gate on the attention's output (--out-gate)", "");
    return true;
}

bool export_check_transformers(const ModelConfig *config, Error *error)
{
    for (size_t layer = 0; layer < config->layers; layer++)
        if (!check_layer(config, layer, error))
            return false;
    const struct {
        bool has;
        const char *what;
    } rows[] = {
        {config->norm != NORM_PRE, "norms behind the sublayers (--norm post)"},
        {config->positions == POSITIONS_ROTARY, "rotary positions (--pos rotary)"},
        {config->qk_norm, "norm of queries and keys (--qk-norm)"},
        {config->value_residual, "values of the first layer in others (--value-residual)"},
        {config->head_gate, "gates on the output of heads (--head-gate)"},
        {config->logit_cap > 0, "cap on its logits (--logit-cap)"},
        {config->head_bias, "biases in its output head (--head-bias)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].has)
            return refuse(error, rows[i].what, "");
    if (!activation_there(config))
        return refuse(error, "activation that is called ", activation_name(config->activation));
    return true;
}

/* --- the files --- */

/* The epsilon is that of layernorm.c. */
static json_t *config_json(const ModelConfig *c, int eos)
{
    return json_pack("{s:s, s:[s], s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:f, s:b, s:f, s:f, "
                     "s:f, s:b, s:i, s:i}",
                     "model_type", "gpt2", "architectures", "GPT2LMHeadModel", "torch_dtype",
                     "float32", "vocab_size", json_count(c->vocabulary), "n_positions",
                     json_count(c->context), "n_embd", json_count(c->dim), "n_layer",
                     json_count(c->layers), "n_head", json_count(c->heads), "n_inner",
                     json_count(c->ffn), "activation_function", activation_there(c),
                     "layer_norm_epsilon", 1e-5, "scale_attn_weights", true, "embd_pdrop",
                     c->input_dropout, "resid_pdrop", c->dropout, "attn_pdrop",
                     c->attention_dropout, "tie_word_embeddings", c->tied, "bos_token_id", eos,
                     "eos_token_id", eos);
}

/* As sample by default: texts begin after an <eos> and do not end at the next. There is no
 * max_length, which would make transformers warn if max_new_tokens is given. */
static json_t *generation_json(int eos)
{
    return json_pack("{s:i, s:b, s:f, s:i, s:i}", "bos_token_id", eos, "do_sample", true,
                     "temperature", 0.8, "top_k", 0, "pad_token_id", eos);
}

/* Names the class, since transformers would take GPT-2's own, and keeps all blanks. */
static json_t *tokenizer_config_json(size_t context)
{
    return json_pack("{s:s, s:o, s:b}", "tokenizer_class", "PreTrainedTokenizerFast",
                     "model_max_length", json_count(context), "clean_up_tokenization_spaces",
                     false);
}

/* (context, C) for a model that does not learn them, else NULL; the caller frees. */
static real *fixed_positions(const ModelConfig *config)
{
    if (config->positions == POSITIONS_LEARNED)
        return NULL;
    size_t count = memory_product(config->context, config->dim, "the positions");
    real *rows = memory_take(count, sizeof *rows, "the positions");
    for (size_t i = 0; config->positions == POSITIONS_SINUSOIDAL && i < config->context; i++)
        embedding_sinusoids(rows + i * config->dim, i, config->dim);
    return rows;
}

bool export_transformers(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    const ModelConfig *config = &loaded->model.config;
    Error why;
    if (!export_check_transformers(config, &why))
        return error_set(error, "%s: %s", loaded->checkpoint.file.path, why.text);
    real *positions = fixed_positions(config);
    bool good = export_tensors(folder, loaded, "transformer.", positions, error);
    free(positions);
    int eos = loaded->checkpoint.vocabulary.eos;
    return good && export_folder_json(folder, "config.json", config_json(config, eos), error) &&
           export_folder_json(folder, "generation_config.json", generation_json(eos), error) &&
           export_tokenizer(folder, &loaded->checkpoint.vocabulary, error) &&
           export_folder_json(folder, "tokenizer_config.json",
                              tokenizer_config_json(config->context), error);
}
