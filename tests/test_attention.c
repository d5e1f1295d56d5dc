/* What every attention kind must do, for every row of the table: the tests name none. */
#include "src/attention/attention.h"
#include "src/layers/rotary.h"
#include "src/memory.h"
#include "src/random.h"
#include "src/vector.h"
#include "tests/tests.h"

#include <stdio.h>
#include <stdlib.h>

/* One head with inputs of its own; heads lie interleaved, as they do in a model. */
typedef struct Case {
    const AttentionKind *kind;
    AttentionHead head;
    real *qkv, *dqkv, *out, *dout, *saved, *scratch, *angles;
} Case;

enum { HEADS = 2 };

static Case case_make(const AttentionKind *kind, size_t length, size_t width, bool rotary,
                      double dropout)
{
    Case c = {.kind = kind,
              .head = {.length = length,
                       .width = width,
                       .stride = 3 * HEADS * width,
                       .out_stride = HEADS * width,
                       .dropout = {random_key(7, RANDOM_TEST, 0), (real)dropout}}};
    c.angles = memory_take(length * width, sizeof(real), "a test");
    for (size_t t = 0; t < length; t++)
        rotary_row(c.angles + t * width, t, width);
    if (rotary)
        c.head.rotary = c.angles;
    c.qkv = memory_take(length * c.head.stride, sizeof(real), "a test");
    c.dqkv = memory_take(length * c.head.stride, sizeof(real), "a test");
    c.out = memory_take(length * c.head.out_stride, sizeof(real), "a test");
    c.dout = memory_take(length * c.head.out_stride, sizeof(real), "a test");
    c.saved = memory_take(kind->saved_reals(&c.head), sizeof(real), "a test");
    c.scratch = memory_take(kind->scratch_reals(&c.head), sizeof(real), "a test");
    RandomKey key = random_key(3, RANDOM_TEST, length * 100 + width);
    for (size_t i = 0; i < length * c.head.stride; i++)
        c.qkv[i] = (real)random_normal(key, i);
    for (size_t i = 0; i < length * c.head.out_stride; i++)
        c.dout[i] = (real)random_normal(random_subkey(key, 1), i);
    return c;
}

static void case_free(Case *c)
{
    free(c->qkv);
    free(c->dqkv);
    free(c->out);
    free(c->dout);
    free(c->saved);
    free(c->scratch);
    free(c->angles);
}

static const real *part(const real *qkv, const Case *c, size_t which)
{
    return qkv + which * HEADS * c->head.width;
}

static void case_forward(Case *c)
{
    c->kind->forward(c->out, c->saved, c->scratch, part(c->qkv, c, 0), part(c->qkv, c, 1),
                     part(c->qkv, c, 2), &c->head);
}

#ifdef LINNET_DOUBLE
/* The loss whose gradient in the output is dout. */
static double case_loss(Case *c)
{
    case_forward(c);
    double loss = 0;
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < c->head.width; i++)
            loss += (double)(c->out[t * c->head.out_stride + i] *
                             c->dout[t * c->head.out_stride + i]);
    return loss;
}
#endif

/* The sizes that find mistakes: one of everything, odd ones, a chunk and its neighbours, more
 * than one block. */
static const struct {
    size_t length, width;
} sizes[] = {{1, 1}, {1, 4}, {2, 3}, {23, 5}, {64, 2}, {65, 4}, {131, 4}, {777, 2}};

/* Calls the test for every kind and size, with and without angles and dropout where the kind
 * takes them. */
static void for_every_case(void (*test)(Case *c))
{
    for (size_t index = 0; attention_find(index); index++) {
        const AttentionKind *kind = attention_find(index);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int rotary = 0; rotary <= (kind->turns_itself && sizes[s].width % 2 == 0);
                 rotary++)
                for (int dropout = 0; dropout <= kind->has_weights; dropout++) {
                    Case c = case_make(kind, sizes[s].length, sizes[s].width, rotary,
                                       dropout ? 0.3 : 0);
                    test(&c);
                    case_free(&c);
                }
    }
}

#ifdef LINNET_DOUBLE
static void check_gradients(Case *c)
{
    const double step = 1e-5;
    case_forward(c);
    c->kind->backward((real *)part(c->dqkv, c, 0), (real *)part(c->dqkv, c, 1),
                      (real *)part(c->dqkv, c, 2), c->dout, c->out, c->saved, c->scratch,
                      part(c->qkv, c, 0), part(c->qkv, c, 1), part(c->qkv, c, 2), &c->head);
    size_t stride = c->head.length > 200 ? 37 : 1; /* of long ones, some positions will do */
    for (size_t t = 0; t < c->head.length; t += stride)
        for (size_t which = 0; which < 3; which++)
            for (size_t i = 0; i < c->head.width; i++) {
                size_t at = t * c->head.stride + which * HEADS * c->head.width + i;
                double kept = c->qkv[at];
                c->qkv[at] = kept + step;
                double more = case_loss(c);
                c->qkv[at] = kept - step;
                double less = case_loss(c);
                c->qkv[at] = kept;
                double numeric = (more - less) / (2 * step), analytic = c->dqkv[at];
                ck_assert_msg(fabs(analytic - numeric) <= 1e-6 + 1e-5 * fabs(numeric),
                              "%s T %zu D %zu: d%c[%zu][%zu] is %.9g, should be %.9g",
                              c->kind->name, c->head.length, c->head.width, "qkv"[which], t, i,
                              analytic, numeric);
            }
}

START_TEST(gradients_agree_with_central_differences)
{
    for_every_case(check_gradients);
}
END_TEST
#endif

static void check_causality(Case *c)
{
    size_t length = c->head.length, row = c->head.out_stride;
    case_forward(c);
    real *before = memory_take(length * row, sizeof(real), "a test");
    memcpy(before, c->out, length * row * sizeof(real));
    size_t from = length / 2;
    for (size_t i = from * c->head.stride; i < length * c->head.stride; i++)
        c->qkv[i] = c->qkv[i] * 3 - 1;
    case_forward(c);
    ck_assert_msg(memcmp(before, c->out, from * row * sizeof(real)) == 0,
                  "%s T %zu: the past changed with the future", c->kind->name, length);
    ck_assert_msg(memcmp(before, c->out, length * row * sizeof(real)) != 0,
                  "%s T %zu: nothing changed at all", c->kind->name, length);
    free(before);
}

START_TEST(the_future_cannot_change_the_past)
{
    for_every_case(check_causality);
}
END_TEST

static void check_steps(Case *c)
{
    if (c->head.dropout.rate > 0)
        return; /* decoding drops nothing */
    case_forward(c);
    size_t width = c->head.width;
    real *state = memory_take(c->kind->state_reals(&c->head), sizeof(real), "a test");
    real *out = memory_take(width, sizeof(real), "a test");
    for (size_t t = 0; t < c->head.length; t++) {
        const real *row = c->qkv + t * c->head.stride;
        AttentionHead head = c->head;
        if (head.rotary)
            head.rotary = c->angles + t * width;
        c->kind->step(out, state, c->scratch, part(row, c, 0), part(row, c, 1), part(row, c, 2),
                      t, &head);
        for (size_t i = 0; i < width; i++) {
            double expected = (double)c->out[t * c->head.out_stride + i];
            ck_assert_msg(fabs((double)out[i] - expected) <= 1e-5 * (1 + fabs(expected)),
                          "%s: step %zu gives %g, forward %g", c->kind->name, t, (double)out[i],
                          expected);
        }
    }
    free(state);
    free(out);
}

START_TEST(decoding_steps_equal_forward)
{
    for_every_case(check_steps);
}
END_TEST

/* The first position sees itself only, so it must return its value. */
static void check_first(Case *c)
{
    if (c->head.dropout.rate > 0 || c->head.rotary)
        return;
    case_forward(c);
    for (size_t i = 0; i < c->head.width; i++)
        ck_assert_double_eq_tol((double)c->out[i], (double)part(c->qkv, c, 2)[i], 1e-5);
}

START_TEST(the_first_position_returns_its_value)
{
    for_every_case(check_first);
}
END_TEST

/* With all values 1 the output is the sum of the weights: 1, where there are weights; where a
 * denominator can all but vanish beside its epsilon, something between 0 and 1. */
static void check_share(const Case *c, double output)
{
    double least = c->kind->has_weights ? 1 : 0;
    ck_assert_msg(output >= least - 1e-3 && output <= 1 + 1e-3, "%s: the weights sum to %g",
                  c->kind->name, output);
}

/* Scores of thousands, all alike, all far below zero. */
static void check_stress(Case *c)
{
    if (c->head.dropout.rate > 0 || c->head.rotary)
        return;
    static const double factors[] = {1e4, 30, 0, -1e4};
    size_t width = c->head.width, length = c->head.length;
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        RandomKey key = random_key(5, RANDOM_TEST, f);
        for (size_t t = 0; t < length; t++)
            for (size_t i = 0; i < width; i++) {
                real *row = c->qkv + t * c->head.stride + i;
                row[0] = (real)(factors[f] * random_normal(key, t * width + i));
                row[HEADS * width] = (real)random_normal(key, (length + t) * width + i);
                row[2 * HEADS * width] = 1;
            }
        case_forward(c);
        for (size_t t = 0; t < length; t++)
            for (size_t i = 0; i < width; i++)
                check_share(c, (double)c->out[t * c->head.out_stride + i]);
    }
}

START_TEST(extreme_scores_stay_finite)
{
    for_every_case(check_stress);
}
END_TEST

Suite *attention_suite(void)
{
    Suite *suite = suite_create("attention");
    TCase *tests = tcase_create("every kind");
    tcase_set_timeout(tests, 120);
#ifdef LINNET_DOUBLE
    tcase_add_test(tests, gradients_agree_with_central_differences);
#endif
    tcase_add_test(tests, the_future_cannot_change_the_past);
    tcase_add_test(tests, decoding_steps_equal_forward);
    tcase_add_test(tests, the_first_position_returns_its_value);
    tcase_add_test(tests, extreme_scores_stay_finite);
    suite_add_tcase(suite, tests);
    return suite;
}
