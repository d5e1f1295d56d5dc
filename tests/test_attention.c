/* Tests of all attention kinds, for every row of the table: gradients, causality, decoding.
 *
 * A case is one head, interleaved in memory with others as in a model. All memory that is not
 * the head's own holds NaN, so reading it, or not writing an output, shows in the results. */
#include "src/attention/attention.h"
#include "src/layers/rotary.h"
#include "src/memory.h"
#include "src/random.h"
#include "src/vector.h"
#include "tests/tests.h"

#include <stdlib.h>

enum { HEADS = 2, INDEX = 1, GUARD = 64 };
static const real guard_value = 54321;

typedef enum Buffer {
    QKV,
    GATES,
    OWN,
    OUT,
    DOUT,
    SAVED,
    SCRATCH,
    STEP_SCRATCH,
    START, /* the carried state */
    STATE,
    DQKV,
    DGATES,
    DOWN,
    BUFFERS
} Buffer;

typedef struct Case {
    const AttentionKind *kind;
    AttentionHead head, decoder;
    size_t gates, own;
    bool carries;
    real *at[BUFFERS];
    size_t count[BUFFERS];
    real *angles; /* (T, D) */
} Case;

static const AttentionOptions small_options = {.window = 5,
                                               .period = 4,
                                               .summary = 1,
                                               .segment = 4,
                                               .rank = 2,
                                               .features = 8,
                                               .hashes = 2,
                                               .buckets = 4,
                                               .near = 3,
                                               .tau = 0.95,
                                               .sink = true};

/* --- memory --- */

static void soil(Case *c, Buffer buffer)
{
    for (size_t i = 0; i < c->count[buffer]; i++)
        c->at[buffer][i] = (real)NAN;
}

static void take(Case *c, Buffer buffer, size_t count)
{
    c->at[buffer] = memory_take(count + GUARD, sizeof(real), "a test");
    c->count[buffer] = count;
    soil(c, buffer);
    for (size_t i = 0; i < GUARD; i++)
        c->at[buffer][count + i] = guard_value;
}

static void check_guards(const Case *c)
{
    for (size_t b = 0; b < BUFFERS; b++)
        for (size_t i = 0; i < GUARD; i++)
            ck_assert_msg(c->at[b][c->count[b] + i] == guard_value,
                          "%s T %zu D %zu: wrote behind buffer %zu", c->kind->name,
                          c->head.length, c->head.width, b);
}

/* Sizes are measured before the angles are set. */
static void take_all(Case *c)
{
    const AttentionKind *kind = c->kind;
    size_t length = c->head.length;
    AttentionHead head = c->head, decoder = c->decoder;
    head.rotary = decoder.rotary = NULL;
    take(c, QKV, length * c->head.stride);
    take(c, GATES, length * c->head.gates_stride);
    take(c, OWN, c->own);
    take(c, OUT, length * c->head.out_stride);
    take(c, DOUT, length * c->head.out_stride);
    take(c, SAVED, kind->saved_reals(&head));
    take(c, SCRATCH, kind->scratch_reals(&head));
    take(c, STEP_SCRATCH, kind->scratch_reals(&decoder));
    take(c, START, kind->state_reals(&decoder));
    take(c, STATE, kind->state_reals(&decoder));
    take(c, DQKV, length * c->head.stride);
    take(c, DGATES, length * c->head.gates_stride);
    take(c, DOWN, c->own);
}

/* The head's columns in rows that all heads share; in QKV, those of q, k or v. */
static real *columns(const Case *c, Buffer buffer, size_t which)
{
    size_t width = buffer == GATES || buffer == DGATES ? c->gates : c->head.width;
    return c->at[buffer] + (which * HEADS + INDEX) * width;
}

static void draw_columns(Case *c, Buffer buffer, size_t which, size_t stride, size_t width,
                         RandomKey key)
{
    real *x = columns(c, buffer, which);
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < width; i++)
            x[t * stride + i] = (real)random_normal(key, t * width + i);
}

static void draw_inputs(Case *c, uint64_t seed)
{
    const AttentionHead *head = &c->head;
    RandomKey key = random_key(seed, RANDOM_TEST, head->length * 100 + head->width);
    for (size_t which = 0; which < 3; which++)
        draw_columns(c, QKV, which, head->stride, head->width, random_subkey(key, which));
    draw_columns(c, DOUT, 0, head->out_stride, head->width, random_subkey(key, 3));
    draw_columns(c, GATES, 0, head->gates_stride, c->gates, random_subkey(key, 4));
    if (!c->gates || !c->kind->start_gates)
        return;
    real *bias = memory_take(c->gates, sizeof *bias, "a test");
    c->kind->start_gates(bias, head, random_subkey(key, 5));
    for (size_t t = 0; t < head->length; t++)
        vector_add_scaled(columns(c, GATES, 0) + t * head->gates_stride, bias, 1, c->gates);
    free(bias);
}

static void draw_own(Case *c)
{
    RandomKey key = random_key(4, RANDOM_TEST, 0);
    if (c->own)
        c->kind->start_own(c->at[OWN], &c->head, key);
    for (size_t i = 0; i < c->own && !c->kind->own_is_drawn; i++)
        c->at[OWN][i] += (real)(0.2 * random_normal(random_subkey(key, 1), i));
}

/* --- cases --- */

/* The arguments of a kind's functions, for the rows from `row` on. */
static AttentionData case_data(const Case *c, size_t row)
{
    size_t in = row * c->head.stride, out = row * c->head.out_stride;
    AttentionData data = {.q = columns(c, QKV, 0) + in,
                          .k = columns(c, QKV, 1) + in,
                          .v = columns(c, QKV, 2) + in,
                          .out = columns(c, OUT, 0) + out,
                          .saved = c->at[SAVED],
                          .scratch = c->at[SCRATCH]};
    if (c->gates)
        data.gates = columns(c, GATES, 0) + row * c->head.gates_stride;
    if (c->own)
        data.own = c->at[OWN];
    if (c->carries)
        data.carry = c->at[STATE];
    return data;
}

static void start_state(Case *c)
{
    memcpy(c->at[STATE], c->at[START], c->count[STATE] * sizeof(real));
}

/* Runs the rows [from, end) of a sequence, after the earlier ones. */
static void forward_part(Case *c, size_t from, size_t end)
{
    AttentionData data = case_data(c, from);
    AttentionHead head = c->head;
    head.length = end - from;
    head.position += from;
    if (head.rotary)
        head.rotary += from * head.width;
    c->kind->forward(&data, &head);
}

static void case_forward(Case *c)
{
    if (c->carries)
        start_state(c);
    forward_part(c, 0, c->head.length);
}

/* Parameter gradients accumulate: they start at 1. */
static void case_backward(Case *c)
{
    AttentionData data = case_data(c, 0);
    data.dout = columns(c, DOUT, 0);
    data.dq = columns(c, DQKV, 0);
    data.dk = columns(c, DQKV, 1);
    data.dv = columns(c, DQKV, 2);
    if (c->gates)
        data.dgates = columns(c, DGATES, 0);
    if (c->own && !c->kind->own_is_drawn)
        data.down = c->at[DOWN];
    for (size_t i = 0; i < c->own; i++)
        c->at[DOWN][i] = 1;
    soil(c, SCRATCH);
    c->kind->backward(&data, &c->head);
}

/* The state after a sequence of the same length, or zeros. */
static void make_start(Case *c)
{
    vector_zero(c->at[START], c->count[START]);
    if (!c->carries)
        return;
    draw_inputs(c, 6);
    case_forward(c);
    c->head.position = c->head.length;
    memcpy(c->at[START], c->at[STATE], c->count[START] * sizeof(real));
    soil(c, OUT);
    soil(c, SAVED);
    soil(c, SCRATCH);
}

typedef struct Variant {
    bool rotary, dropout, carries;
} Variant;

static Case case_make(const AttentionKind *kind, size_t length, size_t width, Variant variant)
{
    Case c = {.kind = kind, .carries = variant.carries};
    c.angles = memory_take(length * width, sizeof(real), "a test");
    for (size_t t = 0; t < length; t++)
        rotary_row(c.angles + t * width, t, width);
    AttentionSizes sizes = {
        .batch = 1,
        .length = length,
        .heads = HEADS,
        .width = width,
        .options = &small_options,
        .rotary = variant.rotary ? c.angles : NULL,
        .carries = variant.carries,
        .dropout = {random_key(7, RANDOM_TEST, 0), variant.dropout ? (real)0.3 : 0}};
    c.head = attention_head(kind, &sizes, INDEX);
    c.decoder = c.head;
    if (kind->finite_state)
        c.decoder.length = (size_t)1 << 40; /* the state must not grow with it */
    c.gates = kind->gates ? kind->gates(&c.head) : 0;
    c.own = kind->own_reals ? kind->own_reals(&c.head) : 0;
    take_all(&c);
    draw_own(&c);
    make_start(&c);
    draw_inputs(&c, 3);
    return c;
}

static void case_free(Case *c)
{
    check_guards(c);
    for (size_t b = 0; b < BUFFERS; b++)
        free(c->at[b]);
    free(c->angles);
}

/* Sizes that find mistakes: one of everything, odd ones, a chunk and its neighbours, several
 * blocks. */
static const struct {
    size_t length, width;
} sizes[] = {{1, 1},  {1, 4},  {2, 3},   {7, 6},   {23, 5},
             {64, 2}, {65, 4}, {40, 16}, {131, 4}, {777, 2}};

/* Options for short sequences make long ones very slow; so do sanitizers. */
#ifdef __SANITIZE_ADDRESS__
static const double MOST_FLOP = 3e4;
#else
static const double MOST_FLOP = 1e8;
#endif

static void for_every_variant(const AttentionKind *kind, size_t length, size_t width,
                              void (*test)(Case *c))
{
    bool turns = kind->turns_itself && !kind->no_rotary && width % 2 == 0;
    bool carries = kind->finite_state && kind->carry != CARRY_NEVER;
    for (int rotary = 0; rotary <= turns; rotary++)
        for (int dropout = 0; dropout <= kind->has_weights; dropout++)
            for (int carry = 0; carry <= carries; carry++) {
                Case c = case_make(kind, length, width, (Variant){rotary, dropout, carry});
                if (kind->flop(&c.head) < MOST_FLOP)
                    test(&c);
                case_free(&c);
            }
}

/* Calls the test for every size, with and without angles, dropout and a carried state, if the
 * kind supports them. */
static void for_every_case(int index, void (*test)(Case *c))
{
    const AttentionKind *kind = attention_find((size_t)index);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for_every_variant(kind, sizes[s].length, sizes[s].width, test);
}

/* --- gradients --- */

#ifdef LINNET_DOUBLE
/* A loss whose gradient with respect to the output is dout. */
static double case_loss(Case *c)
{
    case_forward(c);
    double loss = 0;
    for (size_t t = 0; t < c->head.length; t++)
        loss += vector_dot(columns(c, OUT, 0) + t * c->head.out_stride,
                           columns(c, DOUT, 0) + t * c->head.out_stride, c->head.width);
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
                                   .at = columns(c, QKV, which),
                                   .gradient = columns(c, DQKV, which),
                                   .rows = head->length,
                                   .columns = head->width,
                                   .stride = head->stride};
    if (c->gates)
        list[count++] = (Variable){.name = "gates",
                                   .at = columns(c, GATES, 0),
                                   .gradient = columns(c, DGATES, 0),
                                   .rows = head->length,
                                   .columns = c->gates,
                                   .stride = head->gates_stride};
    if (c->own && !c->kind->own_is_drawn)
        list[count++] = (Variable){.name = "own",
                                   .at = c->at[OWN],
                                   .gradient = c->at[DOWN],
                                   .base = 1,
                                   .rows = 1,
                                   .columns = c->own,
                                   .stride = c->own};
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
        x->at[place(x, i)] = x->origin[i] + distance * direction(i, one);
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

START_TEST(gradients_agree_with_central_differences)
{
    for_every_case(_i, check_gradients);
}
END_TEST
#endif

/* --- causality --- */

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
    real *before = memory_take(length * row, sizeof(real), "a test");
    memcpy(before, c->at[OUT], length * row * sizeof(real));
    for (size_t which = 0; which < 3; which++)
        change_rows(columns(c, QKV, which), head->width, head->stride, from, length);
    change_rows(columns(c, GATES, 0), c->gates, head->gates_stride, from, length);
    case_forward(c);
    ck_assert_msg(memcmp(before, c->at[OUT], from * row * sizeof(real)) == 0,
                  "%s T %zu: the past changed with the future", c->kind->name, length);
    if (length > 2 &&
        head->dropout.rate == 0) /* with dropout or few positions the change may be dropped */
        ck_assert_msg(memcmp(before, c->at[OUT], length * row * sizeof(real)) != 0,
                      "%s T %zu: nothing changed at all", c->kind->name, length);
    free(before);
}

START_TEST(the_future_cannot_change_the_past)
{
    for_every_case(_i, check_causality);
}
END_TEST

/* Whether the head's columns are finite, and the memory between them still NaN. */
static void check_columns(const Case *c, Buffer buffer, size_t parts, size_t width)
{
    size_t all = parts * HEADS * width;
    for (size_t i = 0; i < c->head.length * all; i++) {
        bool own = i / width % HEADS == INDEX, number = isfinite(c->at[buffer][i]);
        ck_assert_msg(own == number, "%s T %zu D %zu: row %zu, column %zu of buffer %d is %g",
                      c->kind->name, c->head.length, c->head.width, i / all, i % all,
                      (int)buffer, (double)c->at[buffer][i]);
    }
}

static void check_whole(const Case *c)
{
    check_columns(c, OUT, 1, c->head.width);
    check_columns(c, DQKV, 3, c->head.width);
    if (c->gates)
        check_columns(c, DGATES, 1, c->gates);
    for (size_t i = 0; i < c->own; i++)
        ck_assert(isfinite(c->at[DOWN][i]));
    check_guards(c);
}

static void check_neighbours(Case *c)
{
    case_forward(c);
    case_backward(c);
    check_whole(c);
}

START_TEST(a_head_writes_all_of_its_own_memory_and_no_other)
{
    for_every_case(_i, check_neighbours);
}
END_TEST

/* --- decoding --- */

/* The tolerance for rounding. */
static double tolerance(const Case *c, const real *out)
{
    double most = 0;
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < c->head.width; i++) {
            double size = fabs((double)out[t * c->head.out_stride + i]);
            most = size > most ? size : most;
        }
    return 500 * REAL_EPSILON * (1 + most);
}

static void compare_row(const Case *c, const real *out, const real *expected, size_t t,
                        double near, const char *what)
{
    for (size_t i = 0; i < c->head.width; i++)
        ck_assert_msg(fabs((double)out[i] - (double)expected[i]) <= near,
                      "%s T %zu D %zu carry %d: position %zu gives %.9g %s, forward %.9g",
                      c->kind->name, c->head.length, c->head.width, c->carries, t,
                      (double)out[i], what, (double)expected[i]);
}

/* Decodes the positions from a row on, one by one; `position` is the number of the first. */
static void compare_steps(Case *c, size_t from, size_t position, const real *expected)
{
    size_t width = c->head.width;
    double near = tolerance(c, expected);
    real *out = memory_take(width, sizeof(real), "a test");
    for (size_t t = from; t < c->head.length; t++) {
        AttentionData data = case_data(c, t);
        AttentionHead head = c->decoder;
        data.out = out;
        data.scratch = c->at[STEP_SCRATCH];
        data.saved = data.carry = NULL;
        if (head.rotary)
            head.rotary += t * width;
        c->kind->step(&data, c->at[STATE], position + t - from, &head);
        compare_row(c, out, expected + t * c->head.out_stride, t, near, "in a step");
    }
    free(out);
}

static void check_steps(Case *c)
{
    if (c->head.dropout.rate > 0)
        return; /* decoding has no dropout */
    case_forward(c);
    start_state(c);
    compare_steps(c, 0, c->carries ? c->head.length : 0, columns(c, OUT, 0));
}

START_TEST(decoding_steps_equal_forward)
{
    for_every_case(_i, check_steps);
}
END_TEST

/* Runs the rows from one on in parts of a length, carrying the state. */
static void forward_parts(Case *c, size_t from, size_t each)
{
    for (size_t length = c->head.length; from < length; from += each)
        forward_part(c, from, length - from < each ? length : from + each);
}

static void compare_rows(const Case *c, const real *expected, double near, const char *what)
{
    for (size_t t = 0; t < c->head.length; t++)
        compare_row(c, columns(c, OUT, 0) + t * c->head.out_stride,
                    expected + t * c->head.out_stride, t, near, what);
}

/* Compares the whole sequence with parts, and with decoding steps, from a row on. */
static void check_parts(Case *c, size_t from, size_t each)
{
    size_t count = c->head.length * c->head.out_stride;
    real *whole = memory_take(count, sizeof(real), "a test");
    real *middle = memory_take(c->count[STATE], sizeof(real), "a test");
    case_forward(c);
    memcpy(whole, c->at[OUT], count * sizeof(real));
    real *expected = whole + (columns(c, OUT, 0) - c->at[OUT]);
    double near = tolerance(c, expected);
    start_state(c);
    forward_part(c, 0, from);
    memcpy(middle, c->at[STATE], c->count[STATE] * sizeof(real));
    forward_parts(c, from, each);
    compare_rows(c, expected, near, "in parts");
    memcpy(c->at[STATE], middle, c->count[STATE] * sizeof(real));
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

START_TEST(parts_with_a_carried_state_equal_the_whole)
{
    for_every_case(_i, check_carry);
}
END_TEST

START_TEST(finite_states_are_small)
{
    const AttentionKind *kind = attention_find((size_t)_i);
    Case c = case_make(kind, 1, 64, (Variant){false, false, false});
    if (kind->finite_state)
        ck_assert_uint_lt(c.count[STATE] + c.count[STEP_SCRATCH], 1 << 21);
    case_free(&c);
}
END_TEST

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
                real *x = columns(c, QKV, which) + t * head->stride + i;
                *x = (real)fabs((double)*x) + (real)0.5;
            }
    real *v = columns(c, QKV, 2), *out = columns(c, OUT, 0);
    case_forward(c);
    compare_row(c, out, v, 0, 1e-3, "instead of its value;");
    for (size_t t = 0; t < head->length; t++)
        for (size_t i = 0; i < head->width; i++)
            v[t * head->stride + i] = 1;
    case_forward(c);
    for (size_t t = 0; t < head->length; t++)
        compare_row(c, out + t * head->out_stride, v, t, 1e-3, "as the sum of weights;");
}

START_TEST(normalised_weights_sum_to_one)
{
    for_every_case(_i, check_weights);
}
END_TEST

/* --- stress --- */

/* If the epsilon dominates a denominator, the sum of the weights lies between 0 and 1. */
static void check_shares(const Case *c)
{
    double least = c->kind->has_weights ? 1 : 0;
    for (size_t t = 0; c->kind->normalised && t < c->head.length; t++)
        for (size_t i = 0; i < c->head.width; i++) {
            double share = (double)columns(c, OUT, 0)[t * c->head.out_stride + i];
            ck_assert_msg(share >= least - 1e-3 && share <= 1 + 1e-3,
                          "%s: the weights sum to %g", c->kind->name, share);
        }
}

/* Values are 1; gates are extreme, of one sign or both. */
static void draw_extremes(Case *c, double q_factor, double k_factor, double gate)
{
    const AttentionHead *head = &c->head;
    draw_inputs(c, 5);
    for (size_t t = 0; t < head->length; t++) {
        real *q = columns(c, QKV, 0) + t * head->stride;
        real *k = columns(c, QKV, 1) + t * head->stride;
        real *v = columns(c, QKV, 2) + t * head->stride;
        real *gates = columns(c, GATES, 0) + t * head->gates_stride;
        for (size_t i = 0; i < head->width; i++) {
            q[i] *= (real)q_factor;
            k[i] *= (real)k_factor;
            v[i] = 1;
        }
        for (size_t i = 0; i < c->gates; i++)
            gates[i] = (real)(gate != 0 ? gate : gates[i] > 0 ? 30 : -30);
    }
}

/* Scores of thousands, equal scores, zeros. */
static void check_stress(Case *c)
{
    static const double factors[][2] = {{1e4, 1}, {1, 1e4}, {30, 30}, {1, 0}, {0, 0}};
    static const double gates[] = {30, -30, 0};
    if (c->head.dropout.rate > 0 || c->carries)
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

START_TEST(extreme_inputs_stay_finite)
{
    for_every_case(_i, check_stress);
}
END_TEST

Suite *attention_suite(void)
{
    Suite *suite = suite_create("attention");
    TCase *tests = tcase_create("every kind");
    int kinds = 0;
    while (attention_find((size_t)kinds))
        kinds++;
    tcase_set_timeout(tests, 120); /* for each kind and test */
#ifdef LINNET_DOUBLE
    tcase_add_loop_test(tests, gradients_agree_with_central_differences, 0, kinds);
#endif
    tcase_add_loop_test(tests, the_future_cannot_change_the_past, 0, kinds);
    tcase_add_loop_test(tests, a_head_writes_all_of_its_own_memory_and_no_other, 0, kinds);
    tcase_add_loop_test(tests, decoding_steps_equal_forward, 0, kinds);
    tcase_add_loop_test(tests, parts_with_a_carried_state_equal_the_whole, 0, kinds);
    tcase_add_loop_test(tests, finite_states_are_small, 0, kinds);
    tcase_add_loop_test(tests, normalised_weights_sum_to_one, 0, kinds);
    tcase_add_loop_test(tests, extreme_inputs_stay_finite, 0, kinds);
    suite_add_tcase(suite, tests);
    return suite;
}
