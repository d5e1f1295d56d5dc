/* Exports a model for Python's transformers: as a GPT-2, GPT-NeoX or Llama if one of them
 * computes it (the last two in families.c), otherwise with a module of Python that does.
 *
 * linnet names and lays out tensors as GPT-2 does. The arithmetic must agree too. Sinusoidal
 * positions are written as if learned, and missing biases as zeros. */
#include "models/exchange/forms.h"
#include "src/layers/embedding.h"

static json_t *gpt2_config(const LoadedModel *loaded)
{
    const ModelConfig *c = &loaded->model.config;
    const int eos = vocabulary_start(&loaded->checkpoint.vocabulary);
    return json_pack(
        "{s:s, s:[s], s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:f, s:b, s:f, s:f, "
        "s:f, s:b, s:i, s:i}",
        "model_type", "gpt2", "architectures", "GPT2LMHeadModel", "torch_dtype", "float32",
        "vocab_size", json_count(c->vocabulary), "n_positions", json_count(c->context),
        "n_embd", json_count(c->dim), "n_layer", json_count(c->layers), "n_head",
        json_count(c->heads), "n_inner", json_count(c->ffn), "activation_function",
        family_activation_there(activation_name(c->activation)), "layer_norm_epsilon",
        c->norm_eps, "scale_attn_weights", true, "embd_pdrop", c->input_dropout, "resid_pdrop",
        c->dropout, "attn_pdrop", c->attention_dropout, "tie_word_embeddings", c->tied,
        "bos_token_id", eos, "eos_token_id", eos);
}

json_t *export_config(const LoadedModel *loaded, const Family *family)
{
    return family == &family_linnet        ? export_modeling_config(loaded)
           : family == family_find("gpt2") ? gpt2_config(loaded)
                                           : export_family_config(loaded, family);
}

/* As sample by default: texts begin after an <eos> and do not end at the next. There is no
 * max_length, which would make transformers warn if max_new_tokens is given, and no token for
 * padding: transformers would take each <eos> of a prompt for one. */
static json_t *generation_json(int eos, bool has_cache)
{
    return json_pack("{s:i, s:b, s:f, s:i, s:b}", "bos_token_id", eos, "do_sample", true,
                     "temperature", 0.8, "top_k", 0, "use_cache", has_cache);
}

real *export_fixed_positions(const ModelConfig *config)
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
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    Error lacks;
    const Family *family = export_family(config, &lacks);
    return (family ? export_as_family(folder, loaded, family, error)
                   : export_modeling(folder, loaded, error)) &&
           export_folder_json(folder, "config.json",
                              export_config(loaded, family ? family : &family_linnet), error) &&
           export_folder_json(folder, "generation_config.json",
                              generation_json(vocabulary_start(vocabulary), family != NULL),
                              error) &&
           export_tokenizer(folder, vocabulary, error) &&
           export_tokenizer_config(folder, vocabulary, config->context, error);
}
