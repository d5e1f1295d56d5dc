/* config.json of transformers, both ways: a family's, from the keys in its row, and linnet's
 * own, which modeling_linnet.py reads. What linnet would compute differently is refused by
 * name; what linnet does not know, such as the names of authors, is ignored, as transformers
 * does.
 */
#include "models/exchange/forms.h"
#include "models/exchange/imported.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- writing --- */

/* Leaves out options of attention kinds that the model does not have. */
json_t *export_settings_json(const LoadedModel *loaded)
{
    const ModelConfig *config = &loaded->model.config;
    const Options options = checkpoint_options(config, &loaded->checkpoint.corpus);
    const Option *option;
    json_t *settings = json_object();
    for (size_t i = 0; (option = option_at(&options, i)); i++)
        if (option->stored && config_has_option(config, option))
            json_object_set_new(settings, option->name, json_option(&options, option));
    return settings;
}

static bool is_activation(const ConfigKey *key)
{
    return strcmp(key->option, "act") == 0;
}

static void set_keys(json_t *tree, const Family *family, const ModelConfig *config)
{
    const Options options = {{config_group(config)}};
    const char *activation = family_activation_foreign(family,
                                                       activation_name(config->activation));
    for (const ConfigKey *key = family->keys; key->key; key++)
        json_object_set_new(tree, key->key,
                            !is_activation(key)
                                ? json_option(&options, option_find(&options, key->option))
                            : activation ? json_string(activation)
                                         : json_null());
    for (const ConfigMust *must = family->musts; must->key; must++)
        json_object_set_new(tree, must->key, json_boolean(must->value));
    if (family->grouped)
        json_object_set_new(tree, "num_key_value_heads", json_count(config->heads));
}

/* As versions of transformers before 5 read it, and since. */
static void set_rope(json_t *tree, const Family *family, const ModelConfig *config)
{
    json_object_set_new(tree, family->rope_base, json_figure(config->rope_base));
    if (!family->whole_rotary)
        json_object_set_new(tree, family->rope_share, json_figure(config->rope_share));
    json_object_set_new(tree, "rope_parameters",
                        json_pack("{s:s, s:f, s:f}", "rope_type", "default", "rope_theta",
                                  config->rope_base, "partial_rotary_factor",
                                  config->rope_share));
}

static void set_biases(json_t *tree, const Family *family, const Model *model)
{
    bool always = family->form.biases;
    json_object_set_new(tree, "attention_bias",
                        json_boolean(always || export_has_biases(model, ".attn.")));
    if (!always)
        json_object_set_new(tree, "mlp_bias", json_boolean(export_has_biases(model, ".mlp.")));
}

/* What a layer has, so that the module need not know the defaults of each kind. */
static json_t *layer_json(const ModelConfig *config, size_t layer)
{
    const AttentionKind *kind = config_kind(config, layer);
    const AttentionSizes sizes = config_attention_sizes(config, layer);
    const AttentionHead head = attention_head(&sizes, 0);
    const bool gated = config_gates_output(config, layer);
    const char *convolution = !config_convolves(config, layer)              ? "no"
                              : config->convolution == CONVOLUTION_RESIDUAL ? "residual"
                              : head.parts->plain_convolution               ? "plain"
                                                                            : "silu";
    static const char *const forms[] = {"silu", "sigmoid", "plain"}; /* GateForm */
    const char *gate = gated ? forms[head.parts->out_gate.form] : "no";
    json_t *tree = json_pack("{s:s, s:s, s:b, s:b, s:s, s:b}", "attn", kind->name, "conv",
                             convolution, "qk-norm", config_norms_queries(config, layer),
                             "head-norm", config_norms_heads(config, layer), "out-gate", gate,
                             "out-gate-bias", head.parts->out_gate.bias);
    const bool mixes = config_mixes_values(config, layer);
    const struct {
        const char *name;
        size_t value;
    } numbers[] = {
        {"key-width", head.width},
        {"key-heads", head.key_heads},
        {"value-width", head.value_width},
        {"copies", head.copies},
        {"gates", head.gates_stride / config->heads},
        {"gate-rank", attention_count(&kind->gates.low.rank, &head)},
        {"mix-gates", mixes ? attention_count(&head.parts->value_mix.count, &head) : 0},
        {"mix-gate-rank", attention_count(&head.parts->value_mix.low.rank, &head)},
        {"rates", head.rates_stride / config->heads},
        {"rate-rank", attention_count(&kind->rates.low.rank, &head)},
        {"out-gate-rank", attention_count(&head.parts->out_gate.low.rank, &head)},
        {"own", attention_param_count(&sizes) / config->heads},
    };
    json_object_set_new(tree, "norms-all-heads", json_boolean(head.parts->norms_all_heads));
    json_object_set_new(tree, "conv-bias", json_boolean(head.parts->convolution_bias));
    json_object_set_new(tree, "group-norm", json_boolean(head.parts->group_norm));
    json_object_set_new(tree, "bonus", json_boolean(head.parts->has_bonus));
    json_object_set_new(tree, "token-shift", json_boolean(head.parts->token_shift != NULL));
    json_object_set_new(tree, "value-mix",
                        json_boolean(mixes && !attention_has(&head.parts->value_mix.count)));
    json_object_set_new(tree, "gates-first", json_boolean(head.parts->gates_first));
    json_object_set_new(tree, "rotates", json_boolean(config_rotates(config, layer)));
    json_object_set_new(tree, "gate-tanh", json_boolean(kind->gates.low.form == LOW_RANK_TANH));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(tree, numbers[i].name, json_count(numbers[i].value));
    return tree;
}

/* The names that transformers gives to all models, and what the module reads. */
static void set_linnet(json_t *tree, const LoadedModel *loaded)
{
    const ModelConfig *c = &loaded->model.config;
    json_t *layers = json_array();
    for (size_t layer = 0; layer < c->layers; layer++)
        json_array_append_new(layers, layer_json(c, layer));
    json_t *rest = json_pack("{s:{s:s, s:s}, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:o}",
                             "auto_map", "AutoConfig", "modeling_linnet.LinnetConfig",
                             "AutoModelForCausalLM", "modeling_linnet.LinnetForCausalLM",
                             "max_position_embeddings", json_count(c->context), "hidden_size",
                             json_count(c->dim), "num_hidden_layers", json_count(c->layers),
                             "num_attention_heads", json_count(c->heads), "intermediate_size",
                             json_count(c->ffn), "tie_word_embeddings", c->tied, "use_cache",
                             false, "endless", model_is_endless(&loaded->model), "layers",
                             layers, "linnet", export_settings_json(loaded));
    json_object_update(tree, rest);
    json_decref(rest);
}

json_t *export_config(const LoadedModel *loaded, const Family *family)
{
    const ModelConfig *config = &loaded->model.config;
    const int start = vocabulary_start(&loaded->checkpoint.vocabulary);
    json_t *tree = json_pack("{s:s, s:[s], s:s, s:o, s:i, s:i}", "model_type", family->type,
                             "architectures", family->class, "torch_dtype", "float32",
                             "vocab_size", json_count(config->vocabulary), "bos_token_id",
                             start, "eos_token_id", start);
    if (family == &family_linnet)
        set_linnet(tree, loaded);
    set_keys(tree, family, config);
    if (family->rope_base)
        set_rope(tree, family, config);
    if (family->form.parts)
        set_biases(tree, family, &loaded->model);
    return tree;
}

/* --- values --- */

char *config_json_typed(const json_t *value)
{
    if (json_is_integer(value))
        return text_format("%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return text_format("%.17g", json_real_value(value));
    if (json_is_boolean(value))
        return memory_copy_text(json_is_true(value) ? "yes" : "no");
    return json_is_string(value) ? memory_copy_text(json_string_value(value)) : NULL;
}

TensorLabel config_json_shown(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    TensorLabel label = tensor_label(text ? text : "");
    free(text);
    return label;
}

/* Whether two values mean the same: 1 and 1.0, true and the word yes. Files have nine digits.
 */
static bool means(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return fabs(json_number_value(a) - json_number_value(b)) <=
               1e-8 * fabs(json_number_value(b));
    char *left = config_json_typed(a), *right = config_json_typed(b);
    bool same = left && right && strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

static const json_t *value_of(const json_t *root, const char *key)
{
    const json_t *value = json_object_get(root, key);
    return json_is_null(value) ? NULL : value;
}

/* --- reading --- */

static bool set_option(ImportPlan *plan, const char *key, const char *option, const char *value,
                       Error *error)
{
    const Options options = {{config_group(&plan->config)}};
    if (!value)
        return error_set(error, "%s: %s is neither a number nor a word", plan->path, key);
    char *where = text_format("%s: %s", plan->path, key);
    bool good = options_set(&options, option, value, where, error);
    free(where);
    return good;
}

static bool read_key(ImportPlan *plan, const ConfigKey *key, Error *error)
{
    const json_t *value = value_of(plan->root, key->key);
    if (!value && !key->fallback)
        return error_set(error, "%s: %s is missing", plan->path, key->key);
    char *text = value ? config_json_typed(value) : memory_copy_text(key->fallback);
    const char *set = text;
    if (text && is_activation(key))
        set = family_activation_linnet(plan->family, text);
    bool good = text && !set
                    ? error_set(error, "%s: %s %s: linnet does not have this activation",
                                plan->path, key->key, tensor_label(text).text)
                    : set_option(plan, key->key, key->option, set, error);
    free(text);
    return good;
}

static bool check_must(const ImportPlan *plan, const ConfigMust *must, Error *error)
{
    const json_t *value = value_of(plan->root, must->key);
    return !value || (json_is_boolean(value) && json_is_true(value) == must->value) ||
           error_set(error, "%s: %s: %s", plan->path, must->key, must->reason);
}

/* The object can also scale the frequencies for longer contexts. */
static bool check_rope(const ImportPlan *plan, const char *key, Error *error)
{
    const json_t *object = value_of(plan->root, key), *type = value_of(object, "rope_type");
    if (object && !json_is_object(object))
        return error_set(error, "%s: %s is not an object", plan->path, key);
    type = type ? type : value_of(object, "type");
    const char *name = json_string_value(type);
    if (!type || (name && strcmp(name, "default") == 0))
        return true;
    return name ? error_set(error, "%s: %s: rope_type %s: linnet does not support RoPE scaling",
                            plan->path, key, tensor_label(name).text)
                : error_set(error, "%s: %s: rope_type is not a word", plan->path, key);
}

/* A value of RoPE's stands in an object (inner) or at the top of config.json (outer).
 * transformers reads an object, then the top: rope_scaling, if there is anything in it,
 * replaces rope_parameters as a whole. Its other versions, and other programs, read another
 * place, so all must agree. */
static bool read_rope_value(ImportPlan *plan, const char *option, const char *inner,
                            const char *outer, double fallback, Error *error)
{
    const json_t *root = plan->root, *parameters = value_of(root, "rope_parameters"),
                 *scaling = value_of(root, "rope_scaling");
    bool scales = json_object_size(scaling) > 0;
    const json_t *objects[] = {scales ? scaling : parameters, root, root, parameters};
    const char *const before[] = {scales ? "rope_scaling." : "rope_parameters.", "", "",
                                  "rope_parameters."},
                      *const keys[] = {inner, outer, inner, inner};
    enum { READ = 2, PLACES = 4 };
    size_t first = 0;
    while (first < READ && !value_of(objects[first], keys[first]))
        first++;
    json_t *usual = json_real(fallback);
    const json_t *value = first < READ ? value_of(objects[first], keys[first]) : usual;
    char *text = config_json_typed(value);
    bool good = set_option(plan, keys[first], option, text, error);
    for (size_t i = 0; good && i < PLACES; i++) {
        const json_t *other = value_of(objects[i], keys[i]);
        if (other && !means(other, value))
            good = error_set(error, "%s: %s%s is %s, but %s%s is %s; keep the one that is true",
                             plan->path, before[i], keys[i], config_json_shown(other).text,
                             before[first], first < READ ? keys[first] : "the default",
                             config_json_shown(value).text);
    }
    free(text);
    json_decref(usual);
    return good;
}

/* Of a share of the features, the Llama of transformers 5 takes no notice, and that of older
 * versions fails. GPT-NeoX rounds their number down, and fails if it is odd. */
static bool read_rope(ImportPlan *plan, const Family *family, Error *error)
{
    const ModelConfig *config = &plan->config;
    enum { USUAL_BASE = 10000 };
    if (!check_rope(plan, "rope_parameters", error) ||
        !check_rope(plan, "rope_scaling", error) ||
        !read_rope_value(plan, "rope-base", "rope_theta", family->rope_base, USUAL_BASE,
                         error) ||
        !read_rope_value(plan, "rope-share", "partial_rotary_factor", family->rope_share,
                         family->usual_share, error))
        return false;
    if (family->whole_rotary && config->rope_share < 1)
        return error_set(error,
                         "%s: partial_rotary_factor %g: in transformers, a Llama rotates all "
                         "features of a head, so linnet reads only 1",
                         plan->path, config->rope_share);
    size_t features = (size_t)(config->rope_share * (double)(config->dim / config->heads));
    return family->whole_rotary || features % 2 == 0 ||
           error_set(error, "%s: RoPE rotates %zu features of a head, which is odd", plan->path,
                     features);
}

/* Keys and values with fewer heads than the queries are repeated. */
static bool read_key_heads(ImportPlan *plan, Error *error)
{
    const json_t *keys = value_of(plan->root, "num_key_value_heads"),
                 *width = value_of(plan->root, "head_dim");
    const ModelConfig *config = &plan->config;
    plan->key_heads = keys ? (size_t)json_integer_value(keys) : config->heads;
    if (plan->key_heads == 0 || plan->key_heads > config->heads ||
        config->heads % plan->key_heads != 0)
        return error_set(error, "%s: num_key_value_heads does not divide the %zu heads",
                         plan->path, config->heads);
    if (width && (size_t)json_integer_value(width) * config->heads != config->dim)
        return error_set(error,
                         "%s: head_dim: linnet has heads of hidden_size / num_attention_heads "
                         "only",
                         plan->path);
    if (plan->key_heads < config->heads)
        plan_note(plan,
                  "grouped-query attention is expanded: each of %zu key and value heads is "
                  "stored %zu times",
                  plan->key_heads, config->heads / plan->key_heads);
    return true;
}

/* *on becomes a switch of config.json. */
static bool read_switch(const ImportPlan *plan, const char *key, bool usual, bool *on,
                        Error *error)
{
    const json_t *value = value_of(plan->root, key);
    *on = value ? json_is_true(value) : usual;
    return !value || json_is_boolean(value) ||
           error_set(error, "%s: %s is neither true nor false", plan->path, key);
}

bool config_json_read_biases(ImportPlan *plan, Error *error)
{
    bool always = plan->family->form.biases;
    return !plan->family->form.parts ||
           (read_switch(plan, "attention_bias", always, &plan->attention_bias, error) &&
            (always || read_switch(plan, "mlp_bias", false, &plan->mlp_bias, error)));
}

/* Facts that all families have in common. */
static bool check_common(const ImportPlan *plan, Error *error)
{
    const Family *family = plan->family;
    const json_t *classes = value_of(plan->root, "architectures"),
                 *size = value_of(plan->root, "vocab_size");
    const char *class = json_string_value(json_array_get(classes, 0));
    if (class && strcmp(class, family->class) != 0)
        return error_set(error,
                         "%s: a %s; linnet imports only language models, %s, of the type %s",
                         plan->path, tensor_label(class).text, family->class, family->type);
    if (value_of(plan->root, "quantization_config"))
        return error_set(error,
                         "%s: quantization_config: linnet does not read quantised weights; "
                         "save the model without quantisation",
                         plan->path);
    if (!json_is_integer(size))
        return error_set(error, "%s: vocab_size is missing", plan->path);
    return (size_t)json_integer_value(size) == plan->config.vocabulary ||
           error_set(error, "%s: vocab_size %lld, but the file has %zu embeddings", plan->path,
                     (long long)json_integer_value(size), plan->config.vocabulary);
}

/* Of all families: linnet's defaults that they do not have, and no dropout of linnet's own. */
#define NO_EXTRAS                                                                 \
    "attn = softmax\nnorm = pre\nhead-bias = no\nlogit-cap = 0\nzero-init = no\n" \
    "qk-norm = no\nvalue-residual = no\nhead-gate = no\nword-dropout = 0\n"       \
    "input-dropout = 0\ndropout = 0\nattn-dropout = 0\noutput-dropout = 0\n"

bool config_json_read(ImportPlan *plan, Error *error)
{
    const Family *family = plan->family;
    const Options options = {{config_group(&plan->config)}};
    plan->corpus.tokenizer = TOKENIZER_BPE;
    if (!check_common(plan, error) ||
        !options_read_text(&options, NO_EXTRAS, "the family", error))
        return false;
    plan->config.positions = family->rotary ? POSITIONS_ROTARY : POSITIONS_LEARNED;
    plan->config.rms_norm = family->rms_norm;
    if (family->form.parts && !family->form.biases)
        plan->config.bias = plan->attention_bias || plan->mlp_bias;
    bool good = true;
    for (const ConfigMust *must = family->musts; good && must->key; must++)
        good = check_must(plan, must, error);
    for (const ConfigKey *key = family->keys; good && key->key; key++)
        good = read_key(plan, key, error);
    return good && (!family->grouped || read_key_heads(plan, error)) &&
           (!family->rope_base || read_rope(plan, family, error));
}

/* --- config.json of what linnet exported --- */

static bool agrees(const ImportPlan *plan, const char *name, const json_t *value,
                   const json_t *expected, Error *error);

static bool agrees_inside(const ImportPlan *plan, char *name, const json_t *value,
                          const json_t *expected, Error *error)
{
    bool good = agrees(plan, name, value, expected, error);
    free(name);
    return good;
}

/* Of objects, compares the keys that both have. The name leads to the value. */
static bool agrees(const ImportPlan *plan, const char *name, const json_t *value,
                   const json_t *expected, Error *error)
{
    size_t count = json_array_size(expected);
    const char *key;
    json_t *inner;
    bool good = true;
    if (!value || json_is_null(value))
        return true;
    if (json_is_object(value) && json_is_object(expected)) {
        json_object_foreach((json_t *)expected, key, inner)
            good = good &&
                   agrees_inside(plan, text_format("%s%s%s", name, *name ? "." : "", key),
                                 json_object_get(value, key), inner, error);
        return good;
    }
    if (count > 0 && json_array_size(value) == count) {
        for (size_t i = 0; good && i < count; i++)
            good = agrees_inside(plan, text_format("%s[%zu]", name, i),
                                 json_array_get(value, i), json_array_get(expected, i), error);
        return good;
    }
    return means(value, expected) ||
           error_set(error, "%s: %s is %s, but the exported model has %s; export it again",
                     plan->path, name, config_json_shown(value).text,
                     config_json_shown(expected).text);
}

bool config_json_agrees(const ImportPlan *plan, json_t *expected, Error *error)
{
    /* How the model is opened, and the type that its weights had. */
    static const char *const no_facts[] = {"auto_map", "torch_dtype", "use_cache"};
    for (size_t i = 0; i < sizeof no_facts / sizeof *no_facts; i++)
        json_object_del(expected, no_facts[i]);
    bool good = agrees(plan, "", plan->root, expected, error);
    json_decref(expected);
    if (!good || plan->family == &family_linnet)
        return good;
    /* What a family can have besides, such as RoPE scaling, is not supported either. */
    ImportPlan alone = {.path = memory_copy_text(plan->path),
                        .root = json_incref(plan->root),
                        .family = plan->family,
                        .config.vocabulary = plan->config.vocabulary};
    good = config_json_read(&alone, error);
    plan_free(&alone);
    return good;
}
