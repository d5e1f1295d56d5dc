/* Tests of every attention kind in the table: its formula, causality, decoding, extreme inputs.
 * test_attention_gradients.c tests gradients. */
#include "src/layers/rotary.h"
#include "src/base/memory.h"
#include "tests/attention_case.h"
#include "tests/reference.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For what needs no precision: with doubles, no kind. */
#define KINDS_IN_FLOAT (sizeof(real) == sizeof(float) ? count_kinds() : 0)

SUITE("attention");
CASE("formula");

/* --- the formula --- */

static double **copy_rows(const real *x, size_t rows, size_t width, size_t stride)
{
    double **copy = reference_matrix(rows, width);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < width; j++)
            copy[i][j] = (double)x[i * stride + j];
    return copy;
}

/* The copies of keys or values of each position, side by side. */
static double **copy_parts(const Case *c, size_t first, size_t width)
{
    double **copy = reference_matrix(c->head.length, c->head.copies * width);
    for (size_t part = 0; part < c->head.copies; part++)
        for (size_t t = 0; t < c->head.length; t++)
            for (size_t i = 0; i < width; i++)
                copy[t][part * width + i] = (double)case_columns(
                    c, QKV, first + part)[t * c->head.stride + i];
    return copy;
}

static double **formula_of(const Case *c, bool rotary)
{
    const AttentionHead *head = &c->head;
    size_t length = head->length, width = head->width;
    ReferenceHead plain = {.length = length,
                           .width = width,
                           .value_width = head->value_width,
                           .copies = head->copies,
                           .index = head->index,
                           .heads = head->heads,
                           .layer = head->layer,
                           .layers = head->layers,
                           .options = head->options,
                           .rotary = rotary,
                           .out = reference_matrix(length, head->value_width)};
    double **const params = copy_rows(c->memory[PARAMS], 1, c->param_count, c->param_count);
    plain.q = copy_rows(case_columns(c, QKV, 0), length, width, head->stride);
    plain.k = copy_parts(c, 1, width);
    plain.v = copy_parts(c, 1 + head->copies, head->value_width);
    plain.gates = copy_rows(case_columns(c, GATES, 0), length, c->gates, head->gates_stride);
    plain.rates = copy_rows(case_columns(c, RATES, 0), length, c->rates, head->rates_stride);
    plain.params = params[0];
    ck_assert_msg(reference_run(c->kind->name, &plain), "%s has no formula in %s",
                  c->kind->name, "tests/reference.c");
    free(params), free(plain.q), free(plain.k), free(plain.v);
    free(plain.gates), free(plain.rates);
    return plain.out;
}

static void scale_columns(const Case *c, Buffer buffer, size_t which, double factor)
{
    size_t stride = buffer == GATES   ? c->head.gates_stride
                    : buffer == RATES ? c->head.rates_stride
                                      : c->head.stride;
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < case_width(c, buffer, which); i++)
            case_columns(c, buffer, which)[t * stride + i] *= (real)factor;
}

/* What models/block.c does for kinds that do not rotate themselves. */
static void rotate_inputs(const Case *c)
{
    size_t width = c->head.width;
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t which = 0; which < 1 + c->head.copies; which++)
            rotary_rotate(case_columns(c, QKV, which) + t * c->head.stride,
                          c->angles + t * width, width, false);
}

static void compare_with_formula(const Case *c, double **expected)
{
    double near = sizeof(real) == sizeof(double) ? 1e-11 : 3e-5, most = 1;
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < c->head.value_width; i++)
            most = fmax(most, fabs(expected[t][i]));
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < c->head.value_width; i++) {
            double is = (double)case_columns(c, OUT, 0)[t * c->head.out_stride + i];
            ck_assert_msg(fabs(is - expected[t][i]) <= near * most,
                          "%s T %zu D %zu head %zu: out[%zu][%zu] is %.12g, the formula says "
                          "%.12g",
                          c->kind->name, c->head.length, c->head.width, c->head.index, t, i, is,
                          expected[t][i]);
        }
}

/* A larger spread reaches the limits that some kinds put on their inputs. */
static void check_formula(const AttentionKind *kind, Variant variant, double spread)
{
    bool rotary = variant.rotary, rotates = rotary && !kind->applies_rope;
    variant.rotary = rotary && kind->applies_rope;
    Case c = case_make(kind, variant);
    scale_columns(&c, QKV, 0, spread);
    for (size_t key = 1; key <= c.head.copies; key++)
        scale_columns(&c, QKV, key, spread);
    scale_columns(&c, GATES, 0, spread * spread);
    scale_columns(&c, RATES, 0, spread * spread);
    if (case_is_quick(&c)) {
        double **expected = formula_of(&c, rotary);
        if (rotates)
            rotate_inputs(&c);
        case_forward(&c);
        compare_with_formula(&c, expected);
        free(expected);
    }
    case_free(&c);
}

LOOP_TEST(forward_is_the_formula, 0, count_kinds())
{
    static const struct {
        size_t length, width;
    } shapes[] = {{1, 1}, {2, 3}, {31, 4}, {64, 6}, {65, 16}, {131, 5}, {80, 40}, {600, 2}};
    const AttentionKind *kind = attention_find((size_t)_i);
    size_t sets = kind->uses ? OPTION_SETS : 1;
    for (size_t s = 0; s < sets * (sizeof shapes / sizeof *shapes); s++) {
        Variant variant = {.length = shapes[s / sets].length,
                           .width = shapes[s / sets].width,
                           .options = &case_options[s % sets]};
        bool turns = !kind->no_rotary &&
                     attention_key_width(kind, &kind->parts, variant.width) % 2 == 0;
        for (int rotary = 0; rotary <= turns; rotary++)
            for (int index = 0; index < HEADS; index++) {
                variant.rotary = rotary;
                variant.index = (size_t)index;
                check_formula(kind, variant, index == rotary ? 1 : 6);
            }
    }
}

/* --- causality --- */

CASE("every kind");

static void change_rows(real *x, size_t width, size_t stride, size_t from, size_t length)
{
    for (size_t t = from; t < length; t++)
        for (size_t i = 0; i < width; i++)
            x[t * stride + i] = x[t * stride + i] * 3 - 1;
}

static void check_causality(Case *c)
{
    const AttentionHead *head = &c->head;
    size_t length = head->length, row = head->out_stride, from = length / 2;
    case_forward(c);
    real *before = memory_new(length * row, sizeof(real), "a test");
    memcpy(before, c->memory[OUT], length * row * sizeof(real));
    for (size_t which = 0; which < case_parts(c); which++)
        change_rows(case_columns(c, QKV, which), case_width(c, QKV, which), head->stride, from,
                    length);
    change_rows(case_columns(c, GATES, 0), c->gates, head->gates_stride, from, length);
    change_rows(case_columns(c, RATES, 0), c->rates, head->rates_stride, from, length);
    case_forward(c);
    ck_assert_msg(memcmp(before, c->memory[OUT], from * row * sizeof(real)) == 0,
                  "%s T %zu: the past changed with the future", c->kind->name, length);
    if (length > 2 &&
        head->dropout.rate == 0) /* with dropout or few positions the change may be dropped */
        ck_assert_msg(memcmp(before, c->memory[OUT], length * row * sizeof(real)) != 0,
                      "%s T %zu: nothing changed at all", c->kind->name, length);
    free(before);
}

LOOP_TEST(the_future_cannot_change_the_past, 0, KINDS_IN_FLOAT)
{
    case_for_every(_i, check_causality);
}

/* Whether the head's columns are finite, and the memory between them still NaN. */
static void check_columns(const Case *c, Buffer buffer, size_t which, size_t stride)
{
    size_t width = case_width(c, buffer, which), heads = case_heads(c, buffer, which);
    size_t index = c->head.index % heads;
    const real *first = case_columns(c, buffer, which) - index * width;
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < heads * width; i++) {
            real x = first[t * stride + i];
            bool own = i / width == index, number = isfinite(x);
            ck_assert_msg(
                own == number, "%s T %zu D %zu: row %zu, column %zu of buffer %d is %g",
                c->kind->name, c->head.length, c->head.width, t, i, (int)buffer, (double)x);
        }
}

static void check_whole(const Case *c)
{
    check_columns(c, OUT, 0, c->head.out_stride);
    for (size_t which = 0; which < case_parts(c); which++)
        check_columns(c, DQKV, which, c->head.stride);
    if (c->gates)
        check_columns(c, DGATES, 0, c->head.gates_stride);
    if (c->rates)
        check_columns(c, DRATES, 0, c->head.rates_stride);
    for (size_t i = 0; i < c->param_count; i++)
        ck_assert(isfinite(c->memory[DPARAMS][i]));
    case_check_guards(c);
}

static void check_neighbours(Case *c)
{
    case_forward(c);
    case_backward(c);
    check_whole(c);
}

LOOP_TEST(a_head_writes_all_of_its_own_memory_and_no_other, 0, KINDS_IN_FLOAT)
{
    case_for_every(_i, check_neighbours);
}

/* --- decoding --- */

/* The tolerance for rounding. */
static double tolerance(const Case *c, const real *out)
{
    double most = 0;
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < c->head.value_width; i++) {
            double size = fabs((double)out[t * c->head.out_stride + i]);
            most = size > most ? size : most;
        }
    return 500 * REAL_EPSILON * (1 + most);
}

static void compare_row(const Case *c, const real *out, const real *expected, size_t t,
                        double near, const char *what)
{
    for (size_t i = 0; i < c->head.value_width; i++)
        ck_assert_msg(fabs((double)out[i] - (double)expected[i]) <= near,
                      "%s T %zu D %zu carry %d: position %zu gives %.9g %s, forward %.9g",
                      c->kind->name, c->head.length, c->head.width, c->carries, t,
                      (double)out[i], what, (double)expected[i]);
}

/* Decodes the positions from a row on, one by one; `position` is the number of the first. */
static void compare_steps(Case *c, size_t from, size_t position, const real *expected)
{
    double near = tolerance(c, expected);
    real *out = memory_new(c->head.value_width, sizeof(real), "a test");
    for (size_t t = from; t < c->head.length; t++) {
        AttentionData data = case_data(c, t);
        AttentionHead head = c->decoder;
        data.out = out;
        data.scratch = c->memory[STEP_SCRATCH];
        data.saved = NULL;
        data.state = c->memory[STATE];
        head.position = position + t - from;
        if (head.rotary)
            head.rotary += t * head.width;
        c->kind->engine->step(&data, &head);
        compare_row(c, out, expected + t * c->head.out_stride, t, near, "in a step");
    }
    free(out);
}

static void check_steps(Case *c)
{
    if (c->head.dropout.rate > 0)
        return; /* decoding has no dropout */
    case_forward(c);
    case_start_state(c);
    compare_steps(c, 0, c->carries ? c->head.length : 0, case_columns(c, OUT, 0));
}

LOOP_TEST(decoding_steps_equal_forward, 0, count_kinds())
{
    case_for_every(_i, check_steps);
}

/* Runs the rows from one on in parts of a length, carrying the state. */
static void forward_parts(Case *c, size_t from, size_t each)
{
    for (size_t length = c->head.length; from < length; from += each)
        case_forward_part(c, from, length - from < each ? length : from + each);
}

static void compare_rows(const Case *c, const real *expected, double near, const char *what)
{
    for (size_t t = 0; t < c->head.length; t++)
        compare_row(c, case_columns(c, OUT, 0) + t * c->head.out_stride,
                    expected + t * c->head.out_stride, t, near, what);
}

/* Compares the whole sequence with parts, and with decoding steps, from a row on. */
static void check_parts(Case *c, size_t from, size_t each)
{
    size_t count = c->head.length * c->head.out_stride;
    real *whole = memory_new(count, sizeof(real), "a test");
    real *middle = memory_new(c->count[STATE], sizeof(real), "a test");
    case_forward(c);
    memcpy(whole, c->memory[OUT], count * sizeof(real));
    real *expected = whole + (case_columns(c, OUT, 0) - c->memory[OUT]);
    double near = tolerance(c, expected);
    case_start_state(c);
    case_forward_part(c, 0, from);
    memcpy(middle, c->memory[STATE], c->count[STATE] * sizeof(real));
    forward_parts(c, from, each);
    compare_rows(c, expected, near, "in parts");
    memcpy(c->memory[STATE], middle, c->count[STATE] * sizeof(real));
    compare_steps(c, from, c->head.length + from, expected);
    free(whole);
    free(middle);
}

/* The result must not depend on how the sequence is cut into parts. */
static void check_carry(Case *c)
{
    if (!c->carries || c->head.dropout.rate > 0 || c->head.length < 2)
        return;
    static const size_t lengths[] = {1, 7, 16, 64};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (lengths[i] < c->head.length)
            check_parts(c, lengths[i], lengths[i]);
    check_parts(c, c->head.length / 2, c->head.length);
    check_parts(c, c->head.length - 1, c->head.length);
}

LOOP_TEST(parts_with_a_carried_state_equal_the_whole, 0, count_kinds())
{
    case_for_every(_i, check_carry);
}

LOOP_TEST(finite_states_are_small, 0, KINDS_IN_FLOAT)
{
    const AttentionKind *kind = attention_find((size_t)_i);
    Case c = case_make(kind, (Variant){.length = 1, .width = 64, .options = case_options});
    if (kind->engine->finite_state)
        ck_assert_uint_lt(c.count[STATE] + c.count[STEP_SCRATCH], 1 << 21);
    case_free(&c);
}

/* --- weights --- */

/* With all values 1 the output is the sum of the weights: 1, as long as keys and queries are
 * not nearly opposite. The first position returns its own value. */
static void check_weights(Case *c)
{
    const AttentionHead *head = &c->head;
    if (!c->kind->normalised || head->dropout.rate > 0 || head->rotary || c->carries)
        return;
    for (size_t t = 0; t < head->length; t++)
        for (size_t i = 0; i < head->width; i++)
            for (size_t which = 0; which < 2; which++) {
                real *x = case_columns(c, QKV, which) + t * head->stride + i;
                *x = (real)fabs((double)*x) + (real)0.5;
            }
    real *v = case_columns(c, QKV, 1 + head->copies), *out = case_columns(c, OUT, 0);
    case_forward(c);
    compare_row(c, out, v, 0, 1e-3, "instead of its value;");
    for (size_t t = 0; t < head->length; t++)
        for (size_t i = 0; i < head->width; i++)
            v[t * head->stride + i] = 1;
    case_forward(c);
    for (size_t t = 0; t < head->length; t++)
        compare_row(c, out + t * head->out_stride, v, t, 1e-3, "as the sum of weights;");
}

LOOP_TEST(normalised_weights_sum_to_one, 0, KINDS_IN_FLOAT)
{
    case_for_every(_i, check_weights);
}

/* --- stress --- */

/* If the epsilon dominates a denominator, the sum of the weights lies between 0 and 1. */
static void check_shares(const Case *c)
{
    double least = c->kind->has_weights ? 1 : 0;
    for (size_t t = 0; c->kind->normalised && t < c->head.length; t++)
        for (size_t i = 0; i < c->head.width; i++) {
            double share = (double)case_columns(c, OUT, 0)[t * c->head.out_stride + i];
            ck_assert_msg(share >= least - 1e-3 && share <= 1 + 1e-3,
                          "%s: the weights sum to %g", c->kind->name, share);
        }
}

/* Values are 1; gates are extreme, of one sign or both. */
static void draw_extremes(Case *c, double q_factor, double k_factor, double gate)
{
    const AttentionHead *head = &c->head;
    case_draw(c, 5);
    for (size_t t = 0; t < head->length; t++) {
        real *q = case_columns(c, QKV, 0) + t * head->stride;
        real *k = case_columns(c, QKV, 1) + t * head->stride;
        real *v = case_columns(c, QKV, 2) + t * head->stride;
        real *gates = case_columns(c, GATES, 0) + t * head->gates_stride;
        real *rates = case_columns(c, RATES, 0) + t * head->rates_stride;
        for (size_t i = 0; i < head->width; i++) {
            q[i] *= (real)q_factor;
            k[i] *= (real)k_factor;
        }
        for (size_t i = 0; i < head->value_width; i++)
            v[i] = 1;
        for (size_t i = 0; i < c->gates; i++)
            gates[i] = (real)(gate != 0 ? gate : gates[i] > 0 ? 30 : -30);
        for (size_t i = 0; i < c->rates; i++)
            rates[i] = (real)(gate != 0 ? gate : rates[i] > 0 ? 30 : -30);
    }
}

/* Scores of thousands, equal scores, zeros. */
static void check_stress(Case *c)
{
    static const double factors[][2] = {{1e4, 1}, {1, 1e4}, {30, 30}, {1, 0}, {0, 0}};
    static const double gates[] = {30, -30, 0};
    enum { SEVERAL_CHUNKS = 140 }; /* longer ones show no more, and take half of the time */
    if (c->head.dropout.rate > 0 || c->carries || c->head.length > SEVERAL_CHUNKS)
        return;
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        for (size_t g = 0; g < (c->gates ? sizeof gates / sizeof *gates : 1); g++) {
            draw_extremes(c, factors[f][0], factors[f][1], gates[g]);
            case_forward(c);
            if (!c->head.rotary)
                check_shares(c);
            case_backward(c);
            check_whole(c);
        }
}

LOOP_TEST(extreme_inputs_stay_finite, 0, KINDS_IN_FLOAT)
{
    case_for_every(_i, check_stress);
}
