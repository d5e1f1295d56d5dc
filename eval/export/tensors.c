/* Writes the weights. Their names and the order of axes are GPT-2's already, except for a
 * prefix. */
#include "eval/export/forms.h"
#include "src/containers.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_head(const char *name)
{
    return strncmp(name, "lm_head.", strlen("lm_head.")) == 0;
}

static TensorRecord record_of(const char *prefix, const ParamRow *row, const real *data)
{
    return (TensorRecord){
        .name = text_format("%s%s", is_of_head(row->name) ? "" : prefix, row->name),
        .type = TENSOR_REAL,
        .rank = row->rank,
        .shape = {row->shape[0], row->shape[1]},
        .data = data};
}

/* The form's tensors that the model lacks: its biases are 0. The caller frees the result. */
static real *add_missing(TensorRecord **records, const char *prefix, const Model *model,
                         const ExportForm *form)
{
    ParamTable table;
    param_table_make(&table, &form->config);
    size_t most = 1;
    for (size_t i = 0; i < table.count; i++)
        most = table.rows[i].count > most ? table.rows[i].count : most;
    real *zeros = memory_take(most, sizeof *zeros, "the biases");
    for (size_t i = 0; i < table.count; i++) {
        const ParamRow *row = &table.rows[i];
        bool positions = strcmp(row->name, "wpe.weight") == 0;
        if (!param_table_find(&model->table, row->name))
            arrput(*records, record_of(prefix, row, positions ? form->positions : zeros));
    }
    param_table_free(&table);
    return zeros;
}

bool export_tensors(ExportFolder *folder, const LoadedModel *loaded, const char *prefix,
                    const ExportForm *form, Error *error)
{
    const Model *model = &loaded->model;
    TensorRecord *records = NULL;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        arrput(records, record_of(prefix, row, model->base + row->offset));
    }
    real *zeros = form ? add_missing(&records, prefix, model, form) : NULL;
    const MetadataPair metadata[] = {
        {"linnet", LINNET_VERSION},
        {"settings", safetensors_metadata(&loaded->checkpoint.file, "settings")}};
    bool good = safetensors_write(export_folder_file(folder, "model.safetensors"), records,
                                  arrlenu(records), metadata,
                                  sizeof metadata / sizeof *metadata, error);
    for (size_t i = 0; i < arrlenu(records); i++)
        free((char *)records[i].name);
    arrfree(records);
    free(zeros);
    return good;
}
