/* Relations of softmax attention and its relatives: softmax1 is softmax with a zero key, a
 * window over the whole sequence is softmax, and each kind sees the positions that its
 * description says. */
#include "src/attention/attention.h"
#include "src/layers/rotary.h"
#include "src/memory.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const AttentionKind *kind_named(const char *name)
{
    for (size_t i = 0; attention_name(i); i++)
        if (strcmp(attention_name(i), name) == 0)
            return attention_find(i);
    ck_abort_msg("there is no '%s' attention", name);
}

/* --- one head --- */

typedef struct Lone {
    AttentionHead head;
    AttentionData data;
    real *q, *k, *v, *own; /* inputs */
} Lone;

static real *take(size_t count)
{
    return memory_take(count + 1, sizeof(real), "a test");
}

static Lone lone_make(const char *name, const AttentionOptions *options, size_t length,
                      size_t width, size_t index)
{
    Lone l = {.head = {.kind = kind_named(name),
                       .options = options,
                       .length = length,
                       .width = width,
                       .index = index,
                       .stride = width,
                       .out_stride = width}};
    size_t count = length * width;
    size_t own = l.head.kind->own_reals ? l.head.kind->own_reals(&l.head) : 0;
    real *dout = take(count);
    l.q = take(count), l.k = take(count), l.v = take(count), l.own = take(own);
    RandomKey key = random_key(2, RANDOM_TEST, 0);
    for (size_t i = 0; i < count; i++) {
        l.q[i] = (real)random_normal(key, 4 * i);
        l.k[i] = (real)random_normal(key, 4 * i + 1);
        l.v[i] = (real)random_normal(key, 4 * i + 2);
        dout[i] = (real)random_normal(key, 4 * i + 3);
    }
    l.data = (AttentionData){.q = l.q, .k = l.k, .v = l.v, .own = own ? l.own : NULL};
    l.data.dout = dout;
    l.data.out = take(count);
    l.data.saved = take(l.head.kind->memory(&l.head).saved);
    l.data.scratch = take(l.head.kind->memory(&l.head).scratch);
    l.data.dq = take(count), l.data.dk = take(count), l.data.dv = take(count);
    l.data.down = own ? take(own) : NULL;
    return l;
}

static void lone_run(Lone *l)
{
    l->head.kind->forward(&l->data, &l->head);
    l->head.kind->backward(&l->data, &l->head);
}

static void lone_free(Lone *l)
{
    real *all[] = {l->q,
                   l->k,
                   l->v,
                   l->own,
                   l->data.out,
                   l->data.saved,
                   l->data.scratch,
                   l->data.dq,
                   l->data.dk,
                   l->data.dv,
                   l->data.down};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free((real *)l->data.dout);
}

static void check_close(const real *a, const real *b, size_t count, const char *what)
{
    const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs((double)(a[i] - b[i])) <= tolerance * (1 + fabs((double)b[i])),
                      "%s[%zu] is %.9g, should be %.9g", what, i, (double)a[i], (double)b[i]);
}

/* Compares outputs and gradients, those of b from some position on. */
static void check_same(const Lone *a, const Lone *b, size_t from)
{
    size_t count = a->head.length * a->head.width, at = from * b->head.width;
    check_close(a->data.out, b->data.out + at, count, "out");
    check_close(a->data.dq, b->data.dq + at, count, "dq");
    check_close(a->data.dk, b->data.dk + at, count, "dk");
    check_close(a->data.dv, b->data.dv + at, count, "dv");
}

/* --- kinds that equal softmax --- */

static void check_equals_softmax(const char *name, AttentionOptions options, size_t index)
{
    static const size_t lengths[] = {1, 7, 64, 65, 131, 600};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        Lone a = lone_make(name, &options, lengths[i], 6, index);
        Lone b = lone_make("softmax", &options, lengths[i], 6, index);
        lone_run(&a);
        lone_run(&b);
        check_same(&a, &b, 0);
        lone_free(&a);
        lone_free(&b);
    }
}

START_TEST(a_reach_over_everything_is_softmax)
{
    for (size_t reach = 600; reach <= 700; reach += 100) {
        AttentionOptions all = {
            .window = reach, .period = reach, .summary = 1, .segment = reach, .rank = 3};
        check_equals_softmax("window", all, 0);
        check_equals_softmax("strided", all, 0);
        check_equals_softmax("fixed", all, 0);
        check_equals_softmax("linformer", all, 0);
        check_equals_softmax("pooled", all, 0);
    }
    check_equals_softmax("strided", (AttentionOptions){.period = 1}, 1);
    check_equals_softmax("fixed", (AttentionOptions){.period = 9, .summary = 9}, 1);
    check_equals_softmax("pooled", (AttentionOptions){.segment = 1}, 0);
}
END_TEST

/* If entries are the keys themselves, nothing is lost. */
START_TEST(linformer_that_compresses_nothing_is_softmax)
{
    enum { SEGMENT = 12, LENGTH = 131, WIDTH = 5 };
    AttentionOptions options = {.segment = SEGMENT, .rank = SEGMENT};
    Lone a = lone_make("linformer", &options, LENGTH, WIDTH, 0);
    Lone b = lone_make("softmax", &options, LENGTH, WIDTH, 0);
    for (size_t i = 0; i < 2 * SEGMENT * SEGMENT; i++)
        a.own[i] = i % (SEGMENT * SEGMENT) % (SEGMENT + 1) == 0;
    lone_run(&a);
    lone_run(&b);
    check_same(&a, &b, 0);
    lone_free(&a);
    lone_free(&b);
}
END_TEST

/* Kinds that apply RoPE themselves must agree with RoPE applied outside. */
START_TEST(keys_of_the_own_segment_are_turned)
{
    enum { LENGTH = 70, WIDTH = 6 };
    AttentionOptions options = {.segment = LENGTH, .rank = 2};
    real *angles = take(LENGTH * WIDTH);
    Lone a = lone_make("pooled", &options, LENGTH, WIDTH, 0);
    Lone b = lone_make("softmax", &options, LENGTH, WIDTH, 0);
    for (size_t t = 0; t < LENGTH; t++) {
        rotary_row(angles + t * WIDTH, t, WIDTH);
        rotary_turn(b.q + t * WIDTH, angles + t * WIDTH, WIDTH, false);
        rotary_turn(b.k + t * WIDTH, angles + t * WIDTH, WIDTH, false);
    }
    a.head.rotary = angles;
    lone_run(&a);
    lone_run(&b);
    for (size_t t = 0; t < LENGTH; t++) {
        rotary_turn(b.data.dq + t * WIDTH, angles + t * WIDTH, WIDTH, true);
        rotary_turn(b.data.dk + t * WIDTH, angles + t * WIDTH, WIDTH, true);
    }
    check_same(&a, &b, 0);
    free(angles);
    lone_free(&a);
    lone_free(&b);
}
END_TEST

/* --- softmax1 and sinks --- */

/* Softmax attention over the sequence of a, preceded by a position with value zero and score b:
 * the last feature of all queries is 1, and that of the other keys 0. */
static Lone with_a_key_before(Lone *a, real score)
{
    size_t length = a->head.length, width = a->head.width;
    Lone b = lone_make("softmax", a->head.options, length + 1, width, 0);
    for (size_t t = 0; t < length; t++) {
        a->q[t * width + width - 1] = 1;
        a->k[t * width + width - 1] = 0;
    }
    memcpy(b.q + width, a->q, length * width * sizeof(real));
    memcpy(b.k + width, a->k, length * width * sizeof(real));
    memcpy(b.v + width, a->v, length * width * sizeof(real));
    real *dout = (real *)b.data.dout;
    memcpy(dout + width, a->data.dout, length * width * sizeof(real));
    memset(dout, 0, width * sizeof(real));
    memset(b.v, 0, width * sizeof(real));
    memset(b.k, 0, width * sizeof(real));
    b.k[width - 1] = score * (real)sqrt((double)width);
    return b;
}

START_TEST(softmax1_is_softmax_with_a_zero_key)
{
    static const size_t lengths[] = {1, 23, 64, 131, 600};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        AttentionOptions options = {.sink = false};
        Lone a = lone_make("softmax1", &options, lengths[i], 5, 0);
        Lone b = with_a_key_before(&a, 0);
        ck_assert_ptr_null(a.data.own);
        lone_run(&a);
        lone_run(&b);
        check_same(&a, &b, 1);
        lone_free(&a);
        lone_free(&b);
    }
}
END_TEST

START_TEST(a_sink_is_the_score_of_that_key)
{
    static const double scores[] = {0, 1.5, -2, 30, -100};
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
        enum { LENGTH = 131, WIDTH = 5 };
        AttentionOptions options = {.sink = true};
        Lone a = lone_make("softmax1", &options, LENGTH, WIDTH, 0);
        Lone b = with_a_key_before(&a, (real)scores[i]);
        a.head.kind->start_own(a.own, &a.head, random_key(1, RANDOM_TEST, 0));
        ck_assert(a.own[0] == 0);
        a.own[0] = (real)scores[i];
        a.data.down[0] = 0;
        lone_run(&a);
        lone_run(&b);
        for (size_t t = 0; t <= LENGTH; t++) /* this feature is the score there */
            b.data.dq[t * WIDTH + WIDTH - 1] = 0;
        check_same(&a, &b, 1);
        real score_gradient = b.data.dk[WIDTH - 1] * (real)sqrt((double)WIDTH);
        check_close(a.data.down, &score_gradient, 1, "gradient of the sink");
        lone_free(&a);
        lone_free(&b);
    }
}
END_TEST

/* If all scores are far below the sink's, the output is zero and finite. */
START_TEST(a_head_may_attend_to_nothing)
{
    AttentionOptions options = {.sink = false};
    Lone a = lone_make("softmax1", &options, 20, 4, 0);
    for (size_t i = 0; i < 20 * 4; i++) {
        a.q[i] = -100;
        a.k[i] = 100;
    }
    lone_run(&a);
    for (size_t i = 0; i < 20 * 4; i++)
        ck_assert(fabs((double)a.data.out[i]) < 1e-30);
    lone_free(&a);
}
END_TEST

/* --- visible positions --- */

static const AttentionOptions patterns = {.window = 5, .period = 4, .summary = 2};

static bool window_sees(size_t i, size_t j)
{
    return i - j < patterns.window;
}

static bool near_period_sees(size_t i, size_t j)
{
    return i - j < patterns.period;
}

static bool strided_sees(size_t i, size_t j)
{
    return (i - j) % patterns.period == 0;
}

static bool own_block_sees(size_t i, size_t j)
{
    return i / patterns.period == j / patterns.period;
}

static bool summary_sees(size_t i, size_t j)
{
    return i == j || j % patterns.period >= patterns.period - patterns.summary;
}

/* With equal keys and one-hot values the output is the attention pattern. */
static void check_pattern(const char *name, size_t index, bool (*sees)(size_t i, size_t j))
{
    enum { LENGTH = 19 };
    Lone l = lone_make(name, &patterns, LENGTH, LENGTH, index);
    for (size_t i = 0; i < LENGTH * LENGTH; i++) {
        l.k[i] = 1;
        l.v[i] = i / LENGTH == i % LENGTH;
    }
    lone_run(&l);
    for (size_t i = 0; i < LENGTH; i++) {
        real expected[LENGTH] = {0};
        size_t count = 0;
        for (size_t j = 0; j <= i; j++)
            count += sees(i, j);
        for (size_t j = 0; j <= i; j++)
            expected[j] = sees(i, j) ? 1 / (real)count : 0;
        check_close(l.data.out + i * LENGTH, expected, LENGTH, name);
    }
    lone_free(&l);
}

START_TEST(patterns_are_as_described)
{
    check_pattern("window", 0, window_sees);
    check_pattern("window", 1, window_sees);
    check_pattern("strided", 0, near_period_sees);
    check_pattern("strided", 1, strided_sees);
    check_pattern("fixed", 2, own_block_sees);
    check_pattern("fixed", 3, summary_sees);
}
END_TEST

/* With equal keys every past position weighs the same, alone or in the mean of its block. */
START_TEST(pooled_blocks_weigh_like_their_positions)
{
    enum { LENGTH = 50, WIDTH = 3 };
    AttentionOptions options = {.segment = 8};
    Lone l = lone_make("pooled", &options, LENGTH, WIDTH, 0);
    for (size_t i = 0; i < LENGTH * WIDTH; i++)
        l.k[i] = 1;
    lone_run(&l);
    real sum[WIDTH] = {0}, mean[WIDTH];
    for (size_t t = 0; t < LENGTH; t++) {
        for (size_t i = 0; i < WIDTH; i++) {
            sum[i] += l.v[t * WIDTH + i];
            mean[i] = sum[i] / (real)(t + 1);
        }
        check_close(l.data.out + t * WIDTH, mean, WIDTH, "mean");
    }
    lone_free(&l);
}
END_TEST

Suite *panel_suite(void)
{
    Suite *suite = suite_create("panel");
    TCase *tests = tcase_create("relatives of softmax");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_reach_over_everything_is_softmax);
    tcase_add_test(tests, linformer_that_compresses_nothing_is_softmax);
    tcase_add_test(tests, keys_of_the_own_segment_are_turned);
    tcase_add_test(tests, softmax1_is_softmax_with_a_zero_key);
    tcase_add_test(tests, a_sink_is_the_score_of_that_key);
    tcase_add_test(tests, a_head_may_attend_to_nothing);
    tcase_add_test(tests, patterns_are_as_described);
    tcase_add_test(tests, pooled_blocks_weigh_like_their_positions);
    suite_add_tcase(suite, tests);
    return suite;
}
