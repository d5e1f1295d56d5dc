/* Using a model: sampling tokens, generating past the context, and scoring a text. */
#include "models/generator.h"
#include "models/sampler.h"
#include "models/score.h"
#include "src/math/gemm.h"
#include "src/layers/head.h"
#include "tests/rig.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- sampling --- */

enum { WORDS = 5 };
/* Probabilities 0.1, 0.4, 0.2, 0, 0.3 times a constant. */
static real word_logits[WORDS];
static const double word_weights[WORDS] = {0.1, 0.4, 0.2, 0, 0.3};
static const SamplerOptions as_it_is = {.temperature = 1, .top_k = 0, .top_p = 1};
static real work_weights[WORDS];
static Candidate work_candidates[WORDS];
static const SamplerMemory work = {work_weights, work_candidates};

static SamplerOptions picking(double temperature, size_t top_k, double top_p)
{
    return (SamplerOptions){.temperature = temperature, .top_k = top_k, .top_p = top_p};
}

static void set_logits(void)
{
    for (size_t i = 0; i < WORDS; i++)
        word_logits[i] = (real)(word_weights[i] > 0 ? log(word_weights[i]) + 3 : -INFINITY);
}

SUITE("use", .set_up = set_logits);

/* For evenly spaced random numbers, tokens must be picked in proportion to their weights. */
static void check_shares(SamplerOptions options, const double *weights)
{
    enum { N = 10000 };
    size_t counts[WORDS] = {0};
    double all = 0;
    for (size_t i = 0; i < N; i++) {
        int32_t id = sampler_pick(word_logits, WORDS, &options, ((double)i + 0.5) / N, work);
        ck_assert(id >= 0 && id < WORDS);
        counts[id]++;
    }
    for (size_t i = 0; i < WORDS; i++)
        all += weights[i];
    for (size_t i = 0; i < WORDS; i++) {
        ck_assert_double_eq_tol((double)counts[i] / N, weights[i] / all, 2.0 / N);
        ck_assert(weights[i] > 0 || counts[i] == 0);
    }
}

TEST(sampled_frequencies_agree_with_probabilities)
{
    check_shares(as_it_is, word_weights);
    double hot[WORDS], cold[WORDS];
    for (size_t i = 0; i < WORDS; i++) {
        hot[i] = sqrt(word_weights[i]);
        cold[i] = word_weights[i] * word_weights[i];
    }
    check_shares(picking(2, 0, 1), hot);
    check_shares(picking(0.5, 0, 1), cold);
}

TEST(extreme_temperatures_are_sensible)
{
    static const double only_best[WORDS] = {0, 1, 0, 0, 0}, equal[WORDS] = {1, 1, 1, 0, 1};
    check_shares(picking(0, 0, 1), only_best);
    check_shares(picking(0, 3, 0.5), only_best);
    check_shares(picking(1e-9, 0, 1), only_best);
    check_shares(picking(5e-324, 0, 1), only_best);
    check_shares(picking(1e9, 0, 1), equal); /* but never the impossible token */
}

TEST(top_k_keeps_the_likeliest)
{
    static const double two[WORDS] = {0, 0.4, 0, 0, 0.3}, one[WORDS] = {0, 1, 0, 0, 0};
    check_shares(picking(1, 1, 1), one);
    check_shares(picking(1, 2, 1), two);
    check_shares(picking(1, 4, 1), word_weights);
    check_shares(picking(1, WORDS, 1), word_weights);
    check_shares(picking(1, 1000000, 1), word_weights);
}

TEST(top_p_keeps_the_nucleus)
{
    static const double one[WORDS] = {0, 1, 0, 0, 0}, two[WORDS] = {0, 0.4, 0, 0, 0.3},
                        three[WORDS] = {0, 0.4, 0.2, 0, 0.3};
    check_shares(picking(1, 0, 0), one);
    check_shares(picking(1, 0, 0.39), one);
    check_shares(picking(1, 0, 0.41), two);
    check_shares(picking(1, 0, 0.69), two);
    check_shares(picking(1, 0, 0.71), three);
    check_shares(picking(1, 0, 0.9999), word_weights);
    check_shares(picking(1, 2, 0.9999), two); /* the stricter of the two */
    check_shares(picking(1, 4, 0.5), two);
}

TEST(ties_go_to_the_first_token)
{
    real equal[WORDS] = {2, 2, 2, 2, 2};
    SamplerOptions greedy = picking(0, 0, 1), first_two = picking(1, 2, 1),
                   share = picking(1, 0, 0.4);
    ck_assert_int_eq(sampler_pick(equal, WORDS, &greedy, 0.9, work), 0);
    ck_assert_int_eq(sampler_pick(equal, WORDS, &first_two, 0.4, work), 0);
    ck_assert_int_eq(sampler_pick(equal, WORDS, &first_two, 0.999, work), 1);
    ck_assert_int_eq(sampler_pick(equal, WORDS, &share, 0.999, work), 1);
}

TEST(banned_words_are_never_picked)
{
    real logits[WORDS] = {(real)-INFINITY, 1, (real)-INFINITY, 50, (real)-INFINITY};
    static const double ends[] = {0, 1e-17, 0.5, 0.9999999999999999};
    for (size_t i = 0; i < COUNT(ends); i++)
        for (size_t top_k = 0; top_k <= WORDS; top_k++) {
            SamplerOptions options = picking(100, top_k, 1);
            int32_t id = sampler_pick(logits, WORDS, &options, ends[i], work);
            ck_assert(id == 1 || id == 3);
        }
}

/* A vocabulary of many blocks, against the definition, computed in double and in order. */
enum { MANY = 3000 };

static real *many_logits(bool with_equals)
{
    real *logits = memory_new(MANY, sizeof *logits, "a test");
    for (size_t i = 0; i < MANY; i++) {
        double x = 2 * random_normal(random_key(7, RANDOM_TEST, 0), i);
        logits[i] = (real)(i % 5 == 0 ? -INFINITY : with_equals ? floor(x) : x);
    }
    return logits;
}

static const real *compared;

static int by_logit(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    if (compared[x] != compared[y])
        return compared[x] < compared[y] ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* The ids in the order in which their weights are summed, and how many are kept. */
static size_t slow_order(const real *logits, const SamplerOptions *options, int32_t *ids)
{
    double all = 0, sum = 0;
    for (int32_t i = 0; i < MANY; i++)
        ids[i] = i;
    if ((!options->top_k || options->top_k >= MANY) && options->top_p >= 1)
        return MANY;
    compared = logits;
    qsort(ids, MANY, sizeof *ids, by_logit);
    for (size_t i = 0; i < MANY; i++)
        all += exp((double)logits[ids[i]] / options->temperature);
    size_t most = options->top_k ? options->top_k : MANY, kept = 0;
    while (kept < most && kept < MANY && (kept == 0 || sum < options->top_p * all))
        sum += exp((double)logits[ids[kept++]] / options->temperature);
    return kept;
}

/* Every pick must be the token that the random number falls on, up to rounding. */
static void check_many(const real *logits, SamplerOptions options)
{
    static real weights[MANY];
    static Candidate candidates[MANY];
    static int32_t ids[MANY];
    static double ends[MANY];
    size_t kept = slow_order(logits, &options, ids);
    double total = 0;
    for (size_t i = 0; i < kept; i++)
        ends[i] = total += exp((double)logits[ids[i]] / options.temperature);
    for (size_t n = 0; n < 500; n++) {
        double uniform = ((double)n + 0.5) / 500;
        int32_t id = sampler_pick(logits, MANY, &options, uniform,
                                  (SamplerMemory){weights, candidates});
        size_t at = 0;
        while (at < kept && ids[at] != id)
            at++;
        ck_assert_msg(at < kept, "token %d is not one of the %zu that are kept", id, kept);
        double begin = at ? ends[at - 1] : 0, room = 1e-5 * total;
        ck_assert_msg(uniform * total > begin - room && uniform * total < ends[at] + room,
                      "temperature %g, top-k %zu, top-p %g: %g is not in token %d's %g to %g",
                      options.temperature, options.top_k, options.top_p, uniform * total, id,
                      begin, ends[at]);
        ck_assert(isfinite(logits[id]));
    }
}

TEST(large_vocabularies_are_sampled_like_small_ones)
{
    static const size_t top_ks[] = {0, 1, 63, 64, 65, 2400, 2401};
    static const double top_ps[] = {0, 0.3, 0.999, 1};
    for (size_t equals = 0; equals < 2; equals++) {
        real *logits = many_logits(equals);
        for (size_t k = 0; k < COUNT(top_ks); k++)
            for (size_t p = 0; p < COUNT(top_ps); p++)
                check_many(logits, picking(1, top_ks[k], top_ps[p]));
        check_many(logits, picking(0.3, 0, 1));
        check_many(logits, picking(3, 40, 0.5));
        free(logits);
    }
}

TEST(nan_logits_do_not_crash_sampling)
{
    real logits[WORDS] = {(real)NAN, (real)NAN, (real)NAN, (real)NAN, (real)NAN};
    SamplerOptions some = picking(1, 2, 0.5), greedy = picking(0, 0, 1);
    ck_assert_int_lt(sampler_pick(logits, WORDS, &as_it_is, 0.5, work), WORDS);
    ck_assert_int_lt(sampler_pick(logits, WORDS, &some, 0.5, work), WORDS);
    ck_assert_int_lt(sampler_pick(logits, WORDS, &greedy, 0.5, work), WORDS);
}

TEST(the_loss_agrees_with_the_softmax)
{
    for (int32_t id = 0; id < WORDS; id++)
        if (word_weights[id] > 0)
            ck_assert_double_eq_tol(sampler_loss(word_logits, WORDS, id),
                                    -log(word_weights[id]), 1e-6);
    ck_assert_double_gt(sampler_loss(word_logits, WORDS, 3), 1e30);
    real *logits = many_logits(false);
    double total = 0;
    for (size_t i = 0; i < MANY; i++)
        total += exp((double)logits[i]);
    for (int32_t id = 1; id < MANY; id += 5)
        ck_assert_double_eq_tol(sampler_loss(logits, MANY, id), log(total) - (double)logits[id],
                                1e-5);
    free(logits);
}

/* --- generating --- */

static const ModelConfig tiny = {.layers = 2,
                                 .dim = 8,
                                 .heads = 2,
                                 .context = 6,
                                 .tied = true,
                                 .bias = true,
                                 .vocabulary = 11};

enum { TEXT = 40 };

static int32_t text_token(size_t i)
{
    return (int32_t)random_below(random_key(4, RANDOM_TEST, 0), i, tiny.vocabulary);
}

/* The roundings of a processor or a library may differ by as much. */
static void check_logits(const real *a, const real *b, const char *kind, size_t positions,
                         size_t at)
{
    for (size_t i = 0; i < tiny.vocabulary; i++)
        ck_assert_msg(fabs((double)(a[i] - b[i])) < 4000 * REAL_EPSILON,
                      "%s, positions %zu: logit %zu after token %zu is %g, should be %g", kind,
                      positions, i, at, (double)a[i], (double)b[i]);
}

/* Logits after each token of the text, by one forward pass. */
static real *forward_logits(const Model *model)
{
    Pass pass;
    int32_t inputs[TEXT];
    pass_make(&pass, model, 1, TEXT, PASS_EVALUATE);
    pass_allocate(&pass, "a test");
    for (size_t i = 0; i < TEXT; i++)
        inputs[i] = text_token(i);
    const real *u = pass_forward(&pass, inputs, NULL);
    real *logits = memory_new(TEXT * tiny.vocabulary, sizeof *logits, "a test");
    head_logits(logits, u, model->params.wte, NULL,
                (HeadSizes){TEXT, tiny.dim, tiny.vocabulary, 0});
    pass_free(&pass);
    return logits;
}

static void read_token(Generator *generator, int32_t token)
{
    generator_read(generator, &token);
}

/* Without a limit, the logits agree with one long forward pass. */
static void check_endless(Generator *generator, const Model *model)
{
    real *expected = forward_logits(model);
    for (size_t i = 0; i < TEXT; i++) {
        read_token(generator, text_token(i));
        check_logits(generator->logits, expected + i * tiny.vocabulary,
                     config_kind(&model->config, 0)->name, model->config.positions, i);
    }
    free(expected);
}

/* With a limited context, the logits agree with a pass that starts at the kept half. */
static void check_windowed(Generator *generator, const Model *model)
{
    size_t context = model->config.context, begin = 0;
    Generator fresh;
    generator_make(&fresh, model, 1);
    for (size_t i = 0; i < TEXT; i++) {
        if (i - begin == context) {
            begin = i - context / 2;
            generator_restart(&fresh);
            for (size_t j = begin; j < i; j++)
                read_token(&fresh, text_token(j));
        }
        read_token(&fresh, text_token(i));
        read_token(generator, text_token(i));
        ck_assert_uint_le(generator->read, context);
        check_logits(generator->logits, fresh.logits, config_kind(&model->config, 0)->name,
                     model->config.positions, i);
    }
    generator_free(&fresh);
}

static void check_generator(ModelConfig config)
{
    SmallModel small;
    Generator generator;
    small_model_make(&small, config, 0.3);
    generator_make(&generator, &small.model, 1);
    bool endless = model_is_endless(&small.model);
    ck_assert(generator.endless == endless);
    for (size_t text = 0; text < 2; text++) { /* the second text is independent of the first */
        generator_restart(&generator);
        if (endless)
            check_endless(&generator, &small.model);
        else
            check_windowed(&generator, &small.model);
    }
    generator_free(&generator);
    small_model_free(&small);
}

TEST(generation_continues_past_the_context)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t positions = POSITIONS_LEARNED; positions <= POSITIONS_NONE; positions++)
            for (size_t context = 1; context <= 6; context++) {
                ModelConfig config = tiny;
                config.attention = one_kind(kind);
                config.positions = positions_for(kind, positions);
                config.context = context;
                config.norm = context % 2;
                check_generator(config);
            }
}

enum { TEXTS = 17 }; /* more than the kernel takes at once */

/* All of them get the tokens that the single ones picked. */
static void check_company(Generator *all, Generator lone[TEXTS], const Model *model)
{
    size_t vocabulary = model->config.vocabulary;
    int32_t tokens[TEXTS] = {0};
    generator_restart(all);
    for (size_t text = 0; text < TEXTS; text++)
        generator_restart(&lone[text]);
    for (size_t i = 0; i < TEXT; i++) {
        generator_read(all, tokens);
        for (size_t text = 0; text < TEXTS; text++) {
            const real *logits = all->logits + text * vocabulary;
            double uniform = random_uniform(random_key(9, RANDOM_TEST, text), i);
            read_token(&lone[text], tokens[text]);
            check_logits(logits, lone[text].logits, config_kind(&model->config, 0)->name,
                         model->config.positions, i);
            int32_t banned = (int32_t)(text % vocabulary);
            tokens[text] = generator_pick(&lone[text], 0, &as_it_is, uniform, banned);
            int32_t picked = generator_pick(all, text, &as_it_is, uniform, banned);
            ck_assert_mem_eq(logits, lone[text].logits, vocabulary * sizeof *logits);
            ck_assert_int_eq(picked, tokens[text]);
        }
    }
}

static void check_company_of(size_t kind, size_t positions, size_t context)
{
    SmallModel small;
    Generator all, lone[TEXTS];
    ModelConfig config = tiny;
    config.attention = one_kind(kind);
    config.positions = positions_for(kind, positions);
    config.context = context;
    small_model_make(&small, config, 0.3);
    generator_make(&all, &small.model, TEXTS);
    ck_assert_uint_le(all.arena.size, TEXTS * generator_bytes(&small.model));
    for (size_t text = 0; text < TEXTS; text++)
        generator_make(&lone[text], &small.model, 1);
    for (size_t round = 0; round < 2; round++)
        check_company(&all, lone, &small.model);
    for (size_t text = 0; text < TEXTS; text++)
        generator_free(&lone[text]);
    generator_free(&all);
    small_model_free(&small);
}

TEST(texts_generated_together_equal_those_generated_alone)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t positions = POSITIONS_LEARNED; positions <= POSITIONS_NONE; positions++)
            check_company_of(kind, positions, 1 + (kind + positions) % 6);
}

TEST(a_generator_never_emits_banned_tokens)
{
    SmallModel small;
    Generator generator;
    small_model_make(&small, tiny, 0.3);
    generator_make(&generator, &small.model, 1);
    generator_restart(&generator);
    read_token(&generator, 0);
    SamplerOptions greedy = picking(0, 0, 1);
    int32_t best = generator_pick(&generator, 0, &greedy, 0, -1);
    ck_assert_int_ne(generator_pick(&generator, 0, &greedy, 0, best), best);
    for (double u = 0; u < 1; u += 0.001)
        ck_assert_int_ne(generator_pick(&generator, 0, &as_it_is, u, best), best);
    /* A banned token keeps its probability. */
    ck_assert_double_lt(generator_loss(&generator, 0, best), log((double)tiny.vocabulary));
    ck_assert(isfinite(generator_logits(&generator, 0)[best]));
    generator_free(&generator);
    small_model_free(&small);
}

/* What the rule says, computed plainly: the logits of the tokens of a text, divided or
 * multiplied once however often they occur. */
static void penalise_plainly(double *logits, const int32_t *text, size_t count, double penalty)
{
    for (size_t id = 0; id < tiny.vocabulary; id++)
        for (size_t i = 0; i < count; i++)
            if (text[i] == (int32_t)id) {
                logits[id] = logits[id] > 0 ? logits[id] / penalty : logits[id] * penalty;
                break;
            }
}

/* The first of the largest. */
static int32_t likeliest(const double *logits, int32_t banned)
{
    int32_t best = banned == 0;
    for (int32_t id = 0; id < (int32_t)tiny.vocabulary; id++)
        if (id != banned && logits[id] > logits[best])
            best = id;
    return best;
}

/* Picks by evenly spaced numbers in proportion to exp(logit / temperature). */
static void check_proportions(Generator *generator, size_t text, const double *logits,
                              double penalty)
{
    enum { N = 2000 };
    const SamplerOptions warm = {.temperature = 0.7, .top_p = 1, .penalty = penalty};
    size_t counts[16] = {0};
    double total = 0;
    for (size_t i = 0; i < N; i++)
        counts[generator_pick(generator, text, &warm, ((double)i + 0.5) / N, -1)]++;
    for (size_t id = 0; id < tiny.vocabulary; id++)
        total += exp(logits[id] / 0.7);
    for (size_t id = 0; id < tiny.vocabulary; id++)
        ck_assert_double_eq_tol((double)counts[id] / N, exp(logits[id] / 0.7) / total, 3.0 / N);
}

/* The line end before the text, `start`, does not count. */
static void check_penalty(Generator *generator, double penalty, int32_t start)
{
    enum { BOTH = 2 };
    const SamplerOptions greedy = {.top_p = 1, .penalty = penalty};
    size_t vocabulary = tiny.vocabulary, different = 0;
    int32_t texts[BOTH][TEXT], tokens[BOTH] = {start, start};
    generator_restart(generator);
    for (size_t i = 0; i < TEXT; i++) {
        generator_read(generator, tokens);
        for (size_t text = 0; text < BOTH; text++) {
            const real *logits = generator_logits(generator, text);
            real before[16];
            double expected[16];
            memcpy(before, logits, vocabulary * sizeof *logits);
            for (size_t id = 0; id < vocabulary; id++)
                expected[id] = (double)logits[id];
            penalise_plainly(expected, texts[text], i, penalty);
            int32_t banned = i % 2 ? (int32_t)(i % vocabulary) : -1;
            int32_t picked = generator_pick(generator, text, &greedy, 0.5, banned);
            ck_assert_int_eq(picked, likeliest(expected, banned));
            if (i % 8 == 0)
                check_proportions(generator, text, expected, penalty);
            ck_assert_mem_eq(before, logits, vocabulary * sizeof *logits);
            for (size_t id = 0; id < vocabulary; id++)
                different += (double)before[id] != expected[id];
            /* The first half is a prompt, which differs between the texts. */
            tokens[text] = i < TEXT / 2 ? (int32_t)((text + 1) * i % 5) : picked;
            texts[text][i] = tokens[text];
        }
    }
    ck_assert((different > 0) == (penalty != 1));
}

TEST(a_penalty_applies_to_the_tokens_of_prompt_and_text)
{
    for (size_t positions = POSITIONS_LEARNED; positions <= POSITIONS_NONE; positions++) {
        SmallModel small;
        Generator generator;
        ModelConfig config = tiny;
        config.positions = positions_for(0, positions); /* with and without an end */
        small_model_make(&small, config, 1);
        generator_make(&generator, &small.model, 2);
        for (int32_t start = 0; start < (int32_t)tiny.vocabulary; start += 2) {
            check_penalty(&generator, 1.3, start);
            check_penalty(&generator, 0.7, start);
            check_penalty(&generator, 1, start);
            check_penalty(&generator, 100, start);
        }
        generator_free(&generator);
        small_model_free(&small);
    }
}

TEST(a_penalty_is_a_division_or_a_product)
{
    const bool none[WORDS] = {false}, all[WORDS] = {true, true, true, true, true};
    real logits[WORDS] = {2, -3, 0, -INFINITY, (real)NAN};
    sampler_penalise(logits, WORDS, none, 2);
    ck_assert(logits[0] == 2 && logits[1] == -3);
    sampler_penalise(logits, WORDS, all, 2);
    ck_assert(logits[0] == 1 && logits[1] == -6 && logits[2] == 0);
    ck_assert(isinf(logits[3]) && isnan(logits[4]));
}

/* --- scoring --- */

typedef struct ScoreRig {
    SmallModel small;
    Pass pass;
} ScoreRig;

static void score_rig_make(ScoreRig *rig, size_t batch, size_t window, double spread)
{
    ModelConfig config = tiny;
    config.positions = POSITIONS_ROTARY;
    *rig = (ScoreRig){0};
    small_model_make(&rig->small, config, spread);
    if (spread == 0) /* a model with equal probabilities */
        memset(rig->small.model.base, 0, rig->small.model.table.total * sizeof(real));
    pass_make(&rig->pass, &rig->small.model, batch, window, PASS_EVALUATE);
    pass_allocate(&rig->pass, "a test");
}

static void score_rig_free(ScoreRig *rig)
{
    pass_free(&rig->pass);
    small_model_free(&rig->small);
}

enum { PRIME = 3 };

/* Token by token: each in the first window that covers it, computed alone. */
static double slow_score(ScoreRig *rig, const int32_t *ids, size_t count, size_t stride)
{
    size_t window = rig->pass.length;
    int32_t inputs[TEXT], targets[TEXT];
    double nats = 0;
    for (size_t t = 0; t < count; t++) {
        size_t number = t < window ? 0 : (t - window) / stride + 1, start = number * stride;
        for (size_t i = 0; i < window; i++) {
            inputs[i] = start + i > t ? 0 : start + i ? ids[start + i - 1] : PRIME;
            targets[i] = start + i == t ? ids[t] : -1;
        }
        nats += pass_loss(&rig->pass, inputs, targets);
    }
    return nats;
}

TEST(a_score_is_the_sum_over_single_windows)
{
    enum { WINDOW = 7 };
    int32_t ids[TEXT];
    ScoreRig rig;
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = text_token(i);
    score_rig_make(&rig, 1, WINDOW, 0.3);
    for (size_t count = 1; count <= TEXT; count++)
        for (size_t stride = 1; stride <= WINDOW; stride++) {
            Score score = rig_score(&rig.pass, tokens_plain(ids), count, PRIME, stride);
            double expected = slow_score(&rig, ids, count, stride);
            ck_assert_uint_eq(score.tokens, count);
            ck_assert_msg(fabs(score.nats - expected) < 1e-5 * expected,
                          "%zu tokens, stride %zu: %.9g, should be %.9g", count, stride,
                          score.nats, expected);
            ck_assert_double_eq_tol(score_loss(score), expected / (double)count, 1e-5);
        }
    score_rig_free(&rig);
}

TEST(every_token_is_scored_once)
{
    int32_t ids[TEXT];
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = text_token(i);
    for (size_t batch = 1; batch <= 4; batch++)
        for (size_t window = 1; window <= 9; window++) {
            ScoreRig rig;
            score_rig_make(&rig, batch, window, 0);
            for (size_t stride = 1; stride <= window; stride++)
                for (size_t count = 1; count <= TEXT; count += 3) {
                    Score score = rig_score(&rig.pass, tokens_plain(ids), count, PRIME, stride);
                    double each = log((double)tiny.vocabulary);
                    ck_assert_double_eq_tol(score.nats, each * (double)count, 1e-3);
                }
            score_rig_free(&rig);
        }
}

/* Evenly spread windows, each scored as in the whole text. */
static void check_part(ScoreRig *rig, ScoreRig *alone, const Windows *windows)
{
    enum { MOST_WINDOW = 9 };
    size_t all = windows_number(windows), tokens = 0;
    size_t chosen = windows->part > 0 && windows->part < all ? windows->part : all;
    double expected = 0;
    for (size_t i = 0; i < chosen; i++) {
        int32_t inputs[MOST_WINDOW], targets[MOST_WINDOW];
        windows_fill(windows, i * all / chosen, inputs, targets);
        expected += pass_loss(&alone->pass, inputs, targets);
        for (size_t t = 0; t < windows->window; t++)
            tokens += targets[t] >= 0;
    }
    Score score = score_windows(&rig->pass, windows, NULL, 0);
    ck_assert_uint_eq(score.tokens, tokens);
    ck_assert(chosen < all || tokens == windows->count);
    ck_assert_double_eq_tol(score.nats, expected, 1e-5 * expected);
}

TEST(a_part_of_a_text_is_evenly_spread)
{
    enum { WINDOW = 5 };
    int32_t ids[TEXT];
    ScoreRig alone;
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = text_token(i);
    score_rig_make(&alone, 1, WINDOW, 0.3);
    for (size_t batch = 1; batch <= 3; batch++) {
        ScoreRig rig;
        score_rig_make(&rig, batch, WINDOW, 0.3);
        for (size_t stride = 2; stride <= WINDOW; stride += 3)
            for (size_t part = 0; part <= TEXT / stride + 2; part++)
                check_part(
                    &rig, &alone,
                    &(Windows){
                        tokens_plain(ids), TEXT, WINDOW, stride, PRIME, part, {0}, NULL});
        score_rig_free(&rig);
    }
    score_rig_free(&alone);
}

TEST(a_score_does_not_depend_on_the_batch)
{
    int32_t ids[TEXT];
    double first[6] = {0};
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = text_token(i);
    for (size_t batch = 1; batch <= 50; batch += batch < 4 ? 1 : 23) {
        ScoreRig rig;
        score_rig_make(&rig, batch, 5, 0.3);
        for (size_t stride = 1; stride <= 5; stride++) {
            double nats = rig_score(&rig.pass, tokens_plain(ids), TEXT, PRIME, stride).nats;
            if (batch == 1)
                first[stride] = nats;
            ck_assert_double_eq_tol(nats, first[stride], 1e-5 * first[stride]);
        }
        score_rig_free(&rig);
    }
}
