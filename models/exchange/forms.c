#include "models/exchange/forms.h"
#include "data/tokenizers/utf8.h"
#include "models/generator.h"
#include "src/base/containers.h"

#include <stdlib.h>

/* modeling_linnet.py as a string; made by src/build.mk. */
extern const char text_modeling_linnet_py[];

/* model.safetensors. */
static bool write_weights(ExportFolder *folder, const LoadedModel *loaded,
                          const FamilyForm *form, Error *error)
{
    const SafetensorsFile *file = &loaded->checkpoint.file;
    const char *start = safetensors_metadata(file, TEXT_START_KEY);
    const MetadataPair metadata[] = {{"linnet", LINNET_VERSION},
                                     {SETTINGS_KEY, safetensors_metadata(file, SETTINGS_KEY)},
                                     {TEXT_START_KEY, start}};
    ExportTensors tensors;
    export_tensors_make(&tensors, &loaded->model, form);
    bool good = safetensors_write(export_folder_file(folder, "model.safetensors"),
                                  tensors.records, arrlenu(tensors.records), metadata,
                                  start ? 3 : 2, error);
    export_tensors_free(&tensors);
    return good;
}

/* --- transformers --- */

/* As sample by default: texts begin after an <eos> and do not end at the next. There is no
 * max_length, which would make transformers warn if max_new_tokens is given, and no token for
 * padding: transformers would take each <eos> of a prompt for one. */
static json_t *generation_json(int eos, bool has_cache)
{
    return json_pack("{s:i, s:b, s:f, s:i, s:b}", "bos_token_id", eos, "do_sample", true,
                     "temperature", 0.8, "top_k", 0, "use_cache", has_cache);
}

bool export_transformers(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    const ModelConfig *config = &loaded->model.config;
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    Error lacks;
    const Family *known = family_of(config, &lacks), *family = known ? known : &family_linnet;
    return write_weights(folder, loaded, &family->form, error) &&
           (known ||
            export_folder_text(folder, "modeling_linnet.py", text_modeling_linnet_py, error)) &&
           export_folder_json(folder, "config.json", export_config(loaded, family), error) &&
           export_folder_json(folder, "generation_config.json",
                              generation_json(vocabulary_start(vocabulary), known), error) &&
           export_tokenizer(folder, vocabulary, error) &&
           export_tokenizer_config(folder, vocabulary, config->context, error);
}

/* --- plain --- */

static json_t *metadata_json(const LoadedModel *loaded)
{
    static const char *const of_the_file[] = {"crc32", "header_crc32", "format"};
    json_t *metadata = json_copy(
        json_object_get(loaded->checkpoint.file.header.tree, "__metadata__"));
    for (size_t i = 0; i < sizeof of_the_file / sizeof *of_the_file; i++)
        json_object_del(metadata, of_the_file[i]);
    return metadata;
}

bool export_plain(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    /* A file for --preset: all training settings, if they are stored. */
    const char *preset = checkpoint_extra(&loaded->checkpoint, TRAINING_KEY);
    preset = preset ? preset : checkpoint_extra(&loaded->checkpoint, SETTINGS_KEY);
    return write_weights(folder, loaded, &family_plain_form, error) &&
           export_folder_json(folder, "settings.json", export_settings_json(loaded), error) &&
           export_folder_text(folder, "settings.conf", preset, error) &&
           export_folder_json(folder, "metadata.json", metadata_json(loaded), error) &&
           export_vocabulary_json(folder, vocabulary, error) &&
           export_vocabulary_text(folder, vocabulary, error);
}

/* --- example.json --- */

static bool check_text(const char *name, const char *text, size_t size, Error *error)
{
    for (size_t at = 0, length; at < size; at += length) {
        length = text[at] ? utf8_length(text + at, size - at) : 0;
        if (!length)
            return error_set(
                error, "%s: byte %zu is not UTF-8 text, which an example has to be", name, at);
    }
    return true;
}

static json_t *example_json(const Model *model, const char *text, const int32_t *ids,
                            size_t count)
{
    size_t context = model->config.context, read = context < count ? context : count;
    json_t *tokens = json_array(), *logits = json_array();
    Generator generator;
    generator_make(&generator, model, 1);
    generator_restart(&generator);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(tokens, json_integer(ids[i]));
        if (i >= count - read)
            generator_read(&generator, &ids[i]);
    }
    for (size_t i = 0; i < model->config.vocabulary; i++)
        json_array_append_new(logits, json_figure((double)generator.logits[i]));
    generator_free(&generator);
    return json_pack("{s:s, s:o, s:o, s:o}", "text", text, "ids", tokens, "tokens_read",
                     json_count(read), "logits", logits);
}

bool export_example(ExportFolder *folder, const LoadedModel *loaded, const char *name,
                    const char *text, size_t size, Error *error)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    int32_t *ids = NULL;
    size_t unknown;
    if (!check_text(name, text, size, error) ||
        !vocabulary_encode(vocabulary, name, text, size, &ids, &unknown, error))
        return false;
    size_t count = arrlenu(ids);
    bool good = count > 0
                    ? export_folder_json(folder, "example.json",
                                         example_json(&loaded->model, text, ids, count), error)
                    : error_set(error, "%s: an example needs at least one token", name);
    arrfree(ids);
    return good;
}
