/* Parts of a training step: repeated backward passes, shards, gradient clipping, update
 * slices, NaN and infinity. */
#include "models/pass.h"
#include "src/ranks/shards.h"
#include "models/update.h"
#include "src/base/containers.h"
#include "src/ranks/ranks.h"
#include "src/math/vector.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("step");

/* --- backward twice --- */

enum { ROWS = 2 * 9 };

static const ModelConfig tiny = {.layers = 2,
                                 .bias = true,
                                 .dim = 8,
                                 .heads = 2,
                                 .ffn = 12,
                                 .context = 9,
                                 .tied = true,
                                 .input_dropout = 0.2,
                                 .dropout = 0.2,
                                 .vocabulary = 11};

/* Computes the gradients of a fixed batch; previous contents of the buffer must not matter. */
static double take_gradients(Pass *pass, Params *at, real *gradients, size_t total)
{
    int32_t inputs[ROWS], targets[ROWS];
    for (int32_t i = 0; i < ROWS; i++) {
        inputs[i] = (5 * i + 2) % 11;
        targets[i] = (3 * i + 1) % 11;
    }
    vector_zero(gradients, total);
    return pass_gradients(pass, at, inputs, targets, random_key(1, RANDOM_DROPOUT, 4), NULL);
}

TEST(backward_is_deterministic)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        ModelConfig config = tiny;
        config.attention = one_kind(kind);
        config.positions = positions_for(kind, POSITIONS_ROTARY);
        config.attention_dropout = attention_find(kind)->has_weights ? 0.1 : 0;
        SmallModel small;
        small_model_make(&small, config, 0.3);
        Pass pass;
        pass_make(&pass, &small.model, 2, config.context, PASS_TRAIN);
        pass_allocate(&pass, "a test");
        size_t total = small.model.table.total;
        real *first = memory_new(2 * total, sizeof *first, "a test"), *second = first + total;
        Params at = {.h = memory_new(config.layers, sizeof *at.h, "a test")};
        params_bind(&at, &small.model.config, first);
        double loss = take_gradients(&pass, &at, first, total);
        params_bind(&at, &small.model.config, second);
        ck_assert(take_gradients(&pass, &at, second, total) == loss);
        ck_assert_msg(memcmp(first, second, total * sizeof *first) == 0, "%s",
                      attention_find(kind)->name);
        free(first);
        free(at.h);
        pass_free(&pass);
        small_model_free(&small);
    }
}

/* --- shards --- */

enum { REALS = 70001, MOST_SHARDS = 13 };

/* Magnitudes so different that any other summation order changes the result. */
static real leaf(size_t shard, size_t i)
{
    RandomKey key = random_key(3, RANDOM_TEST, shard);
    return (real)ldexp(random_uniform(key, i) - 0.5, (int)(i % 7 + 5 * shard) % 24);
}

/* The summation tree of shards.h: the left half is the largest power of two. */
static real sum_of(size_t first, size_t end, size_t i)
{
    size_t left = 1;
    if (end - first == 1)
        return leaf(first, i);
    while (2 * left < end - first)
        left *= 2;
    return sum_of(first, first + left, i) + sum_of(first + left, end, i);
}

TEST(shards_are_summed_in_fixed_order)
{
    for (size_t count = 1; count <= MOST_SHARDS; count++) {
        size_t *bounds = NULL;
        Shards shards;
        Arena arena = {0};
        arrput(bounds, 0);
        arrput(bounds, REALS);
        shards_make(&shards, count, REALS, bounds);
        shards_layout(&shards, &arena);
        arena_allocate(&arena, "a test");
        shards_layout(&shards, &arena);
        for (size_t again = 0; again < 2; again++) {
            for (size_t shard = 0; shard < count; shard++) {
                real *gradient = shards_begin(&shards, shard);
                for (size_t i = 0; i < REALS; i++)
                    gradient[i] += leaf(shard, i);
            }
            const real *sum = shards_sum(&shards);
            for (size_t i = 0; i < REALS; i += 97)
                ck_assert(sum[i] == sum_of(0, count, i));
        }
        shards_free(&shards);
        arena_free(&arena);
    }
}

TEST(shares_cover_the_whole)
{
    for (size_t whole = 0; whole < 30; whole++)
        for (size_t count = 1; count < 9; count++) {
            ck_assert_uint_eq(share_start(whole, count, 0), 0);
            ck_assert_uint_eq(share_start(whole, count, count), whole);
            for (size_t i = 0; i < count; i++) {
                size_t share = share_start(whole, count, i + 1) - share_start(whole, count, i);
                ck_assert(share == whole / count || share == whole / count + 1);
            }
        }
}

/* --- clipping --- */

typedef struct Clipped {
    SmallModel small;
    real *m, *v, *gradient;
} Clipped;

static void clipped_make(Clipped *c)
{
    small_model_make(&c->small, tiny, 0.3);
    size_t total = c->small.model.table.total;
    c->m = memory_new(3 * total, sizeof *c->m, "a test");
    c->v = c->m + total;
    c->gradient = c->v + total;
}

static void clipped_free(Clipped *c)
{
    free(c->m);
    small_model_free(&c->small);
}

/* A gradient of norm 5 for one token: 3 and 4, scaled by 5 tokens. */
static void put_gradient(Clipped *c, double factor)
{
    c->gradient[0] = (real)(15 * factor);
    c->gradient[1] = (real)(20 * factor);
}

/* First step: m is (1 - beta1) times the clipped gradient. */
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
    update_apply(model, c.m, c.v, c.gradient, &update, (UpdateSlice){0, model->table.total}, 1,
                 update_scale(&update, norm, TOKENS), NULL);
    ck_assert_double_eq_tol((double)c.m[0], 0.1 * 0.6 * expected, 1e-6 * (expected + 1e-9));
    ck_assert_double_eq_tol((double)c.m[1], 0.1 * 0.8 * expected, 1e-6 * (expected + 1e-9));
    for (size_t i = 0; i < model->table.total; i++)
        ck_assert(isfinite((double)model->base[i]));
    clipped_free(&c);
}

TEST(gradients_are_clipped)
{
    check_clip(0.5, 1, 0.5); /* below, exactly at, above */
    check_clip(1, 1, 1);
    check_clip(1, 0.25, 0.25);
    check_clip(1e6, 1, 1);
    check_clip(1e6, 0, 1e6); /* 0: off */
    check_clip(0, 1, 0);     /* a zero gradient must not give 0 / 0 */
}

/* --- slices --- */

/* Updates all slices in turn, each with its own square sums. */
static void step_in_slices(Clipped *c, const Update *update, size_t count)
{
    Model *model = &c->small.model;
    size_t pieces[9], bounds[9], optimizer = update->optimizer;
    real *scratch = memory_new(update_scratch_reals(model, optimizer) + 1, sizeof *scratch,
                               "a test");
    update_slices(model, optimizer, 1, pieces, bounds);
    const size_t all = pieces[1];
    double *sums = memory_new(all, sizeof *sums, "a test");
    update_slices(model, optimizer, count, pieces, bounds);
    ck_assert(pieces[0] == 0 && bounds[0] == 0);
    ck_assert_uint_eq(pieces[count], all);
    ck_assert_uint_eq(bounds[count], model->table.total);
    for (size_t i = 0; i < count; i++) {
        ck_assert(pieces[i] <= pieces[i + 1] && bounds[i] <= bounds[i + 1]);
        update_square_sums(model, optimizer, c->gradient,
                           (UpdateSlice){bounds[i], bounds[i + 1]}, sums);
    }
    double norm = update_gradient_norm(sums, pieces[count], 25);
    for (size_t i = 0; i < count; i++) {
        real *before = memory_new(model->table.total, sizeof *before, "a test");
        memcpy(before, model->base, model->table.total * sizeof *before);
        update_apply(model, c->m, c->v, c->gradient, update,
                     (UpdateSlice){bounds[i], bounds[i + 1]}, 1, update_scale(update, norm, 25),
                     scratch);
        for (size_t at = 0; at < model->table.total;
             at++) /* changes nothing outside the slice */
            ck_assert((at >= bounds[i] && at < bounds[i + 1]) || before[at] == model->base[at]);
        free(before);
    }
    free(scratch);
    free(sums);
}

static Update update_with(size_t optimizer)
{
    return (Update){.adam = {0.9, 0.95, 1e-8},
                    .optimizer = optimizer,
                    .momentum = 0.9,
                    .learning_rate = 0.01,
                    .weight_decay = 0.1,
                    .embedding_decay = 0.1,
                    .clip = 0.5};
}

TEST(slices_make_a_full_update)
{
    for (size_t optimizer = 0; optimizer_name(optimizer); optimizer++)
        for (size_t count = 2; count <= 8; count++) {
            const Update update = update_with(optimizer);
            Clipped whole, sliced;
            clipped_make(&whole);
            clipped_make(&sliced);
            size_t bytes = whole.small.model.table.total * sizeof(real);
            for (size_t i = 0; i < bytes / sizeof(real); i++)
                whole.gradient[i] = sliced.gradient[i] = leaf(1, i);
            step_in_slices(&whole, &update, 1);
            step_in_slices(&sliced, &update, count);
            ck_assert_mem_eq(whole.small.model.base, sliced.small.model.base, bytes);
            ck_assert_mem_eq(whole.m, sliced.m, bytes);
            ck_assert_mem_eq(whole.v, sliced.v, bytes);
            clipped_free(&whole);
            clipped_free(&sliced);
        }
}

/* --- frozen tensors --- */

TEST(frozen_tensors_stay_and_do_not_count)
{
    for (size_t optimizer = 0; optimizer_name(optimizer); optimizer++) {
        const Update update = update_with(optimizer);
        Clipped whole, part;
        clipped_make(&whole);
        clipped_make(&part);
        ParamTable *table = &part.small.model.table;
        bool *frozen = memory_new(table->count, sizeof *frozen, "a test");
        for (size_t i = 0; i < table->count; i++)
            frozen[i] = i % 3 != 1;
        table->frozen = frozen;
        for (size_t i = 0; i < table->count; i++) /* those that learn have equal gradients */
            for (size_t at = table->rows[i].offset;
                 at < table->rows[i].offset + table->rows[i].count; at++) {
                part.gradient[at] = frozen[i] ? (real)NAN : leaf(1, at);
                whole.gradient[at] = frozen[i] ? 0 : leaf(1, at);
            }
        step_in_slices(&whole, &update, 1);
        step_in_slices(&part, &update, 3);
        Clipped start;
        clipped_make(&start);
        for (size_t i = 0; i < table->count; i++) {
            const Clipped *same = frozen[i] ? &start : &whole;
            size_t at = table->rows[i].offset, bytes = table->rows[i].count * sizeof(real);
            ck_assert_mem_eq(part.small.model.base + at, same->small.model.base + at, bytes);
            ck_assert_mem_eq(part.m + at, same->m + at, bytes);
            ck_assert(frozen[i] || memcmp(part.m + at, start.m + at, bytes) != 0);
        }
        free(frozen);
        clipped_free(&start);
        clipped_free(&whole);
        clipped_free(&part);
    }
}

/* --- NaN and infinity --- */

/* Compiled with the flags of the programs, so this fails under -ffinite-math-only. */
TEST(nan_and_infinity_are_detected)
{
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT(wrong); i++) {
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
