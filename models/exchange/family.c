#include "models/exchange/family.h"
#include "src/base/text.h"

#include <stdio.h>
#include <string.h>

/* --- the tables --- */

#define WHOLE 0, 1

static const FamilyPart neox_parts[] = {
    {"wte.weight", "embed_in.weight", FAMILY_PLAIN, WHOLE},
    {"ln_1.weight", "input_layernorm.weight", FAMILY_PLAIN, WHOLE},
    {"ln_1.bias", "input_layernorm.bias", FAMILY_PLAIN, WHOLE},
    {"attn.c_attn.weight", "attention.query_key_value.weight", FAMILY_FUSED, WHOLE},
    {"attn.c_attn.bias", "attention.query_key_value.bias", FAMILY_FUSED, WHOLE},
    {"attn.c_proj.weight", "attention.dense.weight", FAMILY_TRANSPOSED, WHOLE},
    {"attn.c_proj.bias", "attention.dense.bias", FAMILY_PLAIN, WHOLE},
    {"ln_2.weight", "post_attention_layernorm.weight", FAMILY_PLAIN, WHOLE},
    {"ln_2.bias", "post_attention_layernorm.bias", FAMILY_PLAIN, WHOLE},
    {"mlp.c_fc.weight", "mlp.dense_h_to_4h.weight", FAMILY_TRANSPOSED, WHOLE},
    {"mlp.c_fc.bias", "mlp.dense_h_to_4h.bias", FAMILY_PLAIN, WHOLE},
    {"mlp.c_proj.weight", "mlp.dense_4h_to_h.weight", FAMILY_TRANSPOSED, WHOLE},
    {"mlp.c_proj.bias", "mlp.dense_4h_to_h.bias", FAMILY_PLAIN, WHOLE},
    {"ln_f.weight", "final_layer_norm.weight", FAMILY_PLAIN, WHOLE},
    {"ln_f.bias", "final_layer_norm.bias", FAMILY_PLAIN, WHOLE},
    {"lm_head.weight", "embed_out.weight", FAMILY_PLAIN, WHOLE},
    {0},
};

static const FamilyPart llama_parts[] = {
    {"wte.weight", "embed_tokens.weight", FAMILY_PLAIN, WHOLE},
    {"ln_1.weight", "input_layernorm.weight", FAMILY_PLAIN, WHOLE},
    {"attn.c_attn.weight", "self_attn.q_proj.weight", FAMILY_TRANSPOSED, 0, 3},
    {"attn.c_attn.weight", "self_attn.k_proj.weight", FAMILY_GROUPED, 1, 3},
    {"attn.c_attn.weight", "self_attn.v_proj.weight", FAMILY_GROUPED, 2, 3},
    {"attn.c_attn.bias", "self_attn.q_proj.bias", FAMILY_TRANSPOSED, 0, 3},
    {"attn.c_attn.bias", "self_attn.k_proj.bias", FAMILY_GROUPED, 1, 3},
    {"attn.c_attn.bias", "self_attn.v_proj.bias", FAMILY_GROUPED, 2, 3},
    {"attn.c_proj.weight", "self_attn.o_proj.weight", FAMILY_TRANSPOSED, WHOLE},
    {"attn.c_proj.bias", "self_attn.o_proj.bias", FAMILY_PLAIN, WHOLE},
    {"ln_2.weight", "post_attention_layernorm.weight", FAMILY_PLAIN, WHOLE},
    {"mlp.c_fc.weight", "mlp.gate_proj.weight", FAMILY_TRANSPOSED, 0, 2},
    {"mlp.c_fc.weight", "mlp.up_proj.weight", FAMILY_TRANSPOSED, 1, 2},
    {"mlp.c_fc.bias", "mlp.gate_proj.bias", FAMILY_TRANSPOSED, 0, 2},
    {"mlp.c_fc.bias", "mlp.up_proj.bias", FAMILY_TRANSPOSED, 1, 2},
    {"mlp.c_proj.weight", "mlp.down_proj.weight", FAMILY_TRANSPOSED, WHOLE},
    {"mlp.c_proj.bias", "mlp.down_proj.bias", FAMILY_PLAIN, WHOLE},
    {"ln_f.weight", "norm.weight", FAMILY_PLAIN, WHOLE},
    {"lm_head.weight", "lm_head.weight", FAMILY_PLAIN, WHOLE},
    {0},
};

static const char *const no_buffers[] = {NULL};
static const char *const gpt2_buffers[] = {".attn.bias", ".attn.masked_bias", NULL};
static const char *const neox_buffers[] = {".attention.bias", ".attention.masked_bias",
                                           ".rotary_emb.inv_freq", NULL};
static const char *const llama_buffers[] = {".rotary_emb.inv_freq", NULL};

/* The names here are GPT-2's. */
const Family family_linnet = {
    "linnet", "LinnetForCausalLM", "transformer.", "h.", "lm_head.", NULL, false,
    false,    no_buffers};

static const Family families[] = {
    {"gpt2", "GPT2LMHeadModel", "transformer.", "h.", "lm_head.", NULL, true, true,
     gpt2_buffers},
    {"gpt_neox", "GPTNeoXForCausalLM", "gpt_neox.", "layers.", "embed_out.", neox_parts, false,
     true, neox_buffers},
    {"llama", "LlamaForCausalLM", "model.", "layers.", "lm_head.", llama_parts, false, false,
     llama_buffers},
};

const Family *family_at(size_t index)
{
    return index < sizeof families / sizeof *families ? &families[index] : NULL;
}

const Family *family_find(const char *type)
{
    for (size_t i = 0; family_at(i); i++)
        if (strcmp(family_at(i)->type, type) == 0)
            return family_at(i);
    return NULL;
}

ModelConfig family_form(const Family *family, const ModelConfig *config)
{
    ModelConfig form = *config;
    if (family->learns_positions)
        form.positions = POSITIONS_LEARNED;
    form.bias |= family->has_biases;
    return form;
}

bool family_is_buffer(const Family *family, const char *name)
{
    for (const char *const *ending = family->buffers; *ending; ending++)
        if (text_ends_in(name, *ending))
            return true;
    return false;
}

/* The first of several names there is the one that is written. */
static const struct {
    const char *here, *there;
} activations[] = {{"gelu", "gelu_new"},  {"gelu", "gelu_pytorch_tanh"},
                   {"gelu", "gelu_fast"}, {"relu", "relu"},
                   {"relu2", "relu2"},    {"gelu-erf", "gelu"}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

const char *family_activation_there(const char *here)
{
    for (size_t i = 0; i < ACTIVATIONS; i++)
        if (strcmp(activations[i].here, here) == 0)
            return activations[i].there;
    return NULL;
}

const char *family_activation_here(const char *there)
{
    for (size_t i = 0; i < ACTIVATIONS; i++)
        if (strcmp(activations[i].there, there) == 0)
            return activations[i].here;
    return NULL;
}

/* --- names and shapes --- */

FamilySizes family_sizes(const ModelConfig *config)
{
    size_t width = config_head_width(config);
    return (FamilySizes){config->heads, config->heads, width, config_rotating_pairs(config)};
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* What follows "h.7." in a name here; *length is that of "7". NULL: not in a layer. */
static const char *in_layer(const char *name, const char **number, int *length)
{
    if (!begins(name, "h."))
        return NULL;
    *number = name + strlen("h.");
    *length = (int)strspn(*number, "0123456789");
    return *number + *length + 1;
}

/* The parts of a grouped tensor that linnet has once for each query. */
static size_t columns_there(const FamilyTensor *tensor)
{
    return tensor->layout == FAMILY_GROUPED ? tensor->sizes.key_heads * tensor->sizes.width
                                            : tensor->columns;
}

static FamilyTensor tensor_of(const Family *family, const FamilyPart *part, const ParamRow *row,
                              const FamilySizes *sizes)
{
    size_t stride = row->rank == 2 ? row->shape[1] : row->shape[0];
    FamilyTensor tensor = {.layout = part->layout,
                           .rank = row->rank,
                           .rows = row->rank == 2 ? row->shape[0] : 1,
                           .columns = stride / part->parts,
                           .stride = stride,
                           .sizes = *sizes};
    const char *number;
    int length;
    tensor.column = part->part * tensor.columns;
    if (in_layer(row->name, &number, &length))
        snprintf(tensor.name, sizeof tensor.name, "%s%.*s.%s", family->layer, length, number,
                 part->there);
    else
        snprintf(tensor.name, sizeof tensor.name, "%s", part->there);
    tensor.prefixed = !begins(tensor.name, family->head);
    size_t columns = columns_there(&tensor);
    bool turned = part->layout != FAMILY_PLAIN && row->rank == 2;
    tensor.shape[0] = row->rank == 1 || turned ? columns : tensor.rows;
    tensor.shape[1] = row->rank == 1 ? 0 : turned ? tensor.rows : columns;
    return tensor;
}

size_t family_tensors(FamilyTensor tensors[FAMILY_MOST_PARTS], const Family *family,
                      const ParamRow *row, const FamilySizes *sizes)
{
    const char *number;
    int length;
    const char *inner = in_layer(row->name, &number, &length);
    const char *here = inner ? inner : row->name;
    if (!family->parts) {
        const FamilyPart same = {here, here, FAMILY_PLAIN, WHOLE};
        tensors[0] = tensor_of(family, &same, row, sizes);
        return 1;
    }
    size_t count = 0;
    for (const FamilyPart *part = family->parts; part->here; part++)
        if (strcmp(part->here, here) == 0)
            tensors[count++] = tensor_of(family, part, row, sizes);
    return count;
}

/* --- values --- */

/* RoPE rotates features i and i + width/2 here, for i below `pairs`. */
static size_t feature_there(const FamilySizes *sizes, size_t at)
{
    size_t half = sizes->width / 2, pairs = sizes->pairs, second = at >= half,
           i = at - second * half;
    return i < pairs ? i + second * pairs : pairs + i + second * (half - pairs);
}

/* The row there of a column of the share here. */
static size_t row_there(const FamilyTensor *tensor, size_t column)
{
    const FamilySizes *sizes = &tensor->sizes;
    size_t head = column / sizes->width, at = column % sizes->width;
    if (tensor->layout == FAMILY_GROUPED)
        return head / (sizes->heads / sizes->key_heads) * sizes->width + at;
    if (tensor->layout != FAMILY_FUSED)
        return column;
    enum { QUERIES, KEYS, VALUES, KINDS };
    size_t kind = head / sizes->heads;
    at = kind == VALUES ? at : feature_there(sizes, at);
    return (head % sizes->heads * KINDS + kind) * sizes->width + at;
}

/* Squares of the matrix at a time, since one side is read across. */
enum { SQUARE = 32 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void move(const FamilyTensor *t, real *here, real *there, bool out)
{
    for (size_t c0 = 0; c0 < t->columns; c0 += SQUARE)
        for (size_t r0 = 0; r0 < t->rows; r0 += SQUARE)
            for (size_t c = c0; c < least(c0 + SQUARE, t->columns); c++) {
                real *line = there + row_there(t, c) * t->rows;
                for (size_t r = r0; r < least(r0 + SQUARE, t->rows); r++) {
                    real *cell = here + r * t->stride + t->column + c;
                    if (out)
                        line[r] = *cell;
                    else
                        *cell = line[r];
                }
            }
}

void family_take(const FamilyTensor *tensor, real *here, const real *there)
{
    if (tensor->layout == FAMILY_PLAIN)
        memcpy(here, there, tensor->rows * tensor->stride * sizeof *here);
    else
        move(tensor, here, (real *)there, false);
}

void family_give(const FamilyTensor *tensor, const real *here, real *there)
{
    if (tensor->layout == FAMILY_PLAIN)
        memcpy(there, here, tensor->rows * tensor->stride * sizeof *here);
    else
        move(tensor, (real *)here, there, true);
}
