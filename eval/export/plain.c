/* Exports any model as it is, for your own programs and for people. */
#include "eval/export/forms.h"
#include "src/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* --- settings.json --- */

static void print_value(FILE *out, const OptionGroup *group, const Option *option)
{
    char *value = option_value(group, option);
    if (option->type == OPTION_SIZE || option->type == OPTION_REAL)
        fputs(value, out);
    else if (option->type == OPTION_FLAG)
        fputs(*(const bool *)option_field(group, option) ? "true" : "false", out);
    else
        export_json_string(out, value);
    free(value);
}

/* Leaves out options of attention kinds that the model does not have. */
static bool is_told(const Option *option, const OptionGroup *group, const ModelConfig *config)
{
    bool of_model = group->target == config;
    return option->stored && (!of_model || config_has_option(config, option));
}

static void print_settings(FILE *out, const void *what)
{
    const LoadedModel *loaded = what;
    const ModelConfig *config = &loaded->model.config;
    const OptionGroup groups[] = {
        {NULL, model_option_rows, model_option_count, (void *)config},
        {NULL, corpus_option_rows, corpus_option_count, (void *)&loaded->checkpoint.corpus}};
    const char *before = "{\n  ";
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            if (!is_told(option, &groups[g], config))
                continue;
            fprintf(out, "%s\"%s\": ", before, option->name);
            print_value(out, &groups[g], option);
            before = ",\n  ";
        }
    fputs("\n}\n", out);
}

/* --- metadata.json --- */

/* Keys that concern only the checkpoint file. */
static bool is_about_file(const char *key)
{
    static const char *const keys[] = {"crc32", "header_crc32", "format"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static void print_metadata(FILE *out, const void *what)
{
    const LoadedModel *loaded = what;
    const char *before = "{\n  ", *key;
    json_t *value, *tree = loaded->checkpoint.file.header.tree;
    json_object_foreach(json_object_get(tree, "__metadata__"), key, value)
    {
        if (is_about_file(key))
            continue;
        fputs(before, out);
        export_json_string(out, key);
        fputs(": ", out);
        export_json_string(out, json_string_value(value));
        before = ",\n  ";
    }
    fputs("\n}\n", out);
}

/* --- settings.conf --- */

/* All training settings, if stored, as a file for --preset. */
static void print_preset(FILE *out, const void *what)
{
    const LoadedModel *loaded = what;
    const char *training = checkpoint_extra(&loaded->checkpoint, "training");
    fputs(training ? training : checkpoint_extra(&loaded->checkpoint, "settings"), out);
}

/* --- the forms --- */

bool export_plain(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    return export_tensors(folder, loaded, "", NULL, error) &&
           export_folder_print(folder, "settings.json", print_settings, loaded, error) &&
           export_folder_print(folder, "metadata.json", print_metadata, loaded, error) &&
           export_vocabulary_json(folder, &loaded->checkpoint.vocabulary, error);
}

bool export_text(ExportFolder *folder, const LoadedModel *loaded, Error *error)
{
    return export_folder_print(folder, "settings.conf", print_preset, loaded, error) &&
           export_folder_print(folder, "metadata.json", print_metadata, loaded, error) &&
           export_vocabulary_text(folder, &loaded->checkpoint.vocabulary, error);
}
