/* The weights of a model under the names and in the layout of another program. */
#include "models/exchange/forms.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "src/layers/embedding.h"

#include <stdlib.h>
#include <string.h>

bool export_has_biases(const Model *model, const char *part)
{
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        const real *values = model->base + row->offset;
        for (size_t k = 0; row->rank == 1 && strstr(row->name, part) && k < row->count; k++)
            if (values[k] < 0 || values[k] > 0)
                return true;
    }
    return false;
}

/* Llama has biases in the attention, in the MLP, in both or in neither. */
static bool leaves_out(const FamilyForm *form, const Model *model, const ParamRow *row)
{
    static const char *const parts[] = {".attn.", ".mlp."};
    bool needless = false;
    for (size_t i = 0; form->parts && !form->biases && row->rank == 1 && i < 2; i++)
        needless |= strstr(row->name, parts[i]) && !export_has_biases(model, parts[i]);
    return needless;
}

/* data (rank and shape of row): the model's, or made for it. */
static void add_row(ExportTensors *tensors, const FamilyForm *form, const FamilySizes *sizes,
                    const ParamRow *row, const real *data)
{
    FamilyTensor found[FAMILY_MOST_PARTS];
    size_t count = family_tensors(found, form, row, sizes);
    for (size_t i = 0; i < count; i++) {
        const FamilyTensor *tensor = &found[i];
        TensorRecord record = {
            .name = text_format("%s%s", tensor->prefixed ? form->prefix : "", tensor->name),
            .type = TENSOR_REAL,
            .rank = row->rank,
            .shape = {tensor->shape[0], tensor->shape[1]}};
        record.data = data;
        if (tensor->layout != FAMILY_PLAIN) {
            real *laid_out = memory_new(tensor->rows * tensor->columns, sizeof *laid_out,
                                        "a tensor");
            family_write(tensor, data, laid_out);
            arrput(tensors->made, laid_out);
            record.data = laid_out;
        }
        arrput(tensors->records, record);
    }
}

real *export_missing(const Model *model, const ParamRow *row)
{
    const ModelConfig *config = &model->config;
    real *rows = memory_new(row->count, sizeof *rows, "a tensor");
    if (strcmp(row->name, "lm_head.weight") == 0)
        memcpy(rows, model->params.wte, row->count * sizeof *rows);
    else if (strcmp(row->name, "wpe.weight") == 0 && config->positions == POSITIONS_SINUSOIDAL)
        for (size_t i = 0; i < config->context; i++)
            embedding_sinusoids(rows + i * config->dim, i, config->dim);
    return rows;
}

void export_tensors_make(ExportTensors *tensors, const Model *model, const FamilyForm *form)
{
    const FamilySizes sizes = family_sizes(&model->config);
    const ModelConfig whole = family_form_config(form, &model->config);
    ParamTable table;
    param_table_make(&table, &whole);
    *tensors = (ExportTensors){0};
    for (size_t i = 0; i < table.count; i++) {
        const ParamRow *row = &table.rows[i], *has = param_table_find(&model->table, row->name);
        if (has && leaves_out(form, model, has))
            continue;
        real *made = has ? NULL : export_missing(model, row);
        if (made)
            arrput(tensors->made, made);
        add_row(tensors, form, &sizes, row, has ? model->base + has->offset : made);
    }
    param_table_free(&table);
}

void export_tensors_free(ExportTensors *tensors)
{
    for (size_t i = 0; i < arrlenu(tensors->records); i++)
        free((char *)tensors->records[i].name);
    for (size_t i = 0; i < arrlenu(tensors->made); i++)
        free(tensors->made[i]);
    arrfree(tensors->records);
    arrfree(tensors->made);
}
