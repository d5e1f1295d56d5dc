/* Models that the GPT-2 of Python's transformers computes: which these are, and their config.
 *
 * linnet names and lays out tensors as GPT-2 does; the arithmetic must agree too. Sinusoidal
 * positions are written as if learned, and missing biases as zeros. */
#include "eval/export/family.h"
#include "eval/export/forms.h"
#include "src/layers/embedding.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

static const char *activation_there(const ModelConfig *config)
{
    return family_activation_there(activation_name(config->activation));
}

/* --- what GPT-2 lacks --- */

static bool check_layer(const ModelConfig *config, size_t layer, Error *lacks)
{
    const char *kind = config_kind(config, layer)->name;
    if (strcmp(kind, "softmax") != 0)
        return error_set(lacks, "%s attention", kind);
    if (config_convolves(config, layer))
        return error_set(lacks, "convolution before the attention (--conv)");
    if (config_norms_heads(config, layer))
        return error_set(lacks, "norm of a head's output (--head-norm)");
    if (config_gates_output(config, layer))
        return error_set(lacks, "gate on the attention's output (--out-gate)");
    return true;
}

bool export_is_gpt2(const ModelConfig *config, Error *lacks)
{
    for (size_t layer = 0; layer < config->layers; layer++)
        if (!check_layer(config, layer, lacks))
            return false;
    const struct {
        bool has;
        const char *what;
    } rows[] = {
        {config->norm != NORM_PRE, "norms behind the sublayers (--norm post)"},
        {config->rms_norm, "RMSNorm (--rms-norm)"},
        {config->positions == POSITIONS_ROTARY, "rotary positions (--pos rotary)"},
        {config->qk_norm, "norm of queries and keys (--qk-norm)"},
        {config->value_residual, "values of the first layer in others (--value-residual)"},
        {config->logit_cap > 0, "cap on its logits (--logit-cap)"},
        {config->head_bias, "biases in its output head (--head-bias)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].has)
            return error_set(lacks, "%s", rows[i].what);
    if (!activation_there(config))
        return error_set(lacks, "activation that is called %s",
                         activation_name(config->activation));
    return true;
}

/* --- the config --- */

json_t *export_gpt2_config(const LoadedModel *loaded)
{
    const ModelConfig *c = &loaded->model.config;
    const int eos = vocabulary_start(&loaded->checkpoint.vocabulary);
    return json_pack("{s:s, s:[s], s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:f, s:b, s:f, s:f, "
                     "s:f, s:b, s:i, s:i}",
                     "model_type", "gpt2", "architectures", "GPT2LMHeadModel", "torch_dtype",
                     "float32", "vocab_size", json_count(c->vocabulary), "n_positions",
                     json_count(c->context), "n_embd", json_count(c->dim), "n_layer",
                     json_count(c->layers), "n_head", json_count(c->heads), "n_inner",
                     json_count(c->ffn), "activation_function", activation_there(c),
                     "layer_norm_epsilon", c->norm_eps, "scale_attn_weights", true,
                     "embd_pdrop", c->input_dropout, "resid_pdrop", c->dropout, "attn_pdrop",
                     c->attention_dropout, "tie_word_embeddings", c->tied, "bos_token_id", eos,
                     "eos_token_id", eos);
}

real *export_gpt2_positions(const ModelConfig *config)
{
    if (config->positions == POSITIONS_LEARNED)
        return NULL;
    size_t count = memory_product(config->context, config->dim, "the positions");
    real *rows = memory_take(count, sizeof *rows, "the positions");
    for (size_t i = 0; config->positions == POSITIONS_SINUSOIDAL && i < config->context; i++)
        embedding_sinusoids(rows + i * config->dim, i, config->dim);
    return rows;
}
