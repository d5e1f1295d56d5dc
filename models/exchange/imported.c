#include "models/exchange/imported.h"
#include "models/exchange/folder.h"
#include "models/exchange/forms.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- which tensors the files have --- */

static FamilySizes plan_sizes(const ImportPlan *plan)
{
    FamilySizes sizes = family_sizes(&plan->config);
    sizes.key_heads = plan->key_heads;
    return sizes;
}

/* The tensors that files can have: the model's, the head of a model whose embeddings are tied,
 * and those that an export for transformers adds: of a GPT-2 the computed positions, and zeros
 * where the model has no biases. */
static ParamTable whole_table(const ImportPlan *plan)
{
    ParamTable table;
    ModelConfig whole = plan->exported ? family_form_config(&plan->family->form, &plan->config)
                                       : plan->config;
    whole.tied = false;
    param_table_make(&table, &whole);
    return table;
}

/* Whether the model of this family and config has no such tensor; it is then zero. */
static bool is_absent(const ImportPlan *plan, const ParamRow *row)
{
    if (!text_ends_in(row->name, ".bias"))
        return false;
    return strstr(row->name, ".mlp.") ? !plan->mlp_bias
                                      : strstr(row->name, ".attn.") && !plan->attention_bias;
}

static bool check_tensor(const StoredTensor *found, const FamilyTensor *tensor, Error *error)
{
    const TensorEntry *entry = found->entry;
    if (tensor_has_shape(entry, tensor->rank, tensor->shape))
        return true;
    return error_set(error, "%s: tensor %s has shape %s, the settings require %s",
                     found->file->path, tensor_label(found->name).text,
                     tensor_shape_label(entry->rank, entry->shape).text,
                     tensor_shape_label(tensor->rank, tensor->shape).text);
}

static bool check_row(TensorStore *store, const ImportPlan *plan, const ParamRow *row,
                      bool needed, Error *error)
{
    const FamilySizes sizes = plan_sizes(plan);
    const FamilyForm *form = &plan->family->form;
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    size_t count = is_absent(plan, row) ? 0 : family_tensors(tensors, form, row, &sizes);
    if (count == 0 && needed && !is_absent(plan, row))
        return error_set(error,
                         "a model of type %s has no tensor for %s, so it cannot be "
                         "imported",
                         plan->family->type, row->name);
    for (size_t i = 0; i < count; i++) {
        StoredTensor *found = store_find_tensor(store, form, &tensors[i]);
        if (!found && needed)
            return error_set(error, "%s: tensor %s%s is missing", store->files[0]->path,
                             tensors[i].prefixed ? form->prefix : "", tensors[i].name);
        if (found && !check_tensor(found, &tensors[i], error))
            return false;
        if (found)
            found->used = true;
    }
    return true;
}

static bool check_rest(const TensorStore *store, const ImportPlan *plan, Error *error)
{
    for (size_t i = 0; i < arrlenu(store->tensors); i++) {
        const StoredTensor *tensor = &store->tensors[i];
        if (!tensor->used && !family_is_buffer(plan->family, tensor->name))
            return error_set(error,
                             "%s: unexpected tensor %s: a model of the type %s with "
                             "these settings has none",
                             tensor->file->path, tensor_label(tensor->name).text,
                             plan->family->type);
    }
    return true;
}

/* Checks that the files have all tensors of the model, in the right shapes, and no others: so
 * what the model takes is bounded by the size of the files. */
static bool check_tensors(TensorStore *store, const ImportPlan *plan, const ParamTable *table,
                          Error *error)
{
    ParamTable whole = whole_table(plan);
    bool good = true;
    for (size_t i = 0; good && i < whole.count; i++)
        good = check_row(store, plan, &whole.rows[i],
                         param_table_find(table, whole.rows[i].name), error);
    param_table_free(&whole);
    return good && check_rest(store, plan, error);
}

/* --- loading them --- */

/* Into linnet's tensor, or the share of it that this one has. */
static bool load_tensor(const StoredTensor *found, const FamilyTensor *tensor, real *linnet,
                        Error *error)
{
    if (tensor->layout == FAMILY_PLAIN)
        return safetensors_load_reals(found->file, found->name, tensor->rank, tensor->shape,
                                      linnet, error);
    size_t count = tensor->shape[0] * (tensor->rank == 2 ? tensor->shape[1] : 1);
    real *foreign = memory_new(count, sizeof *foreign, "a tensor");
    bool good = safetensors_load_reals(found->file, found->name, tensor->rank, tensor->shape,
                                       foreign, error);
    if (good)
        family_read(tensor, linnet, foreign);
    free(foreign);
    return good;
}

/* Loads a tensor that the model does not store. It must equal what the model computes. */
static bool compare_tensor(const StoredTensor *found, const FamilyTensor *tensor,
                           const Model *model, const ParamRow *row, Error *error)
{
    real *values = memory_new(row->count, sizeof *values, "a tensor"),
         *expected = export_missing(model, row);
    bool good = load_tensor(found, tensor, values, error);
    for (size_t i = 0; good && i < row->count; i++)
        if (values[i] < expected[i] || values[i] > expected[i])
            good = error_set(error, "%s: tensor %s: %s", found->file->path,
                             tensor_label(found->name).text,
                             strcmp(row->name, "lm_head.weight") == 0
                                 ? "it differs from the embeddings, although config.json says "
                                   "that they are tied"
                                 : "it differs from what the settings say");
    free(values);
    free(expected);
    return good;
}

static bool load_row(const TensorStore *store, const ImportPlan *plan, const Model *model,
                     const ParamRow *row, Error *error)
{
    const FamilySizes sizes = plan_sizes(plan);
    const FamilyForm *form = &plan->family->form;
    const ParamRow *has = param_table_find(&model->table, row->name);
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    size_t count = is_absent(plan, row) ? 0 : family_tensors(tensors, form, row, &sizes);
    bool good = true;
    for (size_t i = 0; good && i < count; i++) {
        const StoredTensor *found = store_find_tensor(store, form, &tensors[i]);
        if (has)
            good = load_tensor(found, &tensors[i], model->base + has->offset, error);
        else if (found)
            good = compare_tensor(found, &tensors[i], model, row, error);
    }
    return good;
}

/* Loads what was checked. Tensors that the files need not have become zero. */
static bool load_tensors(const TensorStore *store, const ImportPlan *plan, const Model *model,
                         Error *error)
{
    ParamTable whole = whole_table(plan);
    bool good = true;
    for (size_t i = 0; good && i < whole.count; i++)
        good = load_row(store, plan, model, &whole.rows[i], error);
    param_table_free(&whole);
    return good;
}

/* --- opening --- */

/* A model with fewer tensors than layers is refused before its table is made. */
static bool make_model(ImportedModel *imported, TensorStore *store, Error *error)
{
    const ModelConfig *config = &imported->plan.config;
    if (config->layers > arrlenu(store->tensors))
        return error_set(error, "%s: %zu tensors are too few for a model of %zu layers",
                         store->files[0]->path, arrlenu(store->tensors), config->layers);
    model_make(&imported->model, config);
    return check_tensors(store, &imported->plan, &imported->model.table, error);
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
    return !imported->plan.exported || !imported->plan.root ||
           config_json_agrees(&imported->plan, export_config(&loaded, imported->plan.family),
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
    return load_tensors(store, &imported->plan, &imported->model, error) &&
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
    const Options options = checkpoint_options(&imported->model.config, &imported->plan.corpus);
    char *settings = options_write_text(&options);
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
