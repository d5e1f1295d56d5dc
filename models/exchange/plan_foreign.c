/* The config.json of other programs. What linnet would compute differently is refused by name;
 * what is not known here, such as the names of authors, is ignored, as transformers does. */
#include "models/exchange/plan_foreign.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- tables --- */

/* A key of config.json and the option that it sets. */
typedef struct Rule {
    const char *key, *option;
    const char *fallback; /* if the key is missing or null; NULL: it is needed */
} Rule;

/* A key that must have this value, or be missing or null. */
typedef struct Must {
    const char *key;
    bool value;
    const char *reason;
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
    "qk-norm = no\nvalue-residual = no\nhead-gate = no\nword-dropout = 0\n"       \
    "input-dropout = 0\ndropout = 0\nattn-dropout = 0\noutput-dropout = 0\n"

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
     {{"scale_attn_weights", true,
       "linnet always scales attention scores by 1/sqrt(head size)"},
      {"scale_attn_by_inverse_layer_idx", false,
       "linnet does not scale attention scores by the layer"},
      {"add_cross_attention", false, "linnet has no cross-attention"}},
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

char *plan_typed(const json_t *value)
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
    char *text = value            ? plan_typed(value)
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
    return error_set(error, "%s: %s: %s", plan->path, must->key, must->reason);
}

/* --- what single families have --- */

/* A value of RoPE's stands in an object or at the top of config.json. */
typedef struct RopeValue {
    const char *option;
    const char *inner, *outer; /* the key in an object, and at the top */
    double usual;
} RopeValue;

/* The object can also scale the frequencies for longer contexts. */
static bool check_rope(const ImportPlan *plan, const json_t *root, const char *key,
                       Error *error)
{
    const json_t *object = value_of(root, key), *type = value_of(object, "rope_type");
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

/* transformers reads an object, then the top: rope_scaling, if there is anything in it,
 * replaces rope_parameters as a whole. Its other versions, and other programs, read another
 * place, so all must agree. */
static bool read_rope_value(ImportPlan *plan, const json_t *root, const RopeValue *rope,
                            Error *error)
{
    const json_t *parameters = value_of(root, "rope_parameters"),
                 *scaling = value_of(root, "rope_scaling");
    bool scales = json_object_size(scaling) > 0;
    const json_t *objects[] = {scales ? scaling : parameters, root, root, parameters};
    const char *const before[] = {scales ? "rope_scaling." : "rope_parameters.", "", "",
                                  "rope_parameters."},
                      *const keys[] = {rope->inner, rope->outer, rope->inner, rope->inner};
    enum { READ = 2, PLACES = 4 };
    size_t first = 0;
    while (first < READ && !value_of(objects[first], keys[first]))
        first++;
    json_t *usual = json_real(rope->usual);
    const json_t *value = first < READ ? value_of(objects[first], keys[first]) : usual;
    char *text = plan_typed(value);
    bool good = set_option(plan, keys[first], rope->option, text, error);
    for (size_t i = 0; good && i < PLACES; i++) {
        const json_t *other = value_of(objects[i], keys[i]);
        if (other && !plan_means(other, value))
            good = error_set(error, "%s: %s%s is %s, but %s%s is %s; keep the one that is true",
                             plan->path, before[i], keys[i], plan_shown(other).text,
                             before[first], first < READ ? keys[first] : "the default",
                             plan_shown(value).text);
    }
    free(text);
    json_decref(usual);
    return good;
}

static bool read_rope(ImportPlan *plan, const json_t *root, const RopeValue *base,
                      const RopeValue *share, Error *error)
{
    return check_rope(plan, root, "rope_parameters", error) &&
           check_rope(plan, root, "rope_scaling", error) &&
           read_rope_value(plan, root, base, error) &&
           read_rope_value(plan, root, share, error);
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

bool plan_read_biases(ImportPlan *plan, const json_t *root, Error *error)
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
    static const RopeValue base = {"rope-base", "rope_theta", "rotary_emb_base", 10000},
                           share = {"rope-share", "partial_rotary_factor", "rotary_pct", 0.25};
    const ModelConfig *config = &plan->config;
    if (!read_rope(plan, root, &base, &share, error))
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

/* The Llama of transformers 5 ignores a share of the features, that of older versions fails. */
static bool read_llama_rope(ImportPlan *plan, const json_t *root, Error *error)
{
    static const RopeValue base = {"rope-base", "rope_theta", "rope_theta", 10000},
                           share = {"rope-share", "partial_rotary_factor",
                                    "partial_rotary_factor", 1};
    if (!read_rope(plan, root, &base, &share, error))
        return false;
    return plan->config.rope_share >= 1 ||
           error_set(error,
                     "%s: partial_rotary_factor %g: in transformers, a Llama rotates all "
                     "features of a head, so linnet reads only 1",
                     plan->path, plan->config.rope_share);
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
    return read_key_heads(plan, root, error) && read_llama_rope(plan, root, error);
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

bool plan_read_foreign(ImportPlan *plan, const json_t *root, Error *error)
{
    plan->corpus.tokenizer = TOKENIZER_BPE;
    return check_common(plan, root, error) && check_vocabulary(plan, root, error) &&
           read_reading(plan, root, reading_of(plan->family), error);
}
