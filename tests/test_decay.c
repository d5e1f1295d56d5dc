/* Relations of kinds with decay and the delta rule to plain sums and to each other, and their
 * building blocks: triangular systems and logarithms. */
#include "src/attention/attention.h"
#include "src/attention/triangle.h"
#include "src/memory.h"
#include "src/vector.h"
#include "tests/tests.h"

#include <stdlib.h>

/* --- one head --- */

enum { LENGTH = 150, WIDTH = 16 }; /* several chunks, the last one partial */

typedef struct Lone {
    AttentionHead head;
    real *q, *k, *v, *gates, *own, *out; /* rows of WIDTH, except gates and own */
    size_t gate_count;
} Lone;

static Lone lone_make(const AttentionKind *kind)
{
    Lone l = {.head = {.kind = kind,
                       .length = LENGTH,
                       .width = WIDTH,
                       .index = 2,
                       .stride = WIDTH,
                       .out_stride = WIDTH}};
    real **const rows[] = {&l.q, &l.k, &l.v};
    RandomKey key = random_key(6, RANDOM_TEST, 0);
    for (size_t r = 0; r < 3; r++) {
        *rows[r] = memory_take(LENGTH * WIDTH, sizeof(real), "a test");
        for (size_t i = 0; i < LENGTH * WIDTH; i++)
            (*rows[r])[i] = (real)random_normal(random_subkey(key, r), i);
    }
    l.gate_count = l.head.gates_stride = kind->gates ? kind->gates(&l.head) : 0;
    l.gates = memory_take(LENGTH * l.gate_count + 1, sizeof(real), "a test");
    l.own = memory_take(1, sizeof(real), "a test");
    l.out = memory_take(LENGTH * WIDTH, sizeof(real), "a test");
    return l;
}

static void lone_free(Lone *l)
{
    free(l->q), free(l->k), free(l->v), free(l->gates), free(l->own), free(l->out);
}

/* Sets one of the gates at every position. */
static void set_gate(Lone *l, size_t gate, double value)
{
    for (size_t t = 0; t < LENGTH; t++)
        l->gates[t * l->gate_count + gate] = (real)value;
}

static void lone_run(Lone *l)
{
    const AttentionKind *kind = l->head.kind;
    AttentionData data = {.q = l->q, .k = l->k, .v = l->v, .out = l->out};
    data.gates = l->gate_count ? l->gates : NULL;
    data.own = kind->own_reals ? l->own : NULL;
    data.saved = memory_take(kind->memory(&l->head).saved, sizeof(real), "a test");
    data.scratch = memory_take(kind->memory(&l->head).scratch, sizeof(real), "a test");
    kind->forward(&data, &l->head);
    free(data.saved);
    free(data.scratch);
}

static void check_rows(const Lone *l, const real *expected, const char *what)
{
    for (size_t i = 0; i < LENGTH * WIDTH; i++) {
        double is = (double)l->out[i], should = (double)expected[i];
        ck_assert_msg(fabs(is - should) <= 1e-5 * (1 + fabs(should)),
                      "%s, %s: position %zu has %g, not %g", l->head.kind->name, what,
                      i / WIDTH, is, should);
    }
}

/* --- sums --- */

/* sum over j <= i of decay^(i-j) q_i . k_j / sqrt(D) v_j */
static void check_sums(const Lone *l, double decay, const char *what)
{
    real *sums = memory_take(LENGTH * WIDTH, sizeof(real), "a test");
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t j = 0; j <= i; j++) {
            real weight = vector_dot(l->q + i * WIDTH, l->k + j * WIDTH, WIDTH);
            weight *= (real)(pow(decay, (double)(i - j)) / sqrt(WIDTH));
            vector_add_scaled(sums + i * WIDTH, l->v + j * WIDTH, weight, WIDTH);
        }
    check_rows(l, sums, what);
    free(sums);
}

START_TEST(what_does_not_fade_is_a_plain_sum)
{
    static const AttentionKind *const kinds[] = {&attention_gated, &attention_gla};
    Lone l = lone_make(kinds[_i]);
    for (size_t gate = 0; gate < l.gate_count; gate++)
        set_gate(&l, gate, 100);
    lone_run(&l);
    check_sums(&l, 1, "open gates");
    lone_free(&l);
}
END_TEST

START_TEST(retention_fades_by_powers)
{
    Lone l = lone_make(&attention_retention);
    lone_run(&l);
    check_sums(&l, 1 - pow(2, -7), "third head");
    lone_free(&l);
}
END_TEST

/* With gates that depend on the position, not on the feature. */
START_TEST(equal_gates_for_all_features_are_one_gate)
{
    Lone one = lone_make(&attention_gated), all = lone_make(&attention_gla);
    RandomKey key = random_key(7, RANDOM_TEST, 0);
    for (size_t t = 0; t < LENGTH; t++) {
        one.gates[t] = (real)(3 * random_normal(key, t));
        for (size_t i = 0; i < WIDTH; i++)
            all.gates[t * WIDTH + i] = one.gates[t];
    }
    lone_run(&one);
    lone_run(&all);
    check_rows(&all, one.out, "as gated");
    lone_free(&one);
    lone_free(&all);
}
END_TEST

/* --- the delta rule --- */

/* WIDTH orthogonal rows: the reflection at a direction w. */
static void make_basis(real *rows)
{
    real w[WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        w[i] = (real)random_normal(random_key(8, RANDOM_TEST, 0), i);
    real by = 2 / vector_dot(w, w, WIDTH);
    for (size_t i = 0; i < WIDTH; i++)
        for (size_t j = 0; j < WIDTH; j++)
            rows[i * WIDTH + j] = 5 * ((i == j ? 1 : 0) - by * w[i] * w[j]);
}

/* Orthogonal keys recur with new values, with b = 1. Queries ask for the value written some
 * positions ago, which has not been replaced since. */
static void check_lookups(size_t ago)
{
    Lone l = lone_make(&attention_delta);
    real basis[WIDTH * WIDTH];
    make_basis(basis);
    set_gate(&l, 0, 100);
    for (size_t t = 0; t < LENGTH; t++) {
        memcpy(l.k + t * WIDTH, basis + t % WIDTH * WIDTH, WIDTH * sizeof(real));
        memcpy(l.q + t * WIDTH, basis + (t + WIDTH - ago) % WIDTH * WIDTH,
               WIDTH * sizeof(real));
    }
    lone_run(&l);
    vector_zero(l.out, ago * WIDTH); /* nothing was written yet */
    real *expected = memory_take(LENGTH * WIDTH, sizeof(real), "a test");
    memcpy(expected + ago * WIDTH, l.v, (LENGTH - ago) * WIDTH * sizeof(real));
    check_rows(&l, expected, "looked up");
    free(expected);
    lone_free(&l);
}

START_TEST(delta_returns_what_a_key_stands_for)
{
    check_lookups(0);
    check_lookups(1);
    check_lookups(WIDTH - 1);
}
END_TEST

START_TEST(gated_delta_that_does_not_fade_is_delta)
{
    Lone plain_rule = lone_make(&attention_delta), gated = lone_make(&attention_gated_delta);
    set_gate(&plain_rule, 0, 0.3);
    set_gate(&gated, 0, 0.3);
    set_gate(&gated, 1, -100);
    lone_run(&plain_rule);
    lone_run(&gated);
    check_rows(&gated, plain_rule.out, "closed gates");
    lone_free(&plain_rule);
    lone_free(&gated);
}
END_TEST

/* --- building blocks --- */

enum { ROWS = 64, COLUMNS = 24, WIDER = COLUMNS + 1 };

/* Right-hand sides are random; the column after them must not change. */
static void check_solution(const real *l, const real *x, size_t rows, bool transpose,
                           RandomKey key)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t column = 0; column < WIDER; column++) {
            double sum = (double)x[i * WIDER + column];
            for (size_t j = 0; column < COLUMNS && j < rows; j++) {
                double other = (double)x[j * WIDER + column];
                if (transpose ? j > i : j < i)
                    sum += (double)l[transpose ? j * ROWS + i : i * ROWS + j] * other;
            }
            ck_assert_double_eq_tol(sum, random_normal(key, i * WIDER + column), 1e-4);
        }
}

START_TEST(triangular_systems_are_solved)
{
    static real l[ROWS * ROWS], x[ROWS * WIDER];
    RandomKey key = random_key(9, RANDOM_TEST, 0);
    for (size_t i = 0; i < ROWS * ROWS; i++) /* entries that must not be read are NaN */
        l[i] = i % ROWS < i / ROWS ? (real)(0.2 * random_normal(key, i)) : (real)NAN;
    for (size_t rows = 1; rows <= ROWS; rows += 7) {
        RandomKey sides = random_subkey(key, rows);
        for (int transpose = 0; transpose < 2; transpose++) {
            for (size_t i = 0; i < rows * WIDER; i++)
                x[i] = (real)random_normal(sides, i);
            Triangle triangle = {l, rows, ROWS};
            if (transpose)
                triangle_solve_transposed(triangle, x, WIDER, COLUMNS);
            else
                triangle_solve(triangle, x, WIDER, COLUMNS);
            check_solution(l, x, rows, transpose, sides);
        }
    }
}
END_TEST

static void check_close(double value, double exact)
{
    ck_assert_msg(fabs(value - exact) <= 3e-7 * fabs(exact), "%.9g, not %.9g", value, exact);
}

START_TEST(logarithms_are_accurate)
{
    for (double x = -80; x < 80; x += 1e-3) {
        real rounded = (real)x;
        double small = log1p(exp(-fabs((double)rounded)));
        check_close((double)vector_softplus(rounded), fmax((double)rounded, 0) + small);
        check_close((double)vector_log_sigmoid(rounded), fmin((double)rounded, 0) - small);
    }
    for (double x = 1; x > 1e-30; x *= 0.99)
        check_close((double)vector_log1p((real)x), log1p((double)(real)x));
    ck_assert(vector_log1p(0) == 0);
    for (double x = 1e-30; x < 1e30; x *= 1.37)
        check_close((double)vector_log((real)x), log((double)(real)x));
    ck_assert(vector_softplus((real)1e6) == (real)1e6);
    ck_assert(isnan(vector_softplus((real)NAN)));
}
END_TEST

/* Multiplying by powers of two is exact, on which gla depends. */
START_TEST(scaled_exponentials_have_the_same_digits)
{
    for (double x = -80; x < 80; x += 0.01)
        for (int32_t power = -40; power <= 40; power += 8) {
            double exponent = x / log(2) + power;
            real plain_one = vector_exp((real)x), scaled = vector_exp_scaled((real)x, power);
            if (fabs(exponent) < 120)
                ck_assert((double)scaled == ldexp((double)plain_one, power));
        }
}
END_TEST

Suite *decay_suite(void)
{
    Suite *suite = suite_create("decay");
    TCase *tests = tcase_create("decay");
    tcase_add_loop_test(tests, what_does_not_fade_is_a_plain_sum, 0, 2);
    tcase_add_test(tests, retention_fades_by_powers);
    tcase_add_test(tests, equal_gates_for_all_features_are_one_gate);
    tcase_add_test(tests, delta_returns_what_a_key_stands_for);
    tcase_add_test(tests, gated_delta_that_does_not_fade_is_delta);
    tcase_add_test(tests, triangular_systems_are_solved);
    tcase_add_test(tests, logarithms_are_accurate);
    tcase_add_test(tests, scaled_exponentials_have_the_same_digits);
    suite_add_tcase(suite, tests);
    return suite;
}
