/* Models that the GPT-NeoX or the Llama of Python's transformers computes. */
#include "models/exchange/family.h"
#include "models/exchange/forms.h"
#include "models/exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

/* --- which models --- */

static bool is_llama(const ModelConfig *c)
{
    return c->rms_norm && !c->parallel && c->positions == POSITIONS_ROTARY &&
           2 * config_rotating_pairs(c) == config_head_width(c) &&
           strcmp(activation_name(c->activation), "swiglu") == 0;
}

static bool is_neox(const ModelConfig *c)
{
    /* It rotates a share of the features, rounded down, and cannot if their number is odd. */
    size_t rotating = (size_t)(c->rope_share * (double)config_head_width(c));
    return !c->rms_norm && c->positions == POSITIONS_ROTARY &&
           rotating == 2 * config_rotating_pairs(c) &&
           family_activation_there(activation_name(c->activation));
}

const Family *export_family(const ModelConfig *config, Error *lacks)
{
    if (exchange_is_gpt2(config, lacks))
        return family_find("gpt2");
    Error ignored;
    if (!exchange_is_plain(config, &ignored))
        return NULL;
    return is_llama(config)  ? family_find("llama")
           : is_neox(config) ? family_find("gpt_neox")
                             : NULL;
}

/* --- biases --- */

/* Whether a bias in this part of the layers is not zero. */
static bool has_biases(const Model *model, const char *part)
{
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        const real *values = model->base + row->offset;
        for (size_t k = 0; row->rank == 1 && strstr(row->name, part) && k < row->count; k++)
            if (values[k] < 0 || values[k] > 0)
                return true;
    }
    return false;
}

/* Llama has biases in the attention, in the MLP, in both or in neither. */
static bool leaves_out(const Model *model, const ParamRow *row)
{
    return row->rank == 1 && ((strstr(row->name, ".attn.") && !has_biases(model, ".attn.")) ||
                              (strstr(row->name, ".mlp.") && !has_biases(model, ".mlp.")));
}

/* --- the files --- */

json_t *export_family_config(const LoadedModel *loaded, const Family *family)
{
    const Model *model = &loaded->model;
    const ModelConfig *c = &model->config;
    const int start = vocabulary_start(&loaded->checkpoint.vocabulary);
    json_t *tree = json_pack(
        "{s:s, s:[s], s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:i, s:i, s:f}", "model_type",
        family->type, "architectures", family->architecture, "torch_dtype", "float32",
        "vocab_size", json_count(c->vocabulary), "max_position_embeddings",
        json_count(c->context), "hidden_size", json_count(c->dim), "num_hidden_layers",
        json_count(c->layers), "num_attention_heads", json_count(c->heads), "intermediate_size",
        json_count(c->ffn), "tie_word_embeddings", c->tied, "bos_token_id", start,
        "eos_token_id", start, "attention_dropout", c->attention_dropout);
    /* RoPE as versions of transformers before 5 read it, and since. */
    json_t *rope = json_pack("{s:s, s:f, s:f}", "rope_type", "default", "rope_theta",
                             c->rope_base, "partial_rotary_factor", c->rope_share);
    json_t *rest = c->rms_norm
                       ? json_pack("{s:s, s:f, s:o, s:b, s:b, s:f, s:o}", "hidden_act", "silu",
                                   "rms_norm_eps", c->norm_eps, "num_key_value_heads",
                                   json_count(c->heads), "attention_bias",
                                   has_biases(model, ".attn."), "mlp_bias",
                                   has_biases(model, ".mlp."), "rope_theta", c->rope_base,
                                   "rope_parameters", rope)
                       : json_pack("{s:s, s:f, s:b, s:f, s:b, s:f, s:f, s:o}", "hidden_act",
                                   family_activation_there(activation_name(c->activation)),
                                   "layer_norm_eps", c->norm_eps, "use_parallel_residual",
                                   c->parallel, "hidden_dropout", c->dropout, "attention_bias",
                                   true, "rotary_pct", c->rope_share, "rotary_emb_base",
                                   c->rope_base, "rope_parameters", rope);
    json_object_update(tree, rest);
    json_decref(rest);
    return tree;
}

bool export_as_family(ExportFolder *folder, const LoadedModel *loaded, const Family *family,
                      Error *error)
{
    const ModelConfig *config = &loaded->model.config;
    real *positions = family->learns_positions ? export_fixed_positions(config) : NULL;
    ExportForm form = {.config = family_form(family, config),
                       .positions = positions,
                       .leaves_out = family->has_biases ? NULL : leaves_out};
    bool good = export_tensors(folder, loaded, family, &form, error);
    free(positions);
    return good;
}
