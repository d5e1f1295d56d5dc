/* Writes the weights, under the names and in the layout of a family of models. Those of GPT-2
 * and of linnet's own module are linnet's already, except for a prefix. */
#include "models/exchange/family.h"
#include "models/exchange/forms.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

typedef struct Records {
    const Family *family; /* NULL: linnet's names without a prefix */
    FamilySizes sizes;
    TensorRecord *all; /* an stb_ds array; the names are owned */
    real **converted;  /* data in another layout, an stb_ds array */
} Records;

static void add(Records *records, char *name, size_t rank, const size_t *shape,
                const real *data)
{
    TensorRecord record = {
        .name = name, .type = TENSOR_REAL, .rank = rank, .shape = {shape[0], shape[1]}};
    record.data = data;
    arrput(records->all, record);
}

static const real *convert(Records *records, const FamilyTensor *tensor, const real *here)
{
    if (tensor->layout == FAMILY_PLAIN)
        return here;
    real *there = memory_take(tensor->rows * tensor->columns, sizeof *there, "a tensor");
    family_give(tensor, here, there);
    arrput(records->converted, there);
    return there;
}

static void add_row(Records *records, const ParamRow *row, const real *data)
{
    FamilyTensor tensors[FAMILY_MOST_PARTS];
    if (!records->family) {
        add(records, memory_copy_text(row->name), row->rank, row->shape, data);
        return;
    }
    size_t count = family_tensors(tensors, records->family, row, &records->sizes);
    for (size_t i = 0; i < count; i++)
        add(records,
            text_format("%s%s", tensors[i].prefixed ? records->family->prefix : "",
                        tensors[i].name),
            row->rank, tensors[i].shape, convert(records, &tensors[i], data));
}

static void records_free(Records *records)
{
    for (size_t i = 0; i < arrlenu(records->all); i++)
        free((char *)records->all[i].name);
    for (size_t i = 0; i < arrlenu(records->converted); i++)
        free(records->converted[i]);
    arrfree(records->all);
    arrfree(records->converted);
}

/* The form's tensors that the model lacks: its biases are 0. The caller frees the result. */
static real *add_missing(Records *records, const Model *model, const ExportForm *form)
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
            add_row(records, row, positions ? form->positions : zeros);
    }
    param_table_free(&table);
    return zeros;
}

bool export_tensors(ExportFolder *folder, const LoadedModel *loaded, const Family *family,
                    const ExportForm *form, Error *error)
{
    const Model *model = &loaded->model;
    Records records = {.family = family, .sizes = family_sizes(&model->config)};
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        if (!form || !form->leaves_out || !form->leaves_out(model, row))
            add_row(&records, row, model->base + row->offset);
    }
    real *zeros = form ? add_missing(&records, model, form) : NULL;
    const SafetensorsFile *file = &loaded->checkpoint.file;
    const char *start = safetensors_metadata(file, TEXT_START_KEY);
    const MetadataPair metadata[] = {{"linnet", LINNET_VERSION},
                                     {SETTINGS_KEY, safetensors_metadata(file, SETTINGS_KEY)},
                                     {TEXT_START_KEY, start}};
    bool good = safetensors_write(export_folder_file(folder, "model.safetensors"), records.all,
                                  arrlenu(records.all), metadata, start ? 3 : 2, error);
    records_free(&records);
    free(zeros);
    return good;
}
