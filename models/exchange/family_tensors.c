/* Names, shapes and values of tensors: linnet's, and those in the files of a family. */
#include "models/exchange/family.h"

#include <stdio.h>
#include <string.h>

ModelConfig family_form_config(const FamilyForm *form, const ModelConfig *config)
{
    ModelConfig whole = *config;
    if (form->positions)
        whole.positions = POSITIONS_LEARNED;
    whole.bias |= form->biases;
    whole.tied &= !form->untied;
    return whole;
}

FamilySizes family_sizes(const ModelConfig *config)
{
    bool rotary = config->positions == POSITIONS_ROTARY;
    return (FamilySizes){config->heads, config->heads, config_head_width(config),
                         rotary ? config_rotating_pairs(config, config_head_width(config)) : 0};
}

/* --- names and shapes --- */

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The length of "h.7." in a name of linnet's; 0: it is not in a layer. */
static size_t layer_prefix(const char *name)
{
    return begins(name, "h.") ? strlen("h.") + strspn(name + 2, "0123456789") + 1 : 0;
}

/* The columns in the file: of keys and values that linnet has once for each query, fewer. */
static size_t columns_in_file(const FamilyTensor *tensor)
{
    return tensor->layout == FAMILY_GROUPED ? tensor->sizes.key_heads * tensor->sizes.width
                                            : tensor->columns;
}

/* The tensor of a part. Its name ends in `ending`, "" if that of the part is whole. */
static FamilyTensor tensor_of(const FamilyForm *form, const FamilyPart *part,
                              const char *ending, const ParamRow *row, const FamilySizes *sizes)
{
    size_t stride = row->rank == 2 ? row->shape[1] : row->shape[0],
           at = layer_prefix(row->name);
    FamilyTensor tensor = {.layout = part->layout,
                           .rank = row->rank,
                           .rows = row->rank == 2 ? row->shape[0] : 1,
                           .columns = stride / part->parts,
                           .stride = stride,
                           .sizes = *sizes};
    tensor.column = part->part * tensor.columns;
    snprintf(tensor.name, sizeof tensor.name, "%s%.*s%s%s", at ? form->layer : "",
             at ? (int)(at - strlen("h.")) : 0, row->name + strlen("h."), part->foreign,
             ending);
    tensor.prefixed = !begins(tensor.name, form->head);
    size_t columns = columns_in_file(&tensor);
    bool is_transposed = part->layout != FAMILY_PLAIN && row->rank == 2;
    tensor.shape[0] = row->rank == 1 || is_transposed ? columns : tensor.rows;
    tensor.shape[1] = row->rank == 1 ? 0 : is_transposed ? tensor.rows : columns;
    return tensor;
}

size_t family_tensors(FamilyTensor tensors[FAMILY_MOST_PARTS], const FamilyForm *form,
                      const ParamRow *row, const FamilySizes *sizes)
{
    const char *inner = row->name + layer_prefix(row->name), *dot = strrchr(inner, '.'),
               *ending = dot ? dot : inner + strlen(inner);
    if (!form->parts) {
        const FamilyPart same = {inner, inner, FAMILY_PLAIN, 0, 1};
        tensors[0] = tensor_of(form, &same, "", row, sizes);
        return 1;
    }
    size_t count = 0;
    for (const FamilyPart *part = form->parts; part->linnet; part++)
        if (strlen(part->linnet) == (size_t)(ending - inner) && begins(inner, part->linnet))
            tensors[count++] = tensor_of(form, part, ending, row, sizes);
    return count;
}

/* --- values --- */

/* RoPE rotates features i and i + width/2 of linnet's, for i below `pairs`. */
static size_t rotated_first(const FamilySizes *sizes, size_t at)
{
    size_t half = sizes->width / 2, pairs = sizes->pairs, second = at >= half,
           i = at - second * half;
    return i < pairs ? i + second * pairs : pairs + i + second * (half - pairs);
}

/* The row in the file of a column of linnet's share. */
static size_t row_in_file(const FamilyTensor *tensor, size_t column)
{
    const FamilySizes *sizes = &tensor->sizes;
    size_t width = sizes->width, head = column / width, at = column % width;
    enum { QUERIES, KEYS, VALUES, KINDS };
    size_t kind = head / sizes->heads;
    switch (tensor->layout) {
    case FAMILY_GROUPED:
        return head / (sizes->heads / sizes->key_heads) * width + at;
    case FAMILY_PAIRED:
        return head * width + (at < width / 2 ? 2 * at : 2 * (at - width / 2) + 1);
    case FAMILY_ROTATED:
        return head * width + (kind == VALUES ? at : rotated_first(sizes, at));
    case FAMILY_FUSED:
        at = kind == VALUES ? at : rotated_first(sizes, at);
        return (head % sizes->heads * KINDS + kind) * width + at;
    case FAMILY_PLAIN:
    case FAMILY_TRANSPOSED:
        break;
    }
    return column;
}

/* Squares of the matrix at a time, since one side is read across. */
enum { SQUARE = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void move(const FamilyTensor *t, real *linnet, real *foreign, bool out)
{
    for (size_t c0 = 0; c0 < t->columns; c0 += SQUARE)
        for (size_t r0 = 0; r0 < t->rows; r0 += SQUARE)
            for (size_t c = c0; c < least(c0 + SQUARE, t->columns); c++) {
                real *line = foreign + row_in_file(t, c) * t->rows;
                for (size_t r = r0; r < least(r0 + SQUARE, t->rows); r++) {
                    real *cell = linnet + r * t->stride + t->column + c;
                    if (out)
                        line[r] = *cell;
                    else
                        *cell = line[r];
                }
            }
}

void family_read(const FamilyTensor *tensor, real *linnet, const real *foreign)
{
    if (tensor->layout == FAMILY_PLAIN)
        memcpy(linnet, foreign, tensor->rows * tensor->stride * sizeof *linnet);
    else
        move(tensor, linnet, (real *)foreign, false);
}

void family_write(const FamilyTensor *tensor, const real *linnet, real *foreign)
{
    if (tensor->layout == FAMILY_PLAIN)
        memcpy(foreign, linnet, tensor->rows * tensor->stride * sizeof *linnet);
    else
        move(tensor, (real *)linnet, foreign, true);
}
