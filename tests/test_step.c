/* A step of training in pieces: gradients twice, the length that a gradient is held to, and
 * numbers that are not finite. */
#include "models/pass.h"
#include "models/update.h"
#include "src/vector.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <stdlib.h>

/* --- backward twice --- */

enum { ROWS = 2 * 9 };

static const ModelConfig tiny = {.layers = 2,
                                 .dim = 8,
                                 .heads = 2,
                                 .ffn = 12,
                                 .context = 9,
                                 .tied = true,
                                 .input_dropout = 0.2,
                                 .dropout = 0.2,
                                 .vocabulary = 11};

/* Leaves the gradients of a fixed batch in a buffer; what was in it must not matter. */
static double take_gradients(Pass *pass, Params *at, real *gradients, size_t total)
{
    int32_t inputs[ROWS], targets[ROWS];
    for (int32_t i = 0; i < ROWS; i++) {
        inputs[i] = (5 * i + 2) % 11;
        targets[i] = (3 * i + 1) % 11;
    }
    vector_zero(gradients, total);
    return pass_gradients(pass, at, inputs, targets, random_key(1, RANDOM_DROPOUT, 4));
}

START_TEST(backward_twice_gives_the_same_bits)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        ModelConfig config = tiny;
        config.attention = one_kind(kind);
        config.positions = positions_for(kind, POSITIONS_ROTARY);
        config.attention_dropout = attention_find(kind)->has_weights ? 0.1 : 0;
        SmallModel small;
        small_model_make(&small, config, 0.3);
        Pass pass;
        Arena arena = {0};
        pass_make(&pass, &small.model, 2, config.context, PASS_TRAIN);
        pass_layout(&pass, &arena);
        arena_allocate(&arena, "a test");
        pass_layout(&pass, &arena);
        pass_prepare(&pass);
        size_t total = small.model.table.total;
        real *first = memory_take(2 * total, sizeof *first, "a test"), *second = first + total;
        Params at = {.h = memory_take(config.layers, sizeof *at.h, "a test")};
        params_bind(&at, &small.model.config, first);
        double loss = take_gradients(&pass, &at, first, total);
        params_bind(&at, &small.model.config, second);
        ck_assert(take_gradients(&pass, &at, second, total) == loss);
        ck_assert_msg(memcmp(first, second, total * sizeof *first) == 0, "%s",
                      attention_find(kind)->name);
        free(first);
        free(at.h);
        pass_free(&pass);
        arena_free(&arena);
        small_model_free(&small);
    }
}
END_TEST

/* --- clipping --- */

typedef struct Clipped {
    SmallModel small;
    real *m, *v, *gradient;
} Clipped;

static void clipped_make(Clipped *c)
{
    small_model_make(&c->small, tiny, 0.3);
    size_t total = c->small.model.table.total;
    c->m = memory_take(3 * total, sizeof *c->m, "a test");
    c->v = c->m + total;
    c->gradient = c->v + total;
}

static void clipped_free(Clipped *c)
{
    free(c->m);
    small_model_free(&c->small);
}

/* A gradient whose length is exactly 5 tokens' worth of 1: of 3 and 4, times 5. */
static void put_gradient(Clipped *c, double factor)
{
    c->gradient[0] = (real)(15 * factor);
    c->gradient[1] = (real)(20 * factor);
}

/* One step with no past: m is (1 - beta1) times the gradient that was taken. */
static void check_clip(double factor, double clip, double expected)
{
    enum { TOKENS = 25 };
    const Update update = {.adam = {0.9, 0.95, 1e-8}, .learning_rate = 0.01, .clip = clip};
    Clipped c;
    clipped_make(&c);
    put_gradient(&c, factor);
    Model *model = &c.small.model;
    double norm = gradient_norm(model, c.gradient, TOKENS);
    ck_assert_double_eq_tol(norm, factor, 1e-6 * (factor + 1e-9));
    update_apply(model, c.m, c.v, c.gradient, &update, update_whole(model, OPTIMIZER_ADAMW), 1,
                 norm, TOKENS, NULL);
    ck_assert_double_eq_tol((double)c.m[0], 0.1 * 0.6 * expected, 1e-6 * (expected + 1e-9));
    ck_assert_double_eq_tol((double)c.m[1], 0.1 * 0.8 * expected, 1e-6 * (expected + 1e-9));
    for (size_t i = 0; i < model->table.total; i++)
        ck_assert(isfinite((double)model->base[i]));
    clipped_free(&c);
}

START_TEST(a_gradient_is_held_to_its_length)
{
    check_clip(0.5, 1, 0.5); /* below, exactly at, above */
    check_clip(1, 1, 1);
    check_clip(1, 0.25, 0.25);
    check_clip(1e6, 1, 1);
    check_clip(1e6, 0, 1e6); /* 0: never */
    check_clip(0, 1, 0);     /* nothing, which must not become 0 / 0 */
}
END_TEST

/* --- numbers that are none --- */

/* Built as the programs are: whoever lets the compiler believe that there is no NaN finds out
 * here. */
START_TEST(what_is_not_finite_is_seen)
{
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Clipped c;
        clipped_make(&c);
        put_gradient(&c, 1);
        volatile double poison = wrong[i];
        c.gradient[c.small.model.table.rows[3].offset] = (real)poison;
        double norm = gradient_norm(&c.small.model, c.gradient, 25);
        ck_assert_msg(!isfinite(norm), "a gradient with %g in it has the length %g", wrong[i],
                      norm);
        clipped_free(&c);
    }
}
END_TEST

Suite *step_suite(void)
{
    Suite *suite = suite_create("step");
    TCase *tests = tcase_create("step");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, backward_twice_gives_the_same_bits);
    tcase_add_test(tests, a_gradient_is_held_to_its_length);
    tcase_add_test(tests, what_is_not_finite_is_seen);
    suite_add_tcase(suite, tests);
    return suite;
}
