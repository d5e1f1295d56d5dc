/* Gradients of every attention kind in the table against central differences. */
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/math/random.h"
#include "src/math/vector.h"
#include "tests/attention_case.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <stdlib.h>

SUITE("attention: gradients");

/* A loss whose gradient with respect to the output is dout, and dbonus to the bonus. */
static double case_loss(void *of)
{
    Case *c = of;
    case_forward(c);
    double loss = 0;
    for (size_t t = 0; t < c->head.length; t++)
        loss += vector_dot(case_columns(c, OUT, 0) + t * c->head.out_stride,
                           case_columns(c, DOUT, 0) + t * c->head.out_stride,
                           c->head.value_width);
    for (size_t t = 0; c->kind->parts.has_bonus && t < c->head.length; t++)
        loss += vector_dot(case_columns(c, BONUS, 0) + t * c->head.out_stride,
                           case_columns(c, DBONUS, 0) + t * c->head.out_stride,
                           c->head.value_width);
    return loss;
}

enum { MOST_VARIABLES = 24 };

static size_t variables_of(const Case *c, Variable *list)
{
    const AttentionHead *head = &c->head;
    size_t count = 0;
    for (size_t which = 0; which < case_parts(c); which++)
        list[count++] = (Variable){.name = which == 0              ? "q"
                                           : which <= head->copies ? "k"
                                                                   : "v",
                                   .value = case_columns(c, QKV, which),
                                   .gradient = case_columns(c, DQKV, which),
                                   .rows = head->length,
                                   .columns = case_width(c, QKV, which),
                                   .stride = head->stride};
    if (c->gates)
        list[count++] = (Variable){.name = "gates",
                                   .value = case_columns(c, GATES, 0),
                                   .gradient = case_columns(c, DGATES, 0),
                                   .rows = head->length,
                                   .columns = c->gates,
                                   .stride = head->gates_stride};
    if (c->rates)
        list[count++] = (Variable){.name = "rates",
                                   .value = case_columns(c, RATES, 0),
                                   .gradient = case_columns(c, DRATES, 0),
                                   .rows = head->length,
                                   .columns = c->rates,
                                   .stride = head->rates_stride};
    if (c->param_count && !c->kind->params_random)
        list[count++] = (Variable){.name = "params",
                                   .value = c->memory[PARAMS],
                                   .gradient = c->memory[DPARAMS],
                                   .base = 1,
                                   .rows = 1,
                                   .columns = c->param_count,
                                   .stride = c->param_count};
    return count;
}

static void check_gradients(Case *c)
{
    Variable list[MOST_VARIABLES];
    size_t count = variables_of(c, list);
    char *label = text_format("%s T %zu D %zu angles %d dropout %g carry %d", c->kind->name,
                              c->head.length, c->head.width, c->head.rotary != NULL,
                              c->head.dropout.rate, c->carries);
    case_forward(c);
    case_backward(c);
    for (size_t i = 0; i < count; i++)
        check_slopes(&list[i], case_loss, c, label);
    free(label);
}

LOOP_TEST(gradients_agree_with_central_differences, 0, count_kinds())
{
    case_for_every(_i, check_gradients);
}

/* --- kinds whose heads share queries and keys --- */

typedef struct Layer {
    AttentionSizes sizes;
    AttentionBatch batch;
    real *qkv; /* (B*T, head.stride) */
    size_t inputs, outputs;
    Arena memory;
} Layer;

static real *drawn(Layer *layer, size_t count)
{
    real *x = arena_reals(&layer->memory, count);
    for (size_t i = 0; x && i < count; i++)
        x[i] = (real)random_normal(random_key(layer->memory.used, RANDOM_TEST, 0), i);
    return x;
}

static void lay_out(Layer *layer)
{
    const AttentionHead head = attention_head(&layer->sizes, 0);
    const AttentionMemory memory = attention_memory(&layer->sizes);
    const size_t rows = layer->sizes.batch * layer->sizes.length;
    const size_t params = attention_param_count(&layer->sizes);
    layer->inputs = rows * head.stride;
    layer->outputs = rows * head.out_stride;
    layer->qkv = drawn(layer, layer->inputs);
    layer->batch = (AttentionBatch){
        .qkv = layer->qkv,
        .gates = drawn(layer, rows * head.gates_stride),
        .params = drawn(layer, params),
        .out = drawn(layer, layer->outputs),
        .saved = drawn(layer, memory.saved),
        .scratch = drawn(layer, memory.scratch),
        .dout = drawn(layer, layer->outputs),
        .dqkv = drawn(layer, layer->inputs),
        .dgates = drawn(layer, rows * head.gates_stride),
        .dparams = drawn(layer, params),
        .dheads = drawn(layer, attention_dheads_reals(&layer->sizes))};
}

static double layer_loss(void *of)
{
    Layer *layer = of;
    attention_forward(&layer->batch, &layer->sizes);
    return (double)vector_dot(layer->batch.out, layer->batch.dout, layer->outputs);
}

/* So many heads that their gradients take several matrices, the last one not full. */
TEST(gradients_of_shared_keys_are_sums_over_the_heads)
{
    Layer layer = {.sizes = {.kind = &attention_mamba2,
                             .batch = 2,
                             .length = 3,
                             .heads = 7,
                             .dim = 2,
                             .layers = 1,
                             .options = &case_options[0]}};
    lay_out(&layer);
    arena_allocate(&layer.memory, "a test");
    lay_out(&layer);
    ck_assert_uint_gt(attention_dheads_reals(&layer.sizes), layer.inputs);
    layer_loss(&layer);
    attention_backward(&layer.batch, &layer.sizes);
    check_slopes(&(Variable){"qkv", layer.qkv, layer.batch.dqkv, 0, 1, layer.inputs, 0},
                 layer_loss, &layer, "shared keys");
    arena_free(&layer.memory);
}
