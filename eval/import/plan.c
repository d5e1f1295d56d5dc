/* Reads config.json. What linnet would compute differently is refused by name; what is not
 * known here, such as the names of authors, is ignored, as transformers does. */
#include "eval/import/plan.h"
#include "eval/import/files.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG "config.json"

/* --- tables --- */

/* A key of config.json and the option that it sets. */
typedef struct Rule {
    const char *key, *option;
    const char *fallback; /* if the key is missing or null; NULL: it is needed */
} Rule;

/* A key that must have this value, or be missing or null, since linnet lacks the part. */
typedef struct Must {
    const char *key;
    bool value;
    const char *otherwise; /* the part */
} Must;

/* How the config.json of a family is read. */
typedef struct Reading {
    const char *type;
    const char *settings; /* what the family always has */
    Rule rules[16];
    Must musts[6];
    bool (*more)(ImportPlan *plan, const json_t *root, Error *error); /* or NULL */
} Reading;

static bool read_neox(ImportPlan *plan, const json_t *root, Error *error);
static bool read_llama(ImportPlan *plan, const json_t *root, Error *error);

/* Of all families: linnet's defaults that they do not have, and no dropout of linnet's own. */
#define NO_EXTRAS                                                                 \
    "attn = softmax\nnorm = pre\nhead-bias = no\nlogit-cap = 0\nzero-init = no\n" \
    "qk-norm = no\nvalue-residual = no\nword-dropout = 0\ninput-dropout = 0\n"    \
    "dropout = 0\nattn-dropout = 0\noutput-dropout = 0\n"

static const Reading readings[] = {
    {"gpt2",
     "pos = learned\n",
     {{"n_layer", "layers", NULL},
      {"n_embd", "dim", NULL},
      {"n_head", "heads", NULL},
      {"n_positions", "context", NULL},
      {"n_inner", "ffn", "0"},
      {"activation_function", "act", "gelu_new"},
      {"layer_norm_epsilon", "norm-eps", "1e-05"},
      {"tie_word_embeddings", "tied", "yes"},
      {"embd_pdrop", "input-dropout", "0.1"},
      {"resid_pdrop", "dropout", "0.1"},
      {"attn_pdrop", "attn-dropout", "0.1"}},
     {{"scale_attn_weights", true, "attention scores that are not scaled"},
      {"scale_attn_by_inverse_layer_idx", false,
       "attention scores that are scaled by the layer"},
      {"add_cross_attention", false, "cross-attention"}},
     NULL},
    {"gpt_neox",
     "pos = rotary\n",
     {{"num_hidden_layers", "layers", NULL},
      {"hidden_size", "dim", NULL},
      {"num_attention_heads", "heads", NULL},
      {"intermediate_size", "ffn", NULL},
      {"max_position_embeddings", "context", NULL},
      {"hidden_act", "act", "gelu"},
      {"layer_norm_eps", "norm-eps", "1e-05"},
      {"tie_word_embeddings", "tied", "no"},
      {"use_parallel_residual", "parallel", "yes"},
      {"hidden_dropout", "input-dropout", "0"},
      {"hidden_dropout", "dropout", "0"},
      {"attention_dropout", "attn-dropout", "0"}},
     {{0}},
     read_neox},
    {"llama",
     "pos = rotary\nrms-norm = yes\nact = swiglu\n",
     {{"num_hidden_layers", "layers", NULL},
      {"hidden_size", "dim", NULL},
      {"num_attention_heads", "heads", NULL},
      {"intermediate_size", "ffn", NULL},
      {"max_position_embeddings", "context", NULL},
      {"rms_norm_eps", "norm-eps", "1e-06"},
      {"tie_word_embeddings", "tied", "no"},
      {"attention_dropout", "attn-dropout", "0"}},
     {{0}},
     read_llama},
};

/* --- values --- */

/* The value as one would type it for an option; NULL if it is none. The caller frees. */
static char *typed(const json_t *value)
{
    if (json_is_integer(value))
        return text_format("%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return text_format("%.17g", json_real_value(value));
    if (json_is_boolean(value))
        return memory_copy_text(json_is_true(value) ? "yes" : "no");
    return json_is_string(value) ? memory_copy_text(json_string_value(value)) : NULL;
}

static const json_t *value_of(const json_t *root, const char *key)
{
    const json_t *value = json_object_get(root, key);
    return json_is_null(value) ? NULL : value;
}

static bool set_option(ImportPlan *plan, const char *key, const char *option, char *value,
                       Error *error)
{
    const OptionGroup group = config_group(&plan->config);
    if (!value)
        return error_set(error, "%s: %s is neither a number nor a word", plan->path, key);
    char *where = text_format("%s: %s", plan->path, key);
    bool good = options_set(&group, 1, option, value, where, error);
    free(where);
    return good;
}

/* An activation has another name here. */
static bool set_activation(ImportPlan *plan, const char *key, const char *name, Error *error)
{
    const char *here = family_activation_here(name);
    if (!here)
        return error_set(error, "%s: %s %s: linnet does not have this activation", plan->path,
                         key, tensor_label(name).text);
    return set_option(plan, key, "act", (char *)here, error);
}

static bool apply_rule(ImportPlan *plan, const json_t *root, const Rule *rule, Error *error)
{
    const json_t *value = value_of(root, rule->key);
    char *text = value            ? typed(value)
                 : rule->fallback ? memory_copy_text(rule->fallback)
                                  : NULL;
    bool good;
    if (!text)
        good = error_set(error,
                         value ? "%s: %s is neither a number nor a word" : "%s: %s is missing",
                         plan->path, rule->key);
    else if (strcmp(rule->option, "act") == 0)
        good = set_activation(plan, rule->key, text, error);
    else
        good = set_option(plan, rule->key, rule->option, text, error);
    free(text);
    return good;
}

static bool check_must(const ImportPlan *plan, const json_t *root, const Must *must,
                       Error *error)
{
    const json_t *value = value_of(root, must->key);
    if (!value || (json_is_boolean(value) && json_is_true(value) == must->value))
        return true;
    return error_set(error, "%s: %s: linnet has no %s", plan->path, must->key, must->otherwise);
}

/* --- what single families have --- */

/* The first of these keys that has a value, in the object or at the top; NULL: none has. */
static const json_t *first_of(const json_t *root, const json_t *object, const char *const *keys)
{
    for (; *keys; keys++) {
        const json_t *inner = value_of(object, *keys), *outer = value_of(root, *keys);
        if (inner || outer)
            return inner ? inner : outer;
    }
    return NULL;
}

/* RoPE has been written in several ways: at the top, or in an object that can also scale the
 * frequencies for longer contexts. */
static const json_t *rope_object(const json_t *root)
{
    const json_t *object = value_of(root, "rope_parameters");
    return object ? object : value_of(root, "rope_scaling");
}

static bool read_rope(ImportPlan *plan, const json_t *root, const char *usual_share,
                      Error *error)
{
    static const char *const types[] = {"rope_type", "type", NULL},
                             *const bases[] = {"rope_theta", "rotary_emb_base", NULL},
                             *const shares[] = {"partial_rotary_factor", "rotary_pct", NULL};
    const json_t *object = rope_object(root), *type = first_of(NULL, object, types);
    if (object && type &&
        strcmp(json_is_string(type) ? json_string_value(type) : "", "default") != 0)
        return error_set(
            error, "%s: rope_type %s: linnet has RoPE without scaling for longer contexts",
            plan->path, json_is_string(type) ? tensor_label(json_string_value(type)).text : "");
    const json_t *base = first_of(root, object, bases), *share = first_of(root, object, shares);
    char *values[] = {base ? typed(base) : memory_copy_text("10000"),
                      share ? typed(share) : memory_copy_text(usual_share)};
    bool good = set_option(plan, "RoPE's base", "rope-base", values[0], error) &&
                set_option(plan, "RoPE's share", "rope-share", values[1], error);
    free(values[0]);
    free(values[1]);
    return good;
}

/* Whether a switch is on; *good becomes false if it is none. */
static bool read_switch(const ImportPlan *plan, const json_t *root, const char *key, bool usual,
                        bool *good, Error *error)
{
    const json_t *value = value_of(root, key);
    if (value && !json_is_boolean(value))
        *good = error_set(error, "%s: %s is neither true nor false", plan->path, key);
    return value ? json_is_true(value) : usual;
}

/* Which biases the files have. */
static bool read_biases(ImportPlan *plan, const json_t *root, Error *error)
{
    bool good = true, is_llama = plan->family == family_find("llama");
    if (plan->family->parts)
        plan->attention_bias = read_switch(plan, root, "attention_bias", !is_llama, &good,
                                           error);
    if (is_llama)
        plan->mlp_bias = read_switch(plan, root, "mlp_bias", false, &good, error);
    return good;
}

static bool read_neox(ImportPlan *plan, const json_t *root, Error *error)
{
    const ModelConfig *config = &plan->config;
    if (!read_rope(plan, root, "0.25", error))
        return false;
    double features = config->rope_share * (double)(config->dim / config->heads);
    return (size_t)features % 2 == 0 ||
           error_set(error, "%s: RoPE rotates %zu features of a head, which is odd", plan->path,
                     (size_t)features);
}

/* Keys and values with fewer heads than the queries are repeated. */
static bool read_key_heads(ImportPlan *plan, const json_t *root, Error *error)
{
    const json_t *keys = value_of(root, "num_key_value_heads"),
                 *width = value_of(root, "head_dim");
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

static bool read_llama(ImportPlan *plan, const json_t *root, Error *error)
{
    const json_t *activation = value_of(root, "hidden_act");
    const char *name = activation ? json_string_value(activation) : "silu";
    if (!name || strcmp(name, "silu") != 0)
        return error_set(error,
                         "%s: hidden_act %s: linnet has SwiGLU, whose activation is silu",
                         plan->path, name ? tensor_label(name).text : "");
    plan->config.bias = plan->attention_bias || plan->mlp_bias;
    return read_key_heads(plan, root, error) && read_rope(plan, root, "1", error);
}

/* --- config.json of other programs --- */

static const Reading *reading_of(const Family *family)
{
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        if (strcmp(readings[i].type, family->type) == 0)
            return &readings[i];
    return NULL;
}

/* Facts that all families have in common. */
static bool check_common(const ImportPlan *plan, const json_t *root, Error *error)
{
    const Family *family = plan->family;
    const json_t *classes = value_of(root, "architectures");
    const char *class = json_string_value(json_array_get(classes, 0));
    if (class && strcmp(class, family->architecture) != 0)
        return error_set(
            error, "%s: a %s; linnet imports only language models, %s, of the type %s",
            plan->path, tensor_label(class).text, family->architecture, family->type);
    if (value_of(root, "quantization_config"))
        return error_set(error,
                         "%s: quantization_config: linnet does not read quantised weights; "
                         "save the model without quantisation",
                         plan->path);
    return true;
}

static bool check_vocabulary(const ImportPlan *plan, const json_t *root, Error *error)
{
    const json_t *size = value_of(root, "vocab_size");
    if (!json_is_integer(size))
        return error_set(error, "%s: vocab_size is missing", plan->path);
    if ((size_t)json_integer_value(size) != plan->config.vocabulary)
        return error_set(error, "%s: vocab_size %lld, but the file has %zu embeddings",
                         plan->path, (long long)json_integer_value(size),
                         plan->config.vocabulary);
    return true;
}

static bool read_reading(ImportPlan *plan, const json_t *root, const Reading *reading,
                         Error *error)
{
    const OptionGroup group = config_group(&plan->config);
    bool good = options_read_text(&group, 1, NO_EXTRAS, "the family", error) &&
                options_read_text(&group, 1, reading->settings, "the family", error);
    for (const Must *must = reading->musts; good && must->key; must++)
        good = check_must(plan, root, must, error);
    for (const Rule *rule = reading->rules; good && rule->key; rule++)
        good = apply_rule(plan, root, rule, error);
    return good && (!reading->more || reading->more(plan, root, error));
}

static bool read_foreign(ImportPlan *plan, const json_t *root, Error *error)
{
    plan->corpus.tokenizer = TOKENIZER_BPE;
    return check_common(plan, root, error) && check_vocabulary(plan, root, error) &&
           read_reading(plan, root, reading_of(plan->family), error);
}

/* The token that a text begins after; language models are trained with it between texts. */
static int32_t start_of(const json_t *root, size_t vocabulary)
{
    static const char *const keys[] = {"bos_token_id", "eos_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(root, keys[i]);
        value = json_is_array(value) ? json_array_get(value, 0) : value;
        if (json_is_integer(value) && json_integer_value(value) >= 0 &&
            (size_t)json_integer_value(value) < vocabulary)
            return (int32_t)json_integer_value(value);
    }
    return TOKEN_NONE;
}

/* --- linnet's own settings --- */

enum { GROUPS = 2 };

/* The object "linnet" of config.json: values under the names of the options. */
static bool read_object(const ImportPlan *plan, const OptionGroup *groups, const json_t *object,
                        Error *error)
{
    const char *name;
    json_t *value;
    bool good = true;
    json_object_foreach((json_t *)object, name, value)
    {
        char *text = typed(value);
        char *where = text_format("%s: linnet: %s", plan->path, tensor_label(name).text);
        good = text ? options_set(groups, GROUPS, name, text, where, error)
                    : error_set(error, "%s: neither a number nor a word", where);
        free(where);
        free(text);
        if (!good)
            break;
    }
    return good;
}

static bool read_own(ImportPlan *plan, const json_t *object, const char *settings, Error *error)
{
    const OptionGroup groups[GROUPS] = {config_group(&plan->config),
                                        corpus_group(&plan->corpus)};
    plan->own = true;
    return object ? read_object(plan, groups, object, error)
                  : options_read_text(groups, GROUPS, settings,
                                      "the settings in model.safetensors", error);
}

/* --- the plan --- */

static bool find_family(ImportPlan *plan, const json_t *root, Error *error)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    if (!root || (type && strcmp(type, family_linnet.type) == 0))
        plan->family = &family_linnet;
    else if (type)
        plan->family = family_find(type);
    if (plan->family)
        return true;
    char *known = memory_copy_text(family_linnet.type);
    for (size_t i = 0; family_at(i); i++)
        text_append(&known, ", %s", family_at(i)->type);
    error_set(error, "%s: model_type '%s' is none that linnet imports: %s", plan->path,
              type ? tensor_label(type).text : "", known);
    free(known);
    return false;
}

/* The number of tokens is that of the embeddings. */
static bool count_embeddings(ImportPlan *plan, const TensorStore *store, Error *error)
{
    const ParamRow row = {.name = "wte.weight", .rank = 2};
    const FamilySizes sizes = {1, 1, 1, 0};
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    family_tensors(tensors, plan->family, &row, &sizes);
    const StoredTensor *found = store_find_tensor(store, plan->family, &tensors[0]);
    if (!found)
        return error_set(error, "%s: tensor %s%s is missing", store->files[0]->path,
                         plan->family->prefix, tensors[0].name);
    plan->config.vocabulary = found->entry->shape[0];
    return (found->entry->rank == 2 && found->entry->shape[0] > 0 &&
            found->entry->shape[0] < INT32_MAX) ||
           error_set(error, "%s: tensor %s has shape %s, which are no embeddings",
                     found->file->path, found->name,
                     tensor_shape_label(found->entry->rank, found->entry->shape).text);
}

static bool read_all(ImportPlan *plan, const json_t *root, const TensorStore *store,
                     Error *error)
{
    const OptionGroup groups[GROUPS] = {config_group(&plan->config),
                                        corpus_group(&plan->corpus)};
    options_set_defaults(groups, GROUPS);
    const json_t *object = json_object_get(root, family_linnet.type);
    const char *settings = store_metadata(store, "settings");
    if (!find_family(plan, root, error) || !count_embeddings(plan, store, error))
        return false;
    if (plan->family == &family_linnet && !object && !settings)
        return error_set(error,
                         root ? "%s: it has no settings of linnet's" : "%s: it is missing",
                         plan->path);
    bool good = read_biases(plan, root, error) &&
                (object || settings ? read_own(plan, object, settings, error)
                                    : read_foreign(plan, root, error));
    Error why;
    if (good && !config_check(&plan->config, &why))
        good = error_set(error, "%s: %s", plan->own ? "the stored settings" : plan->path,
                         why.text);
    return good;
}

bool plan_read(ImportPlan *plan, const char *folder, const TensorStore *store, Error *error)
{
    *plan = (ImportPlan){.attention_bias = true, .mlp_bias = true, .start = TOKEN_NONE};
    plan->path = file_join(folder, CONFIG);
    json_t *root = NULL;
    if (files_has(folder, CONFIG) && !(root = files_json(folder, CONFIG, FILES_SMALL, error)))
        return false;
    bool good = read_all(plan, root, store, error);
    plan->key_heads = plan->key_heads ? plan->key_heads : plan->config.heads;
    plan->start = start_of(root, plan->config.vocabulary);
    json_decref(root);
    return good;
}

void plan_free(ImportPlan *plan)
{
    const OptionGroup groups[GROUPS] = {config_group(&plan->config),
                                        corpus_group(&plan->corpus)};
    options_free_texts(groups, GROUPS);
    for (size_t i = 0; i < arrlenu(plan->notes); i++)
        free(plan->notes[i]);
    arrfree(plan->notes);
    free(plan->path);
    *plan = (ImportPlan){0};
}

void plan_note(ImportPlan *plan, const char *format, ...)
{
    char text[sizeof(Error)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *note = memory_copy_text(text);
    arrput(plan->notes, note);
}

FamilySizes plan_sizes(const ImportPlan *plan)
{
    FamilySizes sizes = family_sizes(&plan->config);
    sizes.key_heads = plan->key_heads;
    return sizes;
}
