#include "eval/score/ways.h"
#include "src/base/memory.h"

#include <math.h>
#include <stdlib.h>

/* --- temperature --- */

static void add_at_temperatures(void *context, Pass *pass)
{
    Temperatures *temperatures = context;
    for (size_t i = 0; i < temperatures->count; i++)
        temperatures->nats[i] += pass_loss_at(pass, temperatures->values[i]);
}

ScoreListener temperatures_listener(Temperatures *temperatures)
{
    return (ScoreListener){add_at_temperatures, temperatures};
}

#define TEMPERATURE_STEP 1.08 /* from one temperature to the next */
#define TEMPERATURE_MOST 16.0

static Temperatures around(double centre)
{
    Temperatures temperatures = {.count = TEMPERATURES_MOST};
    for (int i = 0; i < TEMPERATURES_MOST; i++)
        temperatures.values[i] = centre * pow(TEMPERATURE_STEP, i - TEMPERATURES_MOST / 2);
    return temperatures;
}

static size_t lowest(const double *nats, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = nats[i] < nats[best] ? i : best;
    return best;
}

/* The minimum of the parabola through three points, of which the middle one is the lowest. */
static double vertex(const double x[3], const double y[3])
{
    double left = (x[1] - x[0]) * (y[1] - y[2]), right = (x[1] - x[2]) * (y[1] - y[0]);
    double curvature = left - right;
    if (curvature == 0)
        return x[1];
    return x[1] - ((x[1] - x[0]) * left - (x[1] - x[2]) * right) / (2 * curvature);
}

static double between(const Temperatures *temperatures, size_t best)
{
    double inverse[3];
    for (size_t i = 0; i < 3; i++)
        inverse[i] = 1 / temperatures->values[best - 1 + i];
    return 1 / vertex(inverse, temperatures->nats + best - 1);
}

static double rounded(double temperature)
{
    const double thousand = 1000;
    return round(temperature * thousand) / thousand;
}

double temperature_tune(Scorer *scorer, const CorpusSplit *split)
{
    double centre = 1;
    while (centre < TEMPERATURE_MOST && centre > 1 / TEMPERATURE_MOST) {
        Temperatures temperatures = around(centre);
        ScoreListener listener = temperatures_listener(&temperatures);
        scorer_score(scorer, split, &listener, 1);
        size_t best = lowest(temperatures.nats, temperatures.count);
        if (!isfinite(temperatures.nats[best]))
            return 1;
        if (best > 0 && best < temperatures.count - 1)
            return rounded(between(&temperatures, best));
        centre = temperatures.values[best];
    }
    return rounded(centre);
}

/* --- ensemble --- */

void ensemble_make(Ensemble *ensemble, const CorpusSplit *split)
{
    size_t scored = split_scored(split);
    *ensemble = (Ensemble){.split = split,
                           .logs = memory_new(scored, sizeof *ensemble->logs, "the average")};
    for (size_t i = 0; i < scored; i++)
        ensemble->logs[i] = -INFINITY;
}

void ensemble_free(Ensemble *ensemble)
{
    free(ensemble->logs);
    *ensemble = (Ensemble){0};
}

/* log(e^a + e^b); probabilities of zero are allowed. */
static double log_sum(double a, double b)
{
    double most = fmax(a, b);
    return isinf(most) ? most : most + log1p(exp(fmin(a, b) - most));
}

/* Batches follow each other in the order of the text. */
static void add_probabilities(void *context, Pass *pass)
{
    Ensemble *ensemble = context;
    for (size_t n = 0; n < pass->scored.count; n++) {
        double *log = &ensemble->logs[ensemble->next++];
        *log = log_sum(*log, -(double)pass->scored.losses[n]);
    }
    if (ensemble->next == split_scored(ensemble->split)) {
        ensemble->runs++;
        ensemble->next = 0;
    }
}

ScoreListener ensemble_listener(Ensemble *ensemble)
{
    return (ScoreListener){add_probabilities, ensemble};
}

double ensemble_nats(const Ensemble *ensemble)
{
    double nats = 0, models = log((double)ensemble->runs);
    for (size_t i = 0; i < split_scored(ensemble->split); i++)
        nats += models - ensemble->logs[i];
    return nats;
}

/* --- the rows --- */

static void add_setting(ScoreRow *row, const char *name, double value, bool found)
{
    row->settings[row->setting_count++] = (WaySetting){name, value, found};
}

static ScoreRow dynamic_row(const ScoreRow *plain, const EvalOptions *options,
                            const Model *model, int32_t prime, const ScoredText *text)
{
    ScoreRow row = *plain;
    const Corpus *corpus = text->corpus;
    const Protocol protocol = {options->window, options->dynamic_segment, 1, prime};
    DynamicOptions how = options->dynamic_settings;
    if (options->tune_dynamic)
        how = dynamic_tune(model, &protocol, &how, &corpus->valid, &corpus->train);
    row.score = dynamic_score(model, &protocol, &how, text->split, &corpus->train);
    if (!(row.score.nats < plain->score.nats))
        print_warning(
            "dynamic evaluation with a --dynamic-lr of %g does no better than the model as it "
            "is%s",
            how.rate,
            options->tune_dynamic ? "" : "; --tune-dynamic searches for a better one");
    row.stride = protocol.stride;
    add_setting(&row, "dynamic", (double)protocol.stride, false);
    add_setting(&row, "lr", how.rate, options->tune_dynamic);
    add_setting(&row, "decay", how.decay, options->tune_dynamic);
    add_setting(&row, "epsilon", how.epsilon, false);
    add_setting(&row, "statistics", (double)how.statistics, false);
    return row;
}

/* One reading serves the model alone, the temperature, the cache and other listeners. */
static size_t score_together(ScoreRow rows[WAYS_MOST], const EvalOptions *options,
                             Scorer *scorer, const ScoredText *text,
                             const ScoreListener *others, size_t other_count)
{
    enum { OTHERS = 3 };
    ScoreListener listeners[WAYS_MOST + OTHERS];
    const CorpusSplit *valid = &text->corpus->valid;
    bool tempers = options->temperature > 0 || options->tune_temperature;
    Temperatures temperatures = {.values = {options->temperature}, .count = 1};
    Cache cache = {0};
    CacheSettings settings = options->cache_settings;
    size_t heard = 0, count = 1;
    for (; heard < other_count; heard++)
        listeners[heard] = others[heard];
    if (options->tune_temperature)
        temperatures.values[0] = temperature_tune(scorer, valid);
    if (tempers)
        listeners[heard++] = temperatures_listener(&temperatures);
    if (options->tune_cache)
        settings = cache_tune(scorer, valid, options->cache);
    CacheGrid grid = cache_grid_of(settings);
    if (options->cache > 0) {
        cache_make(&cache, &scorer->pass, options->cache, &grid);
        listeners[heard++] = cache_listener(&cache);
    }
    rows[0].score = scorer_score(scorer, text->split, listeners, heard);
    if (tempers) {
        ScoreRow *row = &rows[count++];
        *row = rows[0];
        row->score.nats = temperatures.nats[0];
        add_setting(row, "temperature", temperatures.values[0], options->tune_temperature);
    }
    if (options->cache > 0) {
        ScoreRow *row = &rows[count++];
        *row = rows[0];
        row->score.nats = cache.grid.nats[0][0];
        add_setting(row, "cache", (double)options->cache, false);
        add_setting(row, "theta", settings.theta, options->tune_cache);
        add_setting(row, "lambda", settings.lambda, options->tune_cache);
    }
    cache_free(&cache);
    return count;
}

size_t ways_score(ScoreRow rows[WAYS_MOST], const EvalOptions *options,
                  const LoadedModel *loaded, const ScoredText *text,
                  const ScoreListener *others, size_t other_count)
{
    Scorer scorer;
    const Model *model = &loaded->model;
    int32_t prime = vocabulary_start(&loaded->checkpoint.vocabulary);
    const Protocol protocol = {options->window, options->stride, options->batch, prime};
    rows[0] = (ScoreRow){.window = options->window,
                         .stride = options->stride,
                         .carried_streams = model->config.carry_state ? options->batch : 0};
    scorer_make(&scorer, model, &protocol);
    size_t count = score_together(rows, options, &scorer, text, others, other_count);
    scorer_free(&scorer);
    if (options->dynamic)
        rows[count++] = dynamic_row(&rows[0], options, model, prime, text);
    return count;
}
