/* Temperature, neural cache, dynamic evaluation and averages of models, each against a slow and
 * simple implementation, and the rows that they all use. */
#include "eval/score/breakdown.h"
#include "eval/score/ways.h"
#include "models/generator.h"
#include "src/layers/head.h"
#include "src/math/random.h"
#include "tests/support.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <math.h>
#include <stdlib.h>

enum { WINDOW = 7, TEXT = 60, WORDS = 11, WIDTH = 8, PRIME = 3 };

/* Relative tolerance for sums of rounded numbers. */
#define NEAR (64 * (double)REAL_EPSILON)

static const ModelConfig small = {.layers = 2,
                                  .bias = true,
                                  .dim = WIDTH,
                                  .heads = 2,
                                  .ffn = 12,
                                  .context = WINDOW,
                                  .tied = true,
                                  .dropout = 0.3,
                                  .input_dropout = 0.2,
                                  .output_dropout = 0.2,
                                  .vocabulary = WORDS};

static int32_t ids[TEXT], other_ids[TEXT];
static const CorpusSplit text = {
    .name = "test", .ids = {ids, sizeof *ids, 0}, .count = TEXT, .characters = TEXT};

static void set_text(void)
{
    RandomKey key = random_key(4, RANDOM_TEST, 0), other = random_key(5, RANDOM_TEST, 0);
    for (size_t i = 0; i < TEXT; i++) {
        ids[i] = (int32_t)random_below(key, i, WORDS);
        other_ids[i] = (int32_t)random_below(other, i, WORDS);
    }
}

SUITE("scoring", .set_up = set_text);

typedef struct Rig {
    SmallModel small;
    Scorer scorer;
} Rig;

static void rig_make(Rig *rig, ModelConfig config, size_t stride, size_t batch)
{
    const Protocol protocol = {WINDOW, stride, batch, PRIME};
    small_model_make(&rig->small, config, 0.3);
    scorer_make(&rig->scorer, &rig->small.model, &protocol);
}

static void rig_free(Rig *rig)
{
    scorer_free(&rig->scorer);
    small_model_free(&rig->small);
}

static void check_near(double value, double expected, const char *what, size_t number)
{
    ck_assert_msg(fabs(value - expected) <= NEAR * (1 + fabs(expected)),
                  "%s %zu: %.9g, should be %.9g", what, number, value, expected);
}

/* --- rows with targets --- */

/* Called for each batch: compares its losses with those of a head that computes every row. */
typedef struct Whole {
    const Scorer *scorer;
    Pass again; /* the same model, to compute all rows again */
    real *scratch, *losses;
    size_t windows, heard;
} Whole;

enum { BATCH_MOST = 4 };

static void compare_rows(void *context, Pass *pass)
{
    Whole *whole = context;
    const Model *model = pass->model;
    const Windows windows = protocol_windows(&whole->scorer->protocol, &text);
    int32_t inputs[BATCH_MOST * WINDOW], targets[BATCH_MOST * WINDOW];
    for (size_t row = 0; row < pass->batch; row++)
        windows_fill(&windows, whole->windows++, inputs + row * WINDOW, targets + row * WINDOW);
    HeadSizes sizes = {pass->rows, WIDTH, WORDS, (real)model->config.logit_cap};
    const real *u = pass_forward(&whole->again, inputs, NULL);
    size_t right;
    head_loss(&right, whole->losses, u, model->params.wte, model->params.head_bias, targets,
              sizes, whole->scratch);
    size_t next = 0;
    for (size_t row = 0; row < pass->rows; row++) {
        if (targets[row] < 0)
            continue;
        ck_assert_uint_eq(pass->scored.rows[next], row);
        ck_assert_int_eq(pass->scored.targets[next], targets[row]);
        check_near((double)pass->scored.losses[next], (double)whole->losses[row], "row", row);
        for (size_t i = 0; i < WIDTH; i++)
            ck_assert(pass->scored.u[next * WIDTH + i] == u[row * WIDTH + i]);
        next++;
    }
    ck_assert_uint_eq(pass->scored.count, next);
    whole->heard += next;
}

TEST(the_head_sees_only_rows_with_targets)
{
    for (size_t stride = 1; stride <= WINDOW; stride += 2)
        for (size_t batch = 1; batch <= BATCH_MOST; batch += 3) {
            ModelConfig config = small;
            config.head_bias = stride == 1 ? HEAD_BIAS_YES : HEAD_BIAS_NO;
            config.logit_cap = batch == 1 ? 0 : 2;
            Rig rig;
            rig_make(&rig, config, stride, batch);
            HeadSizes sizes = {batch * WINDOW, WIDTH, WORDS, 0};
            Whole whole = {
                .scorer = &rig.scorer,
                .scratch = memory_new(head_scratch_reals(sizes, 0), sizeof(real), "a test"),
                .losses = memory_new(sizes.rows, sizeof(real), "a test")};
            pass_make(&whole.again, &rig.small.model, batch, WINDOW, PASS_EVALUATE);
            pass_allocate(&whole.again, "a test");
            ScoreListener listener = {compare_rows, &whole};
            scorer_score(&rig.scorer, &text, &listener, 1);
            ck_assert_uint_eq(whole.heard, TEXT);
            pass_free(&whole.again);
            free(whole.scratch);
            free(whole.losses);
            rig_free(&rig);
        }
}

/* --- temperature --- */

typedef struct SlowTemperature {
    double temperature, nats;
} SlowTemperature;

static void sum_slowly(void *context, Pass *pass)
{
    SlowTemperature *slow = context;
    const Model *model = pass->model;
    const ScoredRows *scored = &pass->scored;
    HeadSizes sizes = {1, WIDTH, WORDS, (real)model->config.logit_cap};
    for (size_t n = 0; n < scored->count; n++) {
        real logits[WORDS];
        double sum = 0;
        head_logits(logits, scored->u + n * WIDTH, model->params.wte, model->params.head_bias,
                    sizes);
        for (size_t i = 0; i < WORDS; i++)
            sum += exp((double)logits[i] / slow->temperature);
        slow->nats += log(sum) - (double)logits[scored->targets[n]] / slow->temperature;
    }
}

TEST(a_temperature_divides_the_logits)
{
    for (size_t kind = 0; kind < 8; kind++) {
        ModelConfig config = small;
        config.head_bias = kind & 1 ? HEAD_BIAS_YES : HEAD_BIAS_NO;
        config.logit_cap = kind & 2 ? 0.7 : 0;
        config.norm = kind & 4 ? NORM_POST : NORM_PRE;
        Rig rig;
        rig_make(&rig, config, kind & 1 ? WINDOW : 3, 2);
        Temperatures temperatures = {.values = {0.5, 1, 1.7}, .count = 3};
        SlowTemperature slow[3] = {{0.5, 0}, {1, 0}, {1.7, 0}};
        ScoreListener listeners[] = {{sum_slowly, &slow[0]},
                                     {sum_slowly, &slow[1]},
                                     temperatures_listener(&temperatures),
                                     {sum_slowly, &slow[2]}};
        Score score = scorer_score(&rig.scorer, &text, listeners, 4);
        for (size_t i = 0; i < 3; i++)
            check_near(temperatures.nats[i], slow[i].nats, "temperature", i);
        check_near(temperatures.nats[1], score.nats, "no temperature", kind);
        rig_free(&rig);
    }
}

static double nats_at(Scorer *scorer, double temperature)
{
    Temperatures temperatures = {.values = {temperature}, .count = 1};
    ScoreListener listener = temperatures_listener(&temperatures);
    scorer_score(scorer, &text, &listener, 1);
    return temperatures.nats[0];
}

/* Samples the text from the model at a temperature, which is then the best one, up to chance.
 */
static void write_text(const Model *model, double temperature)
{
    const SamplerOptions options = {.temperature = temperature, .top_p = 1};
    RandomKey key = random_key(9, RANDOM_TEST, 0);
    Generator generator;
    generator_make(&generator, model, 1);
    for (size_t i = 0; i < TEXT; i++) {
        int32_t before = i ? ids[i - 1] : PRIME;
        if (i % WINDOW == 0)
            generator_restart(&generator);
        generator_read(&generator, &before);
        ids[i] = generator_pick(&generator, 0, &options, random_uniform(key, i), -1);
    }
    generator_free(&generator);
}

TEST(the_best_temperature_is_found)
{
    static const double written[] = {0.4, 1, 3};
    double last = 0;
    for (size_t i = 0; i < 3; i++) {
        Rig rig;
        rig_make(&rig, small, WINDOW, 2);
        write_text(&rig.small.model, written[i]);
        double best = temperature_tune(&rig.scorer, &text), least = nats_at(&rig.scorer, best);
        ck_assert_double_gt(best, last);
        ck_assert_double_lt(least, nats_at(&rig.scorer, best * 1.02));
        ck_assert_double_lt(least, nats_at(&rig.scorer, best / 1.02));
        ck_assert_double_eq_tol(best, round(best * 1000) / 1000, 1e-12);
        last = best;
        rig_free(&rig);
    }
}

/* For a text of likeliest tokens the best temperature is 0; the search must end all the same.
 */
TEST(the_temperature_search_ends_for_certain_text)
{
    Rig rig;
    rig_make(&rig, small, WINDOW, 2);
    write_text(&rig.small.model, 0);
    double coldest = temperature_tune(&rig.scorer, &text);
    ck_assert(coldest > 0.04 && coldest < 0.07);
    rig.small.model.params.wte[0] = (real)NAN;
    ck_assert_double_eq(temperature_tune(&rig.scorer, &text), 1);
    rig_free(&rig);
}

/* --- neural cache --- */

/* Everything read so far, and the loss of each token by the definition. */
typedef struct SlowCache {
    size_t size, read;
    double theta, lambda, nats;
    real states[TEXT][WIDTH];
} SlowCache;

static double dot(const real *a, const real *b)
{
    double sum = 0;
    for (size_t i = 0; i < WIDTH; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void cache_slowly(void *context, Pass *pass)
{
    SlowCache *slow = context;
    for (size_t n = 0; n < pass->scored.count; n++) {
        size_t t = slow->read++, from = t > slow->size ? t - slow->size : 0;
        const real *h = pass->scored.u + n * WIDTH;
        double all = 0, same = 0, p = exp(-(double)pass->scored.losses[n]);
        ck_assert_int_eq(pass->scored.targets[n], ids[t]);
        for (size_t i = from; i < t; i++) {
            double weight = exp(slow->theta * dot(h, slow->states[i]));
            all += weight;
            same += ids[i] == ids[t] ? weight : 0;
        }
        slow->nats -= log(t > 0 ? (1 - slow->lambda) * p + slow->lambda * same / all : p);
        memcpy(slow->states[t], h, sizeof slow->states[t]);
    }
}

TEST(the_cache_agrees_with_its_definition)
{
    static const size_t sizes[] = {1, 2, 9, 31, 1000};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t batch = 1; batch <= BATCH_MOST; batch += 3)
            for (size_t stride = 2; stride <= WINDOW; stride += WINDOW - 2) {
                Rig rig;
                Cache cache;
                rig_make(&rig, small, stride, batch);
                const CacheGrid grid = {
                    .theta = {0.1, 0, 0.7}, .lambda = {0.2, 0.9}, .thetas = 3, .lambdas = 2};
                cache_make(&cache, &rig.scorer.pass, sizes[i], &grid);
                SlowCache first = {.size = sizes[i], .theta = 0.1, .lambda = 0.9};
                SlowCache last = {.size = sizes[i], .theta = 0.7, .lambda = 0.2};
                ScoreListener listeners[] = {
                    {cache_slowly, &first}, cache_listener(&cache), {cache_slowly, &last}};
                scorer_score(&rig.scorer, &text, listeners, 3);
                ck_assert_uint_eq(first.read, TEXT);
                check_near(cache.grid.nats[0][1], first.nats, "cache of", sizes[i]);
                check_near(cache.grid.nats[2][0], last.nats, "cache of", sizes[i]);
                cache_free(&cache);
                rig_free(&rig);
            }
}

/* The loss in nats up to the end of each batch. */
typedef struct Course {
    const Cache *cache;
    double nats[TEXT];
    size_t batches;
} Course;

static void follow(void *context, Pass *pass)
{
    (void)pass;
    Course *course = context;
    course->nats[course->batches++] = course->cache->grid.nats[0][0];
}

static Course course_of(Rig *rig, const int32_t *tokens)
{
    const CorpusSplit read = {.ids = tokens_plain(tokens), .count = TEXT};
    Cache cache;
    CacheGrid grid = cache_grid_of((CacheSettings){0.2, 0.3});
    cache_make(&cache, &rig->scorer.pass, 20, &grid);
    Course course = {.cache = &cache};
    ScoreListener listeners[] = {cache_listener(&cache), {follow, &course}};
    scorer_score(&rig->scorer, &read, listeners, 2);
    cache_free(&cache);
    return course;
}

TEST(the_cache_does_not_see_later_tokens)
{
    int32_t changed[TEXT];
    Rig rig;
    rig_make(&rig, small, WINDOW, 1);
    Course course = course_of(&rig, ids);
    for (size_t t = 0; t < TEXT; t++) {
        for (size_t i = 0; i < TEXT; i++)
            changed[i] = i < t ? ids[i] : (ids[i] + 1) % WORDS;
        Course other = course_of(&rig, changed);
        for (size_t batch = 0; batch < course.batches; batch++)
            ck_assert((course.nats[batch] == other.nats[batch]) == ((batch + 1) * WINDOW <= t));
    }
    rig_free(&rig);
}

TEST(the_best_cache_is_found)
{
    Rig rig;
    Cache cache;
    rig_make(&rig, small, WINDOW, 2);
    for (size_t i = 0; i < TEXT; i++) /* earlier tokens often come again */
        ids[i] = i % 9 == 4 ? (int32_t)(i % WORDS) : (int32_t)(i % 3);
    CacheSettings best = cache_tune(&rig.scorer, &text, 30);
    CacheGrid grid = {.theta = {best.theta, 0.002, 0.5},
                      .lambda = {best.lambda, 0.02, 0.1, 0.4},
                      .thetas = 3,
                      .lambdas = 4};
    cache_make(&cache, &rig.scorer.pass, 30, &grid);
    ScoreListener listener = cache_listener(&cache);
    Score plain = scorer_score(&rig.scorer, &text, &listener, 1);
    ck_assert_double_lt(cache.grid.nats[0][0], plain.nats);
    for (size_t i = 0; i < grid.thetas; i++)
        for (size_t j = 0; j < grid.lambdas; j++)
            ck_assert_double_le(cache.grid.nats[0][0], cache.grid.nats[i][j]);
    cache_free(&cache);
    rig_free(&rig);
}

/* --- dynamic evaluation --- */

static const CorpusSplit training = {
    .name = "train", .ids = {other_ids, sizeof *other_ids, 0}, .count = TEXT};
static const DynamicOptions usual = {
    .rate = 0.02, .decay = 0.1, .epsilon = 0.5, .statistics = 3};

static double dynamic_nats(const Model *model, size_t segment, const DynamicOptions *how)
{
    const Protocol protocol = {WINDOW, segment, 1, PRIME};
    return dynamic_score(model, &protocol, how, &text, &training).nats;
}

TEST(dynamic_evaluation_at_rate_zero_changes_nothing)
{
    static const DynamicOptions idle = {.rate = 0, .decay = 0.5, .epsilon = 1, .statistics = 2};
    for (size_t segment = 1; segment <= WINDOW; segment += 3) {
        Rig rig;
        rig_make(&rig, small, segment, 3);
        check_near(dynamic_nats(&rig.small.model, segment, &idle),
                   scorer_score(&rig.scorer, &text, NULL, 0).nats, "segment", segment);
        rig_free(&rig);
    }
}

TEST(dynamic_evaluation_restores_the_model)
{
    SmallModel given;
    small_model_make(&given, small, 0.3);
    size_t size = given.model.table.total * sizeof(real);
    real *before = memory_new(given.model.table.total, sizeof(real), "a test");
    memcpy(before, given.model.base, size);
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = (int32_t)(i % 4);
    double nats = dynamic_nats(&given.model, 4, &usual);
    ck_assert_mem_eq(before, given.model.base, size);
    ck_assert_double_eq(dynamic_nats(&given.model, 4, &usual), nats);
    const DynamicOptions idle = {.rate = 0, .decay = 0, .epsilon = 1, .statistics = 1};
    ck_assert_double_lt(nats, 0.8 * dynamic_nats(&given.model, 4, &idle));
    free(before);
    small_model_free(&given);
}

/* A separate model without dropout that follows the formula in dynamic.h, weight by weight. */
typedef struct SlowLearner {
    SmallModel small;
    Pass pass;
    Arena arena;
    Params gradients;
    real *gradient;
    double *usual, *trained, mean;
    int32_t inputs[WINDOW], targets[WINDOW];
} SlowLearner;

static void slow_make(SlowLearner *slow, ModelConfig config)
{
    config.dropout = config.input_dropout = config.output_dropout = 0;
    *slow = (SlowLearner){0};
    small_model_make(&slow->small, config, 0.3);
    size_t weights = slow->small.model.table.total;
    pass_make(&slow->pass, &slow->small.model, 1, WINDOW, PASS_TRAIN);
    slow->gradients.h = memory_new(config.layers, sizeof *slow->gradients.h, "a test");
    for (int measured = 0; measured < 2; measured++) {
        slow->gradient = arena_reals(&slow->arena, weights);
        pass_layout(&slow->pass, &slow->arena);
        if (!measured)
            arena_allocate(&slow->arena, "a test");
    }
    params_bind(&slow->gradients, &slow->small.model.config, slow->gradient);
    slow->usual = memory_new(weights, sizeof *slow->usual, "a test");
    slow->trained = memory_new(weights, sizeof *slow->trained, "a test");
    for (size_t i = 0; i < weights; i++)
        slow->trained[i] = (double)slow->small.model.base[i];
}

static void slow_free(SlowLearner *slow)
{
    pass_free(&slow->pass);
    free(slow->gradients.h);
    free(slow->usual);
    free(slow->trained);
    arena_free(&slow->arena);
    small_model_free(&slow->small);
}

/* Tokens from..to at the end of a window. */
static double slow_read(SlowLearner *slow, const int32_t *tokens, size_t from, size_t to)
{
    size_t start = to < WINDOW ? 0 : to - WINDOW;
    for (size_t i = 0; i < WINDOW; i++) {
        size_t at = start + i;
        slow->inputs[i] = at >= to ? 0 : at ? tokens[at - 1] : PRIME;
        slow->targets[i] = at >= from && at < to ? tokens[at] : -1;
    }
    memset(slow->gradient, 0, slow->small.model.table.total * sizeof(real));
    return pass_gradients(&slow->pass, &slow->gradients, slow->inputs, slow->targets,
                          (RandomKey){0}, NULL);
}

static void slow_statistics(SlowLearner *slow, size_t segment, size_t segments)
{
    size_t weights = slow->small.model.table.total;
    size_t all = 1 + (TEXT - WINDOW + segment - 1) / segment;
    for (size_t s = 0; s < segments; s++) {
        size_t window = s * all / segments, to = WINDOW + window * segment;
        size_t from = window ? to - segment : 0;
        to = to < TEXT ? to : TEXT;
        slow_read(slow, other_ids, from, to);
        for (size_t i = 0; i < weights; i++)
            slow->usual[i] += pow((double)slow->gradient[i] / (double)(to - from), 2);
    }
    for (size_t i = 0; i < weights; i++) {
        slow->usual[i] = sqrt(slow->usual[i] / (double)segments);
        slow->mean += slow->usual[i] / (double)slow->small.model.table.parameters;
    }
}

static void slow_step(SlowLearner *slow, size_t tokens)
{
    for (size_t i = 0; i < slow->small.model.table.total; i++) {
        real *w = &slow->small.model.base[i];
        double back = fmin(usual.decay * slow->usual[i] / slow->mean, 1);
        double g = (double)slow->gradient[i] / (double)tokens;
        *w = (real)((double)*w + back * (slow->trained[i] - (double)*w) -
                    usual.rate * g / (slow->usual[i] + usual.epsilon * slow->mean));
    }
}

/* Segments of 3 tokens divide the text evenly, segments of 7 do not. */
TEST(dynamic_evaluation_agrees_with_its_formula)
{
    static const size_t segments[] = {WINDOW, 3};
    for (size_t s = 0; s < 2; s++) {
        ModelConfig config = small;
        config.tied = s == 0;
        SmallModel given;
        SlowLearner slow;
        small_model_make(&given, config, 0.3);
        slow_make(&slow, config);
        slow_statistics(&slow, segments[s], usual.statistics);
        double nats = 0;
        size_t left = (TEXT - WINDOW) % segments[s];
        for (size_t from = 0, to = WINDOW; from < TEXT - left;) {
            nats += slow_read(&slow, ids, from, to);
            slow_step(&slow, to - from);
            from = to;
            to = to + segments[s];
        }
        const CorpusSplit whole = {.ids = tokens_plain(ids), .count = TEXT - left};
        const Protocol protocol = {WINDOW, segments[s], 1, PRIME};
        Score score = dynamic_score(&given.model, &protocol, &usual, &whole, &training);
        ck_assert_uint_eq(score.tokens, TEXT - left);
        ck_assert_msg(fabs(score.nats - nats) < 1e4 * (double)REAL_EPSILON * nats,
                      "%.9g, should be %.9g", score.nats, nats);
        slow_free(&slow);
        small_model_free(&given);
    }
}

/* Halving or doubling either parameter is no better; diverging steps are tried as well. */
TEST(the_best_dynamic_evaluation_is_found)
{
    static const DynamicOptions starts[] = {{0.001, 0.001, 1, 3}, {100, 0.2, 1, 3}};
    const Protocol protocol = {WINDOW, 4, 1, PRIME};
    for (size_t s = 0; s < 2; s++) {
        SmallModel given;
        small_model_make(&given, small, 0.3);
        for (size_t i = 0; i < TEXT; i++)
            ids[i] = (int32_t)(i % 4);
        DynamicOptions best = dynamic_tune(&given.model, &protocol, &starts[s], &text,
                                           &training);
        double lowest = dynamic_nats(&given.model, 4, &best);
        double first = dynamic_nats(&given.model, 4, &starts[s]);
        ck_assert(lowest < first || !isfinite(first));
        for (double factor = 0.5; factor < 3; factor *= 4) {
            DynamicOptions other = {best.rate, best.decay * factor, 1, 3};
            ck_assert(!(dynamic_nats(&given.model, 4, &other) < 0.999 * lowest));
            other = (DynamicOptions){best.rate * factor, starts[s].decay, 1, 3};
            ck_assert(!(dynamic_nats(&given.model, 4, &other) < 0.999 * lowest));
        }
        small_model_free(&given);
    }
}

/* --- averages of models --- */

enum { MODELS = 3 };

/* Adds a model's probability of each token, from its logits. */
typedef struct SlowAverage {
    double *probabilities;
    size_t next;
} SlowAverage;

static void add_slowly(void *context, Pass *pass)
{
    SlowAverage *slow = context;
    for (size_t n = 0; n < pass->scored.count; n++) {
        ScoredRows one = pass->scored;
        SlowTemperature alone = {.temperature = 1};
        one.u += n * WIDTH;
        one.targets += n;
        one.count = 1;
        sum_slowly(&alone, &(Pass){.model = pass->model, .scored = one});
        slow->probabilities[slow->next++] += exp(-alone.nats);
    }
}

TEST(an_average_is_one_of_probabilities)
{
    double probabilities[TEXT] = {0}, nats = 0, worst = 0;
    Ensemble ensemble;
    ensemble_make(&ensemble, &text);
    for (size_t model = 0; model < MODELS; model++) {
        ModelConfig config = small;
        config.heads = model ? 2 : 1; /* each model is a different one */
        config.layers = 1 + model;
        Rig rig;
        rig_make(&rig, config, 3, 2);
        SlowAverage slow = {probabilities, 0};
        const ScoreListener listeners[] = {{add_slowly, &slow}, ensemble_listener(&ensemble)};
        Score alone = scorer_score(&rig.scorer, &text, listeners, COUNT(listeners));
        ck_assert_uint_eq(slow.next, TEXT);
        ck_assert_uint_eq(ensemble.runs, model + 1);
        if (model == 0)
            check_near(ensemble_nats(&ensemble), alone.nats, "average of", 1);
        worst = fmax(worst, alone.nats);
        rig_free(&rig);
    }
    for (size_t i = 0; i < TEXT; i++)
        nats -= log(probabilities[i] / MODELS);
    check_near(ensemble_nats(&ensemble), nats, "average of", MODELS);
    ck_assert_double_lt(nats, worst);
    ensemble_free(&ensemble);
}

/* --- parts of a text --- */

/* The loss of every token, in the order of the text. */
typedef struct Record {
    double losses[TEXT];
    size_t next;
} Record;

static void record(void *context, Pass *pass)
{
    Record *kept = context;
    for (size_t n = 0; n < pass->scored.count; n++)
        kept->losses[kept->next++] = (double)pass->scored.losses[n];
}

/* Lets two models read the text; the scorers of the rigs differ in their batches. */
static Breakdown break_down(const Corpus *corpus, size_t window, Record records[2])
{
    const ScoredText scored = {corpus, &text};
    Breakdown breakdown;
    breakdown_make(&breakdown, &scored, 2, window);
    for (size_t run = 0; run < 2; run++) {
        ModelConfig config = small;
        config.layers = 1 + run;
        Rig rig;
        rig_make(&rig, config, WINDOW, 1 + 2 * run);
        records[run] = (Record){.next = 0};
        const ScoreListener listeners[] = {{record, &records[run]},
                                           breakdown_listener(&breakdown)};
        scorer_score(&rig.scorer, &text, listeners, COUNT(listeners));
        rig_free(&rig);
    }
    ck_assert_uint_eq(breakdown.run, 2);
    return breakdown;
}

/* Token 10 of these is a line end. */
static Corpus corpus_of_bytes(void)
{
    return (Corpus){.vocabulary = vocabulary_of(TOKENIZER_BYTE, "a\n", 0, 1)};
}

TEST(losses_by_position_are_those_of_the_positions)
{
    static const size_t ranges[WINDOW] = {0, 1, 2, 2, 3, 3, 3};
    Corpus corpus = corpus_of_bytes();
    Record records[2];
    Breakdown breakdown = break_down(&corpus, WINDOW, records);
    for (size_t run = 0; run < 2; run++) {
        PositionLosses slow = {.window = WINDOW};
        for (size_t i = 0; i < TEXT; i++) {
            slow.nats[ranges[i % WINDOW]] += records[run].losses[i];
            slow.tokens[ranges[i % WINDOW]]++;
        }
        for (size_t range = 0; range < POSITION_RANGES; range++) {
            check_near(breakdown.positions[run].nats[range], slow.nats[range], "range", range);
            ck_assert_uint_eq(breakdown.positions[run].tokens[range], slow.tokens[range]);
        }
        ck_assert_uint_eq(breakdown.positions[run].window, WINDOW);
    }
    breakdown_free(&breakdown);
    vocabulary_free(&corpus.vocabulary);
}

/* A window that is a power of two ends with a range; a last range of which more than half is
 * missing is part of the one before. */
TEST(no_range_of_positions_is_a_rest)
{
    static const struct {
        size_t window, ranges;
    } cases[] = {{1, 1},     {2, 2},     {3, 3},
                 {4, 3},     {5, 3},     {6, 4},
                 {8, 4},     {9, 4},     {11, 4},
                 {12, 5},    {16, 5},    {17, 5},
                 {23, 5},    {24, 6},    {128, 8},
                 {1000, 11}, {1024, 11}, {1025, 11},
                 {1535, 11}, {1536, 12}, {65536, POSITION_RANGES}};
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_uint_eq(position_ranges(cases[i].window), cases[i].ranges);
}

/* Twenty lines are units; of one line less, windows are. */
TEST(a_text_is_resampled_by_its_lines_or_windows)
{
    enum { LINE = 3, LINES = TEXT / LINE };
    Corpus corpus = corpus_of_bytes();
    for (size_t lines = LINES - 1; lines <= LINES; lines++) {
        size_t block = lines == LINES ? LINE : WINDOW;
        for (size_t i = 0; i < TEXT; i++)
            ids[i] = i % LINE == LINE - 1 && i / LINE + 1 <= lines ? 10 : (int32_t)(i % 10);
        if (lines < LINES) /* the last line without an end would be one */
            ids[LINE - 1] = 0;
        Record records[2];
        Breakdown breakdown = break_down(&corpus, WINDOW, records);
        ck_assert_int_eq(breakdown.are_lines, lines == LINES);
        ck_assert_uint_eq(breakdown.unit_count, (TEXT + block - 1) / block);
        for (size_t run = 0; run < 2; run++) {
            double slow[TEXT] = {0};
            for (size_t i = 0; i < TEXT; i++)
                slow[i / block] += records[run].losses[i];
            for (size_t u = 0; u < breakdown.unit_count; u++)
                check_near(breakdown.nats[run * breakdown.unit_count + u], slow[u], "unit", u);
        }
        breakdown_free(&breakdown);
    }
    vocabulary_free(&corpus.vocabulary);
}
