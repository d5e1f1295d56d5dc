/* Gradients of every attention kind in the table against central differences. */
#include "src/base/text.h"
#include "src/math/vector.h"
#include "tests/attention_case.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <stdlib.h>

SUITE("attention: gradients");

/* A loss whose gradient with respect to the output is dout. */
static double case_loss(void *of)
{
    Case *c = of;
    case_forward(c);
    double loss = 0;
    for (size_t t = 0; t < c->head.length; t++)
        loss += vector_dot(case_columns(c, OUT, 0) + t * c->head.out_stride,
                           case_columns(c, DOUT, 0) + t * c->head.out_stride,
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
                                   .value = c->at[PARAMS],
                                   .gradient = c->at[DPARAMS],
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
