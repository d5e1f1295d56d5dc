/* Carrying the recurrent state across sequences (stateful training), for every kind that
 * supports it. */
#include "models/score.h"
#include "src/math/random.h"
#include "src/math/vector.h"
#include "tests/rig.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <stdlib.h>

SUITE("carry");

enum { ROWS = 2, WINDOW = 7, TEXT = 60, PRIME = 3 };

static const ModelConfig small = {.layers = 2,
                                  .bias = true,
                                  .dim = 8,
                                  .heads = 2,
                                  .ffn = 12,
                                  .context = WINDOW,
                                  .tied = true,
                                  .input_dropout = 0.2,
                                  .dropout = 0.2,
                                  .carry_state = true,
                                  .ngrams = 3,
                                  .ngram_rows = 16,
                                  .vocabulary = 11};

static int32_t text_token(size_t i)
{
    return (int32_t)random_below(random_key(4, RANDOM_TEST, 0), i, small.vocabulary);
}

/* Runs the test for every such kind, alone and mixed with another, with and without position
 * encodings. */
static void for_every_carrier(void (*test)(ModelConfig config))
{
    size_t before = 0;
    bool any = false;
    for (size_t kind = 0; attention_find(kind); kind++) {
        if (attention_find(kind)->engine->carry != CARRY_WHOLLY)
            continue;
        ModelConfig config = small;
        config.attention = any ? (Choices){2, {before, kind}} : one_kind(kind);
        config.positions = POSITIONS_SINUSOIDAL;
        test(config);
        config.attention = one_kind(kind);
        config.positions = positions_for(kind, POSITIONS_ROTARY);
        test(config);
        before = kind;
        any = true;
    }
    ck_assert(any);
}

/* --- a model reads --- */

/* The next window of each row's text. */
static double train_on(Rig *rig, size_t window, Params *gradients)
{
    for (size_t i = 0; i < rig->pass.rows; i++) {
        size_t row = i / WINDOW, at = row * TEXT + window * WINDOW + i % WINDOW;
        rig->inputs[i] = text_token(at);
        rig->targets[i] = text_token(at + 1);
    }
    return pass_gradients(&rig->pass, gradients, rig->inputs, rig->targets,
                          random_key(1, RANDOM_DROPOUT, window), NULL);
}

/* --- reading --- */

static double score(ModelConfig config, size_t count)
{
    Rig rig;
    int32_t ids[TEXT];
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = text_token(i);
    rig_make_for(&rig, config, 1, 0.3, PASS_EVALUATE);
    Score first = rig_score(&rig.pass, tokens_plain(ids), count, PRIME, config.context);
    Score again = rig_score(&rig.pass, tokens_plain(ids), count, PRIME, config.context);
    ck_assert(first.nats == again.nats); /* each text starts from a zero state */
    rig_free(&rig);
    return first.nats;
}

static void check_windows_make_a_text(ModelConfig config)
{
    static const size_t counts[] = {1, WINDOW, WINDOW + 1, TEXT};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        ModelConfig whole = config;
        whole.context = TEXT;
        whole.carry_state = false;
        double expected = score(whole, counts[i]), nats = score(config, counts[i]);
        ck_assert_msg(fabs(nats - expected) < 1e-5 * expected,
                      "%s: %zu tokens score %.9g in windows, %.9g at once",
                      config_kind(&config, config.attention.count - 1)->name, counts[i], nats,
                      expected);
        config.carry_state = false; /* and carrying changes the result */
        ck_assert(counts[i] <= WINDOW || score(config, counts[i]) != nats);
        config.carry_state = true;
    }
}

TEST(carried_windows_equal_one_long_text)
{
    for_every_carrier(check_windows_make_a_text);
}

/* A part of one stream is its beginning. */
static void check_part(ModelConfig config)
{
    Rig rig;
    int32_t ids[TEXT];
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = text_token(i);
    const Tokens text = tokens_plain(ids);
    rig_make_for(&rig, config, 1, 0.3, PASS_EVALUATE);
    for (size_t part = 1; part < TEXT / WINDOW; part++) {
        Windows windows = {text, TEXT, WINDOW, WINDOW, PRIME, part, {0}, NULL};
        Score of_part = score_windows(&rig.pass, &windows, NULL, 0);
        Score beginning = rig_score(&rig.pass, text, part * WINDOW, PRIME, WINDOW);
        ck_assert_uint_eq(of_part.tokens, part * WINDOW);
        ck_assert(of_part.nats == beginning.nats);
    }
    rig_free(&rig);
}

TEST(a_part_of_a_carried_text_is_its_beginning)
{
    for_every_carrier(check_part);
}

/* --- training --- */

static void check_recomputing(ModelConfig config)
{
    Rig kept, again;
    rig_make(&kept, config, ROWS, 0.3);
    rig_make_for(&again, config, ROWS, 0.3, PASS_RECOMPUTE);
    for (size_t window = 0; window < 4; window++)
        ck_assert(train_on(&kept, window, &kept.gradients) ==
                  train_on(&again, window, &again.gradients));
    ck_assert_uint_eq(kept.pass.position, 4 * WINDOW);
    ck_assert_uint_eq(kept.pass.states_reals, again.pass.states_reals);
    ck_assert_mem_eq(kept.pass.states, again.pass.states,
                     kept.pass.states_reals * sizeof(real));
    ck_assert_mem_eq(kept.gradient_base, again.gradient_base,
                     kept.model.table.total * sizeof(real));
    rig_free(&kept);
    rig_free(&again);
}

TEST(recompute_with_carried_state_is_bit_identical)
{
    for_every_carrier(check_recomputing);
}

#ifdef LINNET_DOUBLE
static real *states; /* after the first window */

static double loss_from_states(void *of)
{
    Rig *rig = of;
    memcpy(rig->pass.states, states, rig->pass.states_reals * sizeof(real));
    pass_move(&rig->pass, WINDOW);
    return train_on(rig, 1, &rig->gradients);
}

static void check_gradients(ModelConfig config)
{
    Rig rig;
    rig_make(&rig, config, ROWS, 0.3);
    const size_t bytes = rig.pass.states_reals * sizeof(real);
    train_on(&rig, 0, &rig.gradients);
    states = memcpy(memory_new(bytes, 1, "a test"), rig.pass.states, bytes);
    vector_zero(rig.gradient_base, rig.model.table.total);
    loss_from_states(&rig);
    rig_check_gradients(&rig, loss_from_states, "");
    free(states);
    rig_free(&rig);
}

TEST(gradients_match_with_carried_state)
{
    for_every_carrier(check_gradients);
}
#endif

/* --- unsupported kinds --- */

TEST(unsupported_kinds_are_rejected_with_reason)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        const AttentionKind *row = attention_find(kind);
        ModelConfig config = small;
        Error error;
        config.attention = one_kind(kind);
        config.positions = POSITIONS_NONE;
        ck_assert(support_check_config(&config, &error) ==
                  (row->engine->carry == CARRY_WHOLLY));
        if (row->engine->carry != CARRY_WHOLLY)
            support_check_error(&error, row->name,
                                row->engine->carry == CARRY_NEVER ? "no state that"
                                                                  : "without decay");
        config.positions = POSITIONS_LEARNED;
        ck_assert(!support_check_config(&config, &error));
    }
}
