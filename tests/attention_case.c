#include "tests/attention_case.h"
#include "src/layers/rotary.h"
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/math/vector.h"

#include <check.h>
#include <stdlib.h>

enum { GUARD = 64 };
static const real guard_value = 54321;

/* Small, for short sequences; uneven; beyond the longest sequence; and least. */
const AttentionOptions case_options[OPTION_SETS] = {
    {.window = 5,
     .period = 4,
     .summary = 1,
     .segment = 4,
     .rank = 2,
     .features = 8,
     .hashes = 2,
     .buckets = 4,
     .near = 3,
     .steps = 2,
     .tau = 0.95,
     .sink = true,
     .negative_eigenvalues = true},
    {.window = 70,
     .period = 9,
     .summary = 2,
     .segment = 24,
     .rank = 5,
     .hashes = 1,
     .buckets = 6,
     .near = 40,
     .steps = 3,
     .tau = 0.5},
    {.window = 800,
     .period = 800,
     .summary = 3,
     .segment = 800,
     .rank = 3,
     .features = 3,
     .hashes = 3,
     .buckets = 2,
     .near = 800,
     .steps = 1,
     .tau = 0.1},
    {.window = 1,
     .period = 1,
     .summary = 9,
     .segment = 1,
     .rank = 1,
     .features = 1,
     .hashes = 1,
     .buckets = 2,
     .near = 1,
     .steps = 7,
     .sink = true,
     .negative_eigenvalues = true},
};

/* --- memory --- */

static void soil(Case *c, Buffer buffer)
{
    for (size_t i = 0; i < c->count[buffer]; i++)
        c->memory[buffer][i] = (real)NAN;
}

static void allocate(Case *c, Buffer buffer, size_t count)
{
    c->memory[buffer] = memory_new(count + GUARD, sizeof(real), "a test");
    c->count[buffer] = count;
    soil(c, buffer);
    for (size_t i = 0; i < GUARD; i++)
        c->memory[buffer][count + i] = guard_value;
}

void case_check_guards(const Case *c)
{
    for (size_t b = 0; b < BUFFERS; b++)
        for (size_t i = 0; i < GUARD; i++)
            ck_assert_msg(c->memory[b][c->count[b] + i] == guard_value,
                          "%s T %zu D %zu: wrote behind buffer %zu", c->kind->name,
                          c->head.length, c->head.width, b);
}

/* Sizes are measured before the angles are set. */
static void allocate_all(Case *c)
{
    const AttentionKind *kind = c->kind;
    size_t length = c->head.length;
    AttentionHead head = c->head, decoder = c->decoder;
    head.rotary = decoder.rotary = NULL;
    allocate(c, QKV, length * c->head.stride);
    allocate(c, GATES, length * c->head.gates_stride);
    allocate(c, RATES, length * c->head.rates_stride);
    allocate(c, PARAMS, c->param_count);
    allocate(c, OUT, length * c->head.out_stride);
    allocate(c, DOUT, length * c->head.out_stride);
    allocate(c, BONUS, kind->parts.has_bonus ? length * c->head.out_stride : 0);
    allocate(c, DBONUS, kind->parts.has_bonus ? length * c->head.out_stride : 0);
    allocate(c, SAVED, kind->engine->memory(&head).saved);
    allocate(c, SCRATCH, kind->engine->memory(&head).scratch);
    allocate(c, STEP_SCRATCH, kind->engine->memory(&decoder).scratch);
    allocate(c, START, kind->engine->memory(&decoder).state);
    allocate(c, STATE, kind->engine->memory(&decoder).state);
    allocate(c, DQKV, length * c->head.stride);
    allocate(c, DGATES, length * c->head.gates_stride);
    allocate(c, DRATES, length * c->head.rates_stride);
    allocate(c, DPARAMS, c->param_count);
}

size_t case_parts(const Case *c)
{
    return 1 + 2 * c->head.copies;
}

size_t case_width(const Case *c, Buffer buffer, size_t which)
{
    bool out = buffer == OUT || buffer == DOUT || buffer == BONUS || buffer == DBONUS;
    bool values = which > c->head.copies || out;
    return buffer == GATES || buffer == DGATES   ? c->gates
           : buffer == RATES || buffer == DRATES ? c->rates
           : values                              ? c->head.value_width
                                                 : c->head.width;
}

size_t case_heads(const Case *c, Buffer buffer, size_t which)
{
    bool keys = (buffer == QKV || buffer == DQKV) && which <= c->head.copies;
    return keys ? c->head.key_heads : HEADS;
}

real *case_columns(const Case *c, Buffer buffer, size_t which)
{
    size_t width = case_width(c, buffer, which);
    size_t narrow = which > c->head.copies ? 1 + c->head.copies : which;
    return c->memory[buffer] + narrow * c->head.key_heads * c->head.width +
           (which - narrow) * HEADS * c->head.value_width +
           c->head.index % case_heads(c, buffer, which) * width;
}

static void draw_columns(Case *c, Buffer buffer, size_t which, size_t stride, RandomKey key)
{
    real *x = case_columns(c, buffer, which);
    size_t width = case_width(c, buffer, which);
    for (size_t t = 0; t < c->head.length; t++)
        for (size_t i = 0; i < width; i++)
            x[t * stride + i] = (real)random_normal(key, t * width + i);
}

void case_draw(Case *c, uint64_t seed)
{
    const AttentionHead *head = &c->head;
    RandomKey key = random_key(seed, RANDOM_TEST, head->length * 100 + head->width);
    for (size_t which = 0; which < case_parts(c); which++)
        draw_columns(c, QKV, which, head->stride, random_subkey(key, which));
    draw_columns(c, DOUT, 0, head->out_stride, random_subkey(key, 3));
    if (c->kind->parts.has_bonus)
        draw_columns(c, DBONUS, 0, head->out_stride, random_subkey(key, 7));
    draw_columns(c, GATES, 0, head->gates_stride, random_subkey(key, 4));
    draw_columns(c, RATES, 0, head->rates_stride, random_subkey(key, 6));
    if (!c->gates || !c->kind->gates.start)
        return;
    real *bias = memory_new(c->gates, sizeof *bias, "a test");
    c->kind->gates.start(bias, head, random_subkey(key, 5));
    for (size_t t = 0; t < head->length; t++)
        vector_add_scaled(case_columns(c, GATES, 0) + t * head->gates_stride, bias, 1,
                          c->gates);
    free(bias);
}

static void draw_params(Case *c)
{
    RandomKey key = random_key(4, RANDOM_TEST, 0);
    if (c->param_count)
        c->kind->start_params(c->memory[PARAMS], &c->head, key);
    for (size_t i = 0; i < c->param_count && !c->kind->params_random; i++)
        c->memory[PARAMS][i] += (real)(0.2 * random_normal(random_subkey(key, 1), i));
}

/* --- cases --- */

AttentionData case_data(const Case *c, size_t row)
{
    size_t in = row * c->head.stride, out = row * c->head.out_stride;
    AttentionData data = {.q = case_columns(c, QKV, 0) + in,
                          .k = case_columns(c, QKV, 1) + in,
                          .v = case_columns(c, QKV, 1 + c->head.copies) + in,
                          .out = case_columns(c, OUT, 0) + out,
                          .saved = c->memory[SAVED],
                          .scratch = c->memory[SCRATCH]};
    if (c->kind->parts.has_bonus)
        data.bonus = case_columns(c, BONUS, 0) + out;
    if (c->gates)
        data.gates = case_columns(c, GATES, 0) + row * c->head.gates_stride;
    if (c->rates)
        data.rates = case_columns(c, RATES, 0) + row * c->head.rates_stride;
    if (c->param_count)
        data.params = c->memory[PARAMS];
    if (c->carries)
        data.state = c->memory[STATE];
    return data;
}

void case_start_state(Case *c)
{
    memcpy(c->memory[STATE], c->memory[START], c->count[STATE] * sizeof(real));
}

void case_forward_part(Case *c, size_t from, size_t end)
{
    AttentionData data = case_data(c, from);
    AttentionHead head = c->head;
    head.length = end - from;
    head.position += from;
    if (head.rotary)
        head.rotary += from * head.width;
    c->kind->engine->forward(&data, &head);
}

void case_forward(Case *c)
{
    if (c->carries)
        case_start_state(c);
    case_forward_part(c, 0, c->head.length);
}

void case_backward(Case *c)
{
    AttentionData data = case_data(c, 0);
    data.dout = case_columns(c, DOUT, 0);
    data.bonus = NULL;
    if (c->kind->parts.has_bonus)
        data.dbonus = case_columns(c, DBONUS, 0);
    data.dq = case_columns(c, DQKV, 0);
    data.dk = case_columns(c, DQKV, 1);
    data.dv = case_columns(c, DQKV, 1 + c->head.copies);
    if (c->gates)
        data.dgates = case_columns(c, DGATES, 0);
    if (c->rates)
        data.drates = case_columns(c, DRATES, 0);
    if (c->param_count && !c->kind->params_random)
        data.dparams = c->memory[DPARAMS];
    for (size_t i = 0; i < c->param_count; i++)
        c->memory[DPARAMS][i] = 1;
    soil(c, SCRATCH);
    c->kind->engine->backward(&data, &c->head);
}

/* The state after a sequence of the same length, or zeros. */
static void make_start(Case *c)
{
    vector_zero(c->memory[START], c->count[START]);
    if (!c->carries)
        return;
    case_draw(c, 6);
    case_forward(c);
    c->head.position = c->head.length;
    memcpy(c->memory[START], c->memory[STATE], c->count[START] * sizeof(real));
    soil(c, OUT);
    soil(c, SAVED);
    soil(c, SCRATCH);
}

Case case_make(const AttentionKind *kind, Variant variant)
{
    Case c = {.kind = kind, .carries = variant.carries};
    size_t length = variant.length,
           width = attention_key_width(kind, &kind->parts, variant.width);
    c.angles = memory_new(length * width, sizeof(real), "a test");
    for (size_t t = 0; t < length; t++)
        rotary_row(c.angles + t * width, t, width, width / 2, 10000);
    AttentionSizes sizes = {
        .kind = kind,
        .batch = 1,
        .length = length,
        .heads = HEADS,
        .dim = variant.width,
        .layer = variant.index,
        .layers = 2,
        .options = variant.options,
        .rotary = variant.rotary ? c.angles : NULL,
        .carries = variant.carries,
        .dropout = {random_key(7, RANDOM_TEST, 0), variant.dropout ? (real)0.3 : 0}};
    c.head = attention_head(&sizes, variant.index);
    c.decoder = c.head;
    if (kind->engine->finite_state)
        c.decoder.length = (size_t)1 << 40; /* the state must not grow with it */
    c.gates = c.head.gates_stride / HEADS;
    c.rates = c.head.rates_stride / HEADS;
    c.param_count = attention_count(&kind->param_count, &c.head);
    allocate_all(&c);
    draw_params(&c);
    make_start(&c);
    case_draw(&c, 3);
    return c;
}

void case_free(Case *c)
{
    case_check_guards(c);
    for (size_t b = 0; b < BUFFERS; b++)
        free(c->memory[b]);
    free(c->angles);
}

/* --- every case --- */

/* Lengths and widths at the edges of the code: 1, odd numbers, a chunk and one more, several
 * blocks. Only kinds with options of their own run with more than the first set. */
static const struct {
    size_t length, width, options;
} sizes[] = {{1, 1, 0},   {1, 4, 0},   {2, 3, 0},   {7, 6, 0},   {23, 5, 0}, {64, 2, 0},
             {65, 4, 0},  {40, 16, 0}, {131, 4, 0}, {777, 2, 0}, {23, 5, 1}, {131, 4, 1},
             {600, 6, 1}, {23, 5, 2},  {300, 6, 2}, {7, 6, 3},   {65, 4, 3}};

#ifdef __SANITIZE_ADDRESS__
static const double MOST_FLOP = 3e4;
#else
static const double MOST_FLOP = 1e8;
#endif

bool case_is_quick(const Case *c)
{
    return c->kind->engine->flop(&c->head) < MOST_FLOP;
}

static void for_every_variant(const AttentionKind *kind, Variant variant, void (*test)(Case *c))
{
    bool rotates = kind->applies_rope && !kind->no_rotary &&
                   attention_key_width(kind, &kind->parts, variant.width) % 2 == 0;
    bool carries = kind->engine->finite_state && kind->engine->carry != CARRY_NEVER;
    for (int rotary = 0; rotary <= rotates; rotary++)
        for (int dropout = 0; dropout <= kind->has_weights; dropout++)
            for (int carry = 0; carry <= carries; carry++) {
                variant.rotary = rotary;
                variant.dropout = dropout;
                variant.carries = carry;
                Case c = case_make(kind, variant);
                if (case_is_quick(&c))
                    test(&c);
                case_free(&c);
            }
}

void case_for_every(int kind, void (*test)(Case *c))
{
    const AttentionKind *row = attention_find((size_t)kind);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        if (sizes[s].options == 0 || row->uses)
            for_every_variant(row,
                              (Variant){.length = sizes[s].length,
                                        .width = sizes[s].width,
                                        .index = s % 2,
                                        .options = &case_options[sizes[s].options]},
                              test);
}
