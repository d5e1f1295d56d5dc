/* Exports any model for Python's transformers, with a module of Python that computes it. */
#include "models/exchange/forms.h"

/* modeling_linnet.py as a string; made by src/build.mk. */
extern const char text_modeling_linnet_py[];

/* What a layer has, so that the module need not know the defaults of each kind. */
static json_t *layer_json(const ModelConfig *config, size_t layer)
{
    const AttentionKind *kind = config_kind(config, layer);
    const AttentionSizes sizes = config_attention_sizes(config, layer);
    return json_pack("{s:s, s:b, s:b, s:b, s:o, s:o, s:o}", "attn", kind->name, "conv",
                     config_convolves(config, layer), "head-norm",
                     config_norms_heads(config, layer), "out-gate",
                     config_gates_output(config, layer), "gates",
                     json_count(attention_gates(kind, &sizes) / config->heads), "gate-rank",
                     json_count(kind->gate_rank), "own",
                     json_count(attention_param_count(kind, &sizes) / config->heads));
}

static json_t *layers_json(const ModelConfig *config)
{
    json_t *layers = json_array();
    for (size_t layer = 0; layer < config->layers; layer++)
        json_array_append_new(layers, layer_json(config, layer));
    return layers;
}

/* The names that transformers gives to all models, and what the module reads. */
json_t *export_modeling_config(const LoadedModel *loaded)
{
    const ModelConfig *c = &loaded->model.config;
    const int eos = vocabulary_start(&loaded->checkpoint.vocabulary);
    json_t *tree = json_pack("{s:s, s:[s], s:{s:s, s:s}, s:s}", "model_type", "linnet",
                             "architectures", "LinnetForCausalLM", "auto_map", "AutoConfig",
                             "modeling_linnet.LinnetConfig", "AutoModelForCausalLM",
                             "modeling_linnet.LinnetForCausalLM", "torch_dtype", "float32");
    json_t *sizes = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "vocab_size",
                              json_count(c->vocabulary), "max_position_embeddings",
                              json_count(c->context), "hidden_size", json_count(c->dim),
                              "num_hidden_layers", json_count(c->layers), "num_attention_heads",
                              json_count(c->heads), "intermediate_size", json_count(c->ffn));
    json_t *rest = json_pack("{s:b, s:b, s:i, s:i, s:b, s:o, s:o}", "tie_word_embeddings",
                             c->tied, "use_cache", false, "bos_token_id", eos, "eos_token_id",
                             eos, "endless", model_is_endless(&loaded->model), "layers",
                             layers_json(c), "linnet", export_settings_json(loaded));
    json_object_update(tree, sizes);
    json_object_update(tree, rest);
    json_decref(sizes);
    json_decref(rest);
    return tree;
}

bool export_modeling(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    return export_tensors(folder, loaded, &family_linnet, NULL, error) &&
           export_folder_text(folder, "modeling_linnet.py", text_modeling_linnet_py, error);
}
