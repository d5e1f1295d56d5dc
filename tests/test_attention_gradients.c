/* Gradients of every attention kind in the table against central differences. */
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/math/vector.h"
#include "tests/attention_case.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <sys/types.h>

SUITE("attention: gradients");

/* A loss whose gradient with respect to the output is dout. */
static double case_loss(Case *c)
{
    case_forward(c);
    double loss = 0;
    for (size_t t = 0; t < c->head.length; t++)
        loss += vector_dot(case_columns(c, OUT, 0) + t * c->head.out_stride,
                           case_columns(c, DOUT, 0) + t * c->head.out_stride, c->head.width);
    return loss;
}

/* An input of the kind. */
typedef struct Variable {
    const char *name;
    real *at, *origin; /* in place, and a contiguous copy */
    const real *gradient;
    real base; /* the initial value of an accumulated gradient */
    size_t rows, columns, stride;
} Variable;

enum { MOST_VARIABLES = 5 };

static size_t variables_of(const Case *c, Variable *list)
{
    const AttentionHead *head = &c->head;
    static const char *const names[] = {"q", "k", "v"};
    size_t count = 0;
    for (size_t which = 0; which < 3; which++)
        list[count++] = (Variable){.name = names[which],
                                   .at = case_columns(c, QKV, which),
                                   .gradient = case_columns(c, DQKV, which),
                                   .rows = head->length,
                                   .columns = head->width,
                                   .stride = head->stride};
    if (c->gates)
        list[count++] = (Variable){.name = "gates",
                                   .at = case_columns(c, GATES, 0),
                                   .gradient = case_columns(c, DGATES, 0),
                                   .rows = head->length,
                                   .columns = c->gates,
                                   .stride = head->gates_stride};
    if (c->param_count && !c->kind->params_random)
        list[count++] = (Variable){.name = "params",
                                   .at = c->at[PARAMS],
                                   .gradient = c->at[DPARAMS],
                                   .base = 1,
                                   .rows = 1,
                                   .columns = c->param_count,
                                   .stride = c->param_count};
    return count;
}

#define ALL SIZE_MAX

/* The direction of a difference: one element, or all in random directions. */
static double direction(size_t element, size_t one)
{
    return one == ALL ? random_normal(random_key(8, RANDOM_TEST, 0), element) : element == one;
}

static size_t place(const Variable *x, size_t element)
{
    return element / x->columns * x->stride + element % x->columns;
}

static double loss_at(Case *c, const Variable *x, size_t one, double distance)
{
    for (size_t i = 0; i < x->rows * x->columns; i++)
        x->at[place(x, i)] = x->origin[i] + (real)(distance * direction(i, one));
    return case_loss(c);
}

/* If a step crosses a kink or changes a hash, a shorter one decides. */
static void check_slope(Case *c, const Variable *x, size_t one)
{
    double analytic = 0, numeric = 0, relative = one == ALL ? 1e-6 : 1e-5;
    bool agree = false;
    for (size_t i = 0; i < x->rows * x->columns; i++)
        if (direction(i, one) != 0)
            analytic += (x->gradient[place(x, i)] - x->base) * direction(i, one);
    for (double step = 1e-5; step > 5e-8 && !agree; step /= 10) {
        numeric = (loss_at(c, x, one, step) - loss_at(c, x, one, -step)) / (2 * step);
        agree = fabs(analytic - numeric) <= 1e-6 + relative * fabs(numeric);
    }
    loss_at(c, x, one, 0);
    ck_assert_msg(agree,
                  "%s T %zu D %zu angles %d dropout %g carry %d: d%s, element %zd (-1: all) of "
                  "(%zu, %zu), is %.9g, should be %.9g",
                  c->kind->name, c->head.length, c->head.width, c->head.rotary != NULL,
                  c->head.dropout.rate, c->carries, x->name, (ssize_t)one, x->rows, x->columns,
                  analytic, numeric);
}

/* Short sequences: each element; long ones: some elements, and a random direction. */
static void check_gradients(Case *c)
{
    Variable list[MOST_VARIABLES];
    size_t count = variables_of(c, list), length = c->head.length;
    case_forward(c);
    case_backward(c);
    size_t stride = length > 200 ? 97 : length > 30 ? 13 : 1;
    for (Variable *x = list; x < list + count; x++) {
        size_t elements = x->rows * x->columns, row = stride * x->columns;
        x->origin = memory_take(elements, sizeof(real), "a test");
        for (size_t i = 0; i < elements; i++)
            x->origin[i] = x->at[place(x, i)];
        check_slope(c, x, ALL);
        for (size_t i = 0; i < elements; i++)
            if (x->rows > 1 ? i % row < x->columns : i % stride == 0)
                check_slope(c, x, i);
        free(x->origin);
    }
}

LOOP_TEST(gradients_agree_with_central_differences, 0, count_kinds())
{
    case_for_every(_i, check_gradients);
}
