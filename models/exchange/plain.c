/* Exports any model as it is, for your own programs and for people. */
#include "models/exchange/forms.h"

#include <stdlib.h>

/* --- settings.json --- */

static json_t *value_json(const OptionGroup *group, const Option *option)
{
    const void *field = option_field(group, option);
    if (option->type == OPTION_FLAG)
        return json_boolean(*(const bool *)field);
    if (option->type == OPTION_REAL)
        return json_figure(*(const double *)field);
    if (option->type == OPTION_SIZE && *(const size_t *)field != OPTION_AUTO)
        return json_count(*(const size_t *)field);
    char *text = option_value(group, option);
    json_t *value = json_string(text);
    free(text);
    return value;
}

/* Leaves out options of attention kinds that the model does not have. */
static bool is_told(const Option *option, const OptionGroup *group, const ModelConfig *config)
{
    bool of_model = group->target == config;
    return option->stored && (!of_model || config_has_option(config, option));
}

json_t *export_settings_json(const LoadedModel *loaded)
{
    const ModelConfig *config = &loaded->model.config;
    const OptionGroup groups[] = {config_group(config),
                                  corpus_group(&loaded->checkpoint.corpus)};
    json_t *settings = json_object();
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            if (is_told(option, &groups[g], config))
                json_object_set_new(settings, option->name, value_json(&groups[g], option));
        }
    return settings;
}

/* --- metadata.json --- */

static json_t *metadata_json(const LoadedModel *loaded)
{
    static const char *const of_the_file[] = {"crc32", "header_crc32", "format"};
    json_t *metadata = json_copy(
        json_object_get(loaded->checkpoint.file.header.tree, "__metadata__"));
    for (size_t i = 0; i < sizeof of_the_file / sizeof *of_the_file; i++)
        json_object_del(metadata, of_the_file[i]);
    return metadata;
}

/* --- the form --- */

bool export_plain(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    /* A file for --preset: all training settings, if they are stored. */
    const char *preset = checkpoint_extra(&loaded->checkpoint, "training");
    preset = preset ? preset : checkpoint_extra(&loaded->checkpoint, "settings");
    return export_tensors(folder, loaded, NULL, NULL, error) &&
           export_folder_json(folder, "settings.json", export_settings_json(loaded), error) &&
           export_folder_text(folder, "settings.conf", preset, error) &&
           export_folder_json(folder, "metadata.json", metadata_json(loaded), error) &&
           export_vocabulary_json(folder, vocabulary, error) &&
           export_vocabulary_text(folder, vocabulary, error) &&
           export_merges(folder, vocabulary, error);
}
