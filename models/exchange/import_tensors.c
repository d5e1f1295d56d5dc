#include "models/exchange/import_tensors.h"
#include "models/exchange/forms.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POSITIONS "wpe.weight"
#define HEAD      "lm_head.weight"

/* --- checking --- */

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
    if (entry->rank == tensor->rank && entry->shape[0] == tensor->shape[0] &&
        (entry->rank == 1 || entry->shape[1] == tensor->shape[1]))
        return true;
    return error_set(error, "%s: tensor %s has shape %s, the settings require %s",
                     found->file->path, tensor_label(found->name).text,
                     tensor_shape_label(entry->rank, entry->shape).text,
                     tensor_shape_label(tensor->rank, tensor->shape).text);
}

static bool check_row(TensorStore *store, const ImportPlan *plan, const ParamRow *row,
                      Error *error)
{
    const FamilySizes sizes = plan_sizes(plan);
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    size_t count = family_tensors(tensors, plan->family, row, &sizes);
    if (is_absent(plan, row))
        return true;
    if (count == 0)
        return error_set(error,
                         "a model of type %s has no tensor for %s, so it cannot be "
                         "imported",
                         plan->family->type, row->name);
    for (size_t i = 0; i < count; i++) {
        StoredTensor *found = store_find_tensor(store, plan->family, &tensors[i]);
        if (!found)
            return error_set(error, "%s: tensor %s%s is missing", store->files[0]->path,
                             tensors[i].prefixed ? plan->family->prefix : "", tensors[i].name);
        if (!check_tensor(found, &tensors[i], error))
            return false;
        found->used = true;
    }
    return true;
}

/* --- tensors that the model does not store --- */

/* A row of this name, as a tensor of the family. */
static FamilyTensor described(const ImportPlan *plan, const char *name, size_t rows)
{
    ParamRow row = {.rank = 2, .shape = {rows, plan->config.dim}};
    FamilyTensor tensors[FAMILY_MOST_PARTS] = {{.name = ""}};
    const FamilySizes sizes = plan_sizes(plan);
    snprintf(row.name, sizeof row.name, "%s", name);
    family_tensors(tensors, plan->family, &row, &sizes);
    return tensors[0];
}

/* The head of a model whose embeddings are tied, if the files have one. */
static StoredTensor *tied_head(const TensorStore *store, const ImportPlan *plan,
                               FamilyTensor *head)
{
    *head = described(plan, HEAD, plan->config.vocabulary);
    return plan->config.tied ? store_find_tensor(store, plan->family, head) : NULL;
}

/* The tensors that an export for transformers adds: of a GPT-2 the computed positions, and
 * zeros where the model has no biases. */
static ParamTable form_table(const ImportPlan *plan)
{
    ParamTable table = {0};
    ModelConfig form = family_form(plan->family, &plan->config);
    if (plan->own)
        param_table_make(&table, &form);
    return table;
}

static StoredTensor *find_added(const TensorStore *store, const ImportPlan *plan,
                                const ParamTable *table, const ParamRow *row,
                                FamilyTensor *tensor)
{
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    const FamilySizes sizes = plan_sizes(plan);
    if (param_table_find(table, row->name) ||
        family_tensors(tensors, plan->family, row, &sizes) != 1)
        return NULL;
    *tensor = tensors[0];
    return store_find_tensor(store, plan->family, tensor);
}

static bool check_added(const TensorStore *store, const ImportPlan *plan,
                        const ParamTable *table, Error *error)
{
    ParamTable form = form_table(plan);
    bool good = true;
    for (size_t i = 0; good && i < form.count; i++) {
        FamilyTensor tensor;
        StoredTensor *found = find_added(store, plan, table, &form.rows[i], &tensor);
        good = !found || check_tensor(found, &tensor, error);
        if (found)
            found->used = true;
    }
    param_table_free(&form);
    return good;
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

bool tensors_check(TensorStore *store, const ImportPlan *plan, const ParamTable *table,
                   Error *error)
{
    for (size_t i = 0; i < table->count; i++)
        if (!check_row(store, plan, &table->rows[i], error))
            return false;
    FamilyTensor head;
    StoredTensor *tied = tied_head(store, plan, &head);
    if (tied && !check_tensor(tied, &head, error))
        return false;
    if (tied)
        tied->used = true;
    if (!check_added(store, plan, table, error))
        return false;
    return check_rest(store, plan, error);
}

/* --- loading --- */

static bool load_tensor(const StoredTensor *found, const FamilyTensor *tensor, real *here,
                        Error *error)
{
    if (tensor->layout == FAMILY_PLAIN)
        return safetensors_load_reals(found->file, found->name, tensor->rank, tensor->shape,
                                      here, error);
    size_t count = tensor->shape[0] * (tensor->rank == 2 ? tensor->shape[1] : 1);
    real *there = memory_take(count, sizeof *there, "a tensor");
    bool good = safetensors_load_reals(found->file, found->name, tensor->rank, tensor->shape,
                                       there, error);
    if (good)
        family_take(tensor, here, there);
    free(there);
    return good;
}

/* Loads a tensor that must equal what the model has already. */
static bool compare_tensor(const StoredTensor *found, const real *expected, const char *why,
                           Error *error)
{
    const TensorEntry *entry = found->entry;
    size_t count = entry->shape[0] * (entry->rank == 2 ? entry->shape[1] : 1);
    real *values = memory_take(count, sizeof *values, "a tensor");
    bool good = safetensors_load_reals(found->file, found->name, entry->rank, entry->shape,
                                       values, error);
    for (size_t i = 0; good && i < count; i++)
        if (values[i] < expected[i] || values[i] > expected[i])
            good = error_set(error, "%s: tensor %s: %s", found->file->path,
                             tensor_label(found->name).text, why);
    free(values);
    return good;
}

static bool compare_head(const TensorStore *store, const ImportPlan *plan, const Model *model,
                         Error *error)
{
    FamilyTensor tensor;
    const StoredTensor *head = tied_head(store, plan, &tensor);
    return !head || compare_tensor(head, model->at.wte,
                                   "it differs from the embeddings, although config.json says "
                                   "that they are tied",
                                   error);
}

static bool compare_added(const TensorStore *store, const ImportPlan *plan,
                          const ParamTable *table, Error *error)
{
    ParamTable form = form_table(plan);
    bool good = true;
    for (size_t i = 0; good && i < form.count; i++) {
        const ParamRow *row = &form.rows[i];
        FamilyTensor tensor;
        const StoredTensor *found = find_added(store, plan, table, row, &tensor);
        if (!found)
            continue;
        real *expected = strcmp(row->name, POSITIONS) == 0
                             ? export_fixed_positions(&plan->config)
                             : memory_take(row->count, sizeof *expected, "a tensor");
        good = compare_tensor(found, expected, "it differs from what the settings say", error);
        free(expected);
    }
    param_table_free(&form);
    return good;
}

bool tensors_load(const TensorStore *store, const ImportPlan *plan, Model *model, Error *error)
{
    const FamilySizes sizes = plan_sizes(plan);
    bool good = true;
    for (size_t i = 0; good && i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        FamilyTensor tensors[FAMILY_MOST_PARTS];
        size_t count = is_absent(plan, row)
                           ? 0
                           : family_tensors(tensors, plan->family, row, &sizes);
        for (size_t part = 0; good && part < count; part++)
            good = load_tensor(store_find_tensor(store, plan->family, &tensors[part]),
                               &tensors[part], model->base + row->offset, error);
    }
    return good && compare_head(store, plan, model, error) &&
           compare_added(store, plan, &model->table, error);
}
