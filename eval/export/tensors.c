/* Writes the weights. Their names and the order of axes are GPT-2's already, except for a
 * prefix. */
#include "eval/export/forms.h"
#include "src/containers.h"
#include "src/text.h"

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

bool export_tensors(ExportFolder *folder, const LoadedModel *loaded, const char *prefix,
                    const real *positions, Error *error)
{
    const Model *model = &loaded->model;
    const ModelConfig *config = &model->config;
    TensorRecord *records = NULL;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        arrput(records, record_of(prefix, row, model->base + row->offset));
    }
    if (positions) {
        ParamRow row = {
            .name = "wpe.weight", .rank = 2, .shape = {config->context, config->dim}};
        arrput(records, record_of(prefix, &row, positions));
    }
    const MetadataPair metadata[] = {
        {"linnet", LINNET_VERSION},
        {"settings", safetensors_metadata(&loaded->checkpoint.file, "settings")}};
    bool good = safetensors_write(export_folder_file(folder, "model.safetensors"), records,
                                  arrlenu(records), metadata,
                                  sizeof metadata / sizeof *metadata, error);
    for (size_t i = 0; i < arrlenu(records); i++)
        free((char *)records[i].name);
    arrfree(records);
    return good;
}
