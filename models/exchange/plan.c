/* What a directory says about its model: config.json, or the settings that linnet stored. */
#include "models/exchange/imported.h"
#include "models/checkpoint.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG "config.json"

/* --- linnet's own settings --- */

/* The object "linnet" of config.json: values under the names of the options. */
static bool read_object(const ImportPlan *plan, const Options *options, const json_t *object,
                        Error *error)
{
    const char *name;
    json_t *value;
    bool good = true;
    json_object_foreach((json_t *)object, name, value)
    {
        char *text = config_json_typed(value);
        char *where = text_format("%s: linnet: %s", plan->path, tensor_label(name).text);
        good = text ? options_set(options, name, text, where, error)
                    : error_set(error, "%s: neither a number nor a word", where);
        free(where);
        free(text);
        if (!good)
            break;
    }
    return good;
}

static bool read_exported(ImportPlan *plan, const json_t *object, const char *settings,
                          Error *error)
{
    const Options options = checkpoint_options(&plan->config, &plan->corpus);
    plan->exported = true;
    return settings ? options_read_text(&options, settings, "the settings in model.safetensors",
                                        error)
                    : read_object(plan, &options, object, error);
}

/* --- the plan --- */

static bool is_id(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) < INT32_MAX;
}

/* Ids may be missing, several, or, as transformers' default for a GPT-2, beyond the vocabulary.
 */
static bool check_ids(const ImportPlan *plan, Error *error)
{
    static const char *const keys[] = {"bos_token_id", "eos_token_id", "pad_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(plan->root, keys[i]);
        bool good = !value || json_is_null(value) || json_is_array(value) || is_id(value);
        for (size_t k = 0; k < json_array_size(value); k++)
            good &= is_id(json_array_get(value, k));
        if (!good)
            return error_set(error, "%s: %s is %s, which is no id of a token", plan->path,
                             keys[i], config_json_shown(value).text);
    }
    return true;
}

/* The token that a text begins after; language models are trained with it between texts. What
 * linnet exported has it beside the tensors. */
static int32_t start_of(const json_t *root, const TensorStore *store, size_t vocabulary)
{
    const char *stored = store_metadata(store, TEXT_START_KEY);
    size_t id;
    if (stored && text_to_size(stored, &id) && id < vocabulary)
        return (int32_t)id;
    static const char *const keys[] = {"bos_token_id", "eos_token_id"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(root, keys[i]);
        value = json_is_array(value) ? json_array_get(value, 0) : value;
        if (is_id(value) && (size_t)json_integer_value(value) < vocabulary)
            return (int32_t)json_integer_value(value);
    }
    return TOKEN_NONE;
}

static bool find_family(ImportPlan *plan, const json_t *root, Error *error)
{
    const json_t *value = json_object_get(root, "model_type");
    const char *type = json_string_value(value);
    if (!root || (type && strcmp(type, family_linnet.type) == 0))
        plan->family = &family_linnet;
    else if (type)
        plan->family = family_find(type);
    if (plan->family)
        return true;
    char *known = memory_copy_text(family_linnet.type);
    for (size_t i = 0; family_at(i); i++)
        text_append(&known, ", %s", family_at(i)->type);
    if (type)
        error_set(error, "%s: model_type '%s' is none that linnet imports: %s", plan->path,
                  tensor_label(type).text, known);
    else
        error_set(error, "%s: model_type is %s; linnet imports %s", plan->path,
                  value ? "not a word" : "missing", known);
    free(known);
    return false;
}

/* The number of tokens is that of the embeddings. */
static bool count_embeddings(ImportPlan *plan, const TensorStore *store, Error *error)
{
    const ParamRow row = {.name = "wte.weight", .rank = 2};
    const FamilySizes sizes = {1, 1, 1, 0};
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    family_tensors(tensors, &plan->family->form, &row, &sizes);
    const StoredTensor *found = store_find_tensor(store, &plan->family->form, &tensors[0]);
    if (!found)
        return error_set(error, "%s: tensor %s%s is missing", store->files[0]->path,
                         plan->family->form.prefix, tensors[0].name);
    plan->config.vocabulary = found->entry->shape[0];
    return (found->entry->rank == 2 && found->entry->shape[0] > 0 &&
            found->entry->shape[0] < INT32_MAX) ||
           error_set(error,
                     "%s: tensor %s has shape %s; embeddings must be (tokens, dimension)",
                     found->file->path, found->name,
                     tensor_shape_label(found->entry->rank, found->entry->shape).text);
}

static bool read_all(ImportPlan *plan, const json_t *root, const TensorStore *store,
                     Error *error)
{
    const Options options = checkpoint_options(&plan->config, &plan->corpus);
    options_set_defaults(&options);
    const json_t *object = json_object_get(root, family_linnet.type);
    const char *settings = store_metadata(store, SETTINGS_KEY);
    if (!find_family(plan, root, error) || !count_embeddings(plan, store, error))
        return false;
    if (plan->family == &family_linnet && !object && !settings)
        return error_set(error, "%s: it has no settings of linnet's", plan->path);
    bool good = config_json_read_biases(plan, error) &&
                (object || settings ? read_exported(plan, object, settings, error)
                                    : config_json_read(plan, error));
    Error why;
    if (good && !config_check(&plan->config, &why))
        good = error_set(error, "%s: %s", plan->exported ? "the stored settings" : plan->path,
                         why.text);
    return good;
}

bool plan_read(ImportPlan *plan, const char *folder, const TensorStore *store, Error *error)
{
    *plan = (ImportPlan){.attention_bias = true, .mlp_bias = true, .start = TOKEN_NONE};
    plan->path = file_join(folder, CONFIG);
    if (file_is_in(folder, CONFIG) &&
        !(plan->root = store_json(folder, CONFIG, STORE_SMALL, error)))
        return false;
    if (!plan->root && !store_metadata(store, SETTINGS_KEY))
        return error_set(error,
                         "%s: no " CONFIG " in this directory; it should be a model as Hugging "
                         "Face transformers saves it, or one that linnet exported",
                         folder);
    bool good = check_ids(plan, error) && read_all(plan, plan->root, store, error);
    plan->key_heads = plan->key_heads ? plan->key_heads : plan->config.heads;
    plan->start = start_of(plan->root, store, plan->config.vocabulary);
    return good;
}

void plan_free(ImportPlan *plan)
{
    const Options options = checkpoint_options(&plan->config, &plan->corpus);
    options_free_texts(&options);
    for (size_t i = 0; i < arrlenu(plan->notes); i++)
        free(plan->notes[i]);
    arrfree(plan->notes);
    json_decref(plan->root);
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
