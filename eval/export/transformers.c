/* Exports a model for Python's transformers: as a GPT-2 if that computes it, otherwise with a
 * module of Python that does. */
#include "eval/export/forms.h"

#include <stdlib.h>

/* modeling_linnet.py as a string; made by src/build.mk. */
extern const char export_modeling_linnet_py[];

/* --- config.json of any model --- */

/* What a layer has, so that the module need not know the defaults of each kind. */
static json_t *layer_json(const ModelConfig *config, size_t layer)
{
    const AttentionKind *kind = config_kind(config, layer);
    const AttentionSizes sizes = {
        .heads = config->heads, .width = config_head_width(config), .options = &config->own};
    return json_pack("{s:s, s:b, s:b, s:b, s:o, s:o, s:o}", "attn", kind->name, "conv",
                     config_convolves(config, layer), "head-norm",
                     config_norms_heads(config, layer), "out-gate",
                     config_gates_output(config, layer), "gates",
                     json_count(attention_gates(kind, &sizes) / config->heads), "gate-rank",
                     json_count(kind->gate_rank), "own",
                     json_count(attention_own_reals(kind, &sizes) / config->heads));
}

/* The names that transformers gives to all models, and linnet's settings. */
static json_t *linnet_config(const LoadedModel *loaded)
{
    const ModelConfig *c = &loaded->model.config;
    const int eos = vocabulary_start(&loaded->checkpoint.vocabulary);
    json_t *layers = json_array();
    for (size_t layer = 0; layer < c->layers; layer++)
        json_array_append_new(layers, layer_json(c, layer));
    return json_pack("{s:s, s:[s], s:{s:s, s:s}, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, "
                     "s:i, s:i, s:b, "
                     "s:o, s:o}",
                     "model_type", "linnet", "architectures", "LinnetForCausalLM", "auto_map",
                     "AutoConfig", "modeling_linnet.LinnetConfig", "AutoModelForCausalLM",
                     "modeling_linnet.LinnetForCausalLM", "torch_dtype", "float32",
                     "vocab_size", json_count(c->vocabulary), "max_position_embeddings",
                     json_count(c->context), "hidden_size", json_count(c->dim),
                     "num_hidden_layers", json_count(c->layers), "num_attention_heads",
                     json_count(c->heads), "intermediate_size", json_count(c->ffn),
                     "tie_word_embeddings", c->tied, "use_cache", false, "bos_token_id", eos,
                     "eos_token_id", eos, "endless", model_is_endless(&loaded->model), "layers",
                     layers, "linnet", export_settings_json(loaded));
}

/* --- the other files --- */

/* As sample by default: texts begin after an <eos> and do not end at the next. There is no
 * max_length, which would make transformers warn if max_new_tokens is given, and no token for
 * padding: transformers would take each <eos> of a prompt for one. */
static json_t *generation_json(int eos, bool has_cache)
{
    return json_pack("{s:i, s:b, s:f, s:i, s:b}", "bos_token_id", eos, "do_sample", true,
                     "temperature", 0.8, "top_k", 0, "use_cache", has_cache);
}

/* Names the class, since transformers would take GPT-2's own, and keeps all blanks. Without the
 * names, older versions give GPT-2 types of tokens, whose embeddings it would add. */
static json_t *tokenizer_config_json(size_t context)
{
    return json_pack("{s:s, s:o, s:b, s:[s, s]}", "tokenizer_class", "PreTrainedTokenizerFast",
                     "model_max_length", json_count(context), "clean_up_tokenization_spaces",
                     false, "model_input_names", "input_ids", "attention_mask");
}

static bool write_gpt2(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    real *positions = export_gpt2_positions(&loaded->model.config);
    ExportForm form = {.config = loaded->model.config, .positions = positions};
    form.config.positions = POSITIONS_LEARNED;
    form.config.bias = true;
    bool good = export_tensors(folder, loaded, "transformer.", &form, error);
    free(positions);
    return good && export_folder_json(folder, "config.json", export_gpt2_config(loaded), error);
}

static bool write_linnet(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    return export_tensors(folder, loaded, "transformer.", NULL, error) &&
           export_folder_json(folder, "config.json", linnet_config(loaded), error) &&
           export_folder_text(folder, "modeling_linnet.py", export_modeling_linnet_py, error);
}

bool export_transformers(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    const ModelConfig *config = &loaded->model.config;
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    Error lacks;
    bool is_gpt2 = export_is_gpt2(config, &lacks);
    return (is_gpt2 ? write_gpt2 : write_linnet)(folder, loaded, error) &&
           export_folder_json(folder, "generation_config.json",
                              generation_json(vocabulary_start(vocabulary), is_gpt2), error) &&
           export_tokenizer(folder, vocabulary, error) &&
           export_folder_json(folder, "tokenizer_config.json",
                              tokenizer_config_json(config->context), error);
}
