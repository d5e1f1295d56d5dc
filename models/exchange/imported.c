#include "models/exchange/imported.h"
#include "models/exchange/folder.h"
#include "models/exchange/forms.h"
#include "models/exchange/import_tensors.h"
#include "models/exchange/import_vocabulary.h"
#include "models/checkpoint.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <stdlib.h>

/* --- opening --- */

/* A model with fewer tensors than layers is refused before its table is made. */
static bool make_model(ImportedModel *imported, TensorStore *store, Error *error)
{
    const ModelConfig *config = &imported->plan.config;
    if (config->layers > arrlenu(store->tensors))
        return error_set(error, "%s: %zu tensors are too few for a model of %zu layers",
                         store->files[0]->path, arrlenu(store->tensors), config->layers);
    model_make(&imported->model, config);
    return tensors_check(store, &imported->plan, &imported->model.table, error);
}

/* Only tokens of byte-pair encoding can be special. */
static void set_start(ImportedModel *imported)
{
    const Vocabulary *vocabulary = &imported->vocabulary;
    int32_t start = imported->plan.start;
    if (vocabulary->bpe && start != TOKEN_NONE && start != vocabulary->eos)
        imported->vocabulary.start = start;
}

/* What linnet exported is read from its settings and tensors; config.json must agree. */
static bool check_export(const ImportedModel *imported, Error *error)
{
    const LoadedModel loaded = {
        .model = imported->model,
        .checkpoint = {.vocabulary = imported->vocabulary, .corpus = imported->plan.corpus}};
    return !imported->plan.own || !imported->plan.root ||
           plan_check_export(&imported->plan, export_config(&loaded, imported->plan.family),
                             error);
}

static bool read_all(ImportedModel *imported, TensorStore *store, const char *folder,
                     Error *error)
{
    if (!plan_read(&imported->plan, folder, store, error) ||
        !make_model(imported, store, error) ||
        !import_vocabulary(&imported->vocabulary, &imported->plan, folder, error))
        return false;
    set_start(imported);
    model_allocate(&imported->model);
    return tensors_load(store, &imported->plan, &imported->model, error) &&
           check_export(imported, error);
}

bool imported_open(ImportedModel *imported, const char *folder, Error *error)
{
    TensorStore store;
    *imported = (ImportedModel){0};
    if (!file_is_folder(folder))
        return error_set(error,
                         "%s: %s; a model is a directory with config.json and "
                         "model.safetensors",
                         folder, file_exists(folder) ? "not a directory" : "no such directory");
    if (!store_open(&store, folder, error))
        return false;
    bool good = read_all(imported, &store, folder, error);
    store_close(&store);
    if (!good)
        imported_close(imported);
    return good;
}

void imported_close(ImportedModel *imported)
{
    model_free(&imported->model);
    vocabulary_free(&imported->vocabulary);
    plan_free(&imported->plan);
}

/* --- saving --- */

static char *settings_file(const ImportedModel *imported, const char *source)
{
    const OptionGroup groups[] = {config_group(&imported->model.config),
                                  corpus_group(&imported->plan.corpus)};
    char *settings = options_write_text(groups, sizeof groups / sizeof *groups);
    char *line = text_one_line(source); /* or a name with a line end would add settings */
    char *text = text_format("# imported from %s\n# parameters: %zu\n%s", line,
                             imported->model.table.parameters, settings);
    free(line);
    free(settings);
    return text;
}

static bool write_files(ExportFolder *folder, const ImportedModel *imported, const char *source,
                        Error *error)
{
    const MetadataPair origin = {"imported", source};
    const CheckpointContent content = {.model = &imported->model,
                                       .vocabulary = &imported->vocabulary,
                                       .corpus = &imported->plan.corpus,
                                       .extra = &origin,
                                       .extra_count = 1};
    char *settings = settings_file(imported, source);
    bool good = checkpoint_save(export_folder_file(folder, "best.safetensors"), &content,
                                error) &&
                export_folder_text(folder, "settings.conf", settings, error);
    free(settings);
    return good;
}

bool imported_save(const ImportedModel *imported, const char *source, const char *run,
                   Error *error)
{
    ExportFolder folder;
    if (!file_make_parents(run, error) || !export_folder_begin(&folder, run, error))
        return false;
    if (write_files(&folder, imported, source, error))
        return export_folder_commit(&folder, error);
    export_folder_abort(&folder);
    return false;
}
