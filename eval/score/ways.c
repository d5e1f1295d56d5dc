#include "eval/score/ways.h"
#include "eval/score/cache.h"
#include "eval/score/dynamic.h"
#include "models/score.h"
#include "eval/score/temperature.h"

/* One reading serves the model alone, the temperature and the cache. */
typedef struct Readers {
    ScoreListener listeners[WAYS_MOST];
    size_t count;
    Temperatures temperatures;
    Cache cache;
    CacheSettings cache_settings;
} Readers;

static bool wants_temperature(const EvalOptions *options)
{
    return options->temperature > 0 || options->tune_temperature;
}

static void make_readers(Readers *readers, const EvalOptions *options, Scorer *scorer,
                         const CorpusSplit *valid)
{
    *readers = (Readers){.cache_settings = {options->cache_theta, options->cache_lambda}};
    if (wants_temperature(options)) {
        double temperature = options->tune_temperature ? temperature_tune(scorer, valid)
                                                       : options->temperature;
        readers->temperatures = (Temperatures){.at = {temperature}, .count = 1};
        readers->listeners[readers->count++] = temperatures_listener(&readers->temperatures);
    }
    if (options->cache > 0) {
        if (options->tune_cache)
            readers->cache_settings = cache_tune(scorer, valid, options->cache);
        CacheGrid grid = cache_grid_of(readers->cache_settings);
        cache_make(&readers->cache, &scorer->pass, options->cache, &grid);
        readers->listeners[readers->count++] = cache_listener(&readers->cache);
    }
}

static ScoreRow temperature_row(ScoreRow row, const EvalOptions *options,
                                const Temperatures *temperatures)
{
    row.score.nats = temperatures->nats[0];
    row.settings[0] = (WaySetting){"temperature", temperatures->at[0],
                                   options->tune_temperature};
    row.setting_count = 1;
    return row;
}

static ScoreRow cache_row(ScoreRow row, const EvalOptions *options, const Readers *readers)
{
    row.score.nats = readers->cache.grid.nats[0][0];
    row.settings[0] = (WaySetting){"cache", (double)options->cache, false};
    row.settings[1] = (WaySetting){"theta", readers->cache_settings.theta, options->tune_cache};
    row.settings[2] = (WaySetting){"lambda", readers->cache_settings.lambda,
                                   options->tune_cache};
    row.setting_count = 3;
    return row;
}

static ScoreRow dynamic_row(const ScoreRow *plain, const EvalOptions *options,
                            const Model *model, const Corpus *corpus, const CorpusSplit *split)
{
    ScoreRow row = *plain;
    const Protocol protocol = {options->window, options->dynamic_segment, 1,
                               vocabulary_start(&corpus->vocabulary)};
    DynamicOptions how = {options->dynamic_lr, options->dynamic_decay, options->dynamic_epsilon,
                          options->dynamic_statistics};
    if (options->tune_dynamic)
        how = dynamic_tune(model, &protocol, &how, &corpus->valid, &corpus->train);
    row.score = dynamic_score(model, &protocol, &how, split, &corpus->train);
    if (!(row.score.nats < plain->score.nats))
        print_warning(
            "dynamic evaluation with a --dynamic-lr of %g does no better than the model as it "
            "is%s",
            how.rate,
            options->tune_dynamic ? "" : "; --tune-dynamic searches for a better one");
    row.stride = protocol.stride;
    row.settings[0] = (WaySetting){"dynamic", (double)protocol.stride, false};
    row.settings[1] = (WaySetting){"lr", how.rate, options->tune_dynamic};
    row.settings[2] = (WaySetting){"decay", how.decay, options->tune_dynamic};
    row.settings[3] = (WaySetting){"epsilon", how.epsilon, false};
    row.settings[4] = (WaySetting){"statistics", (double)how.statistics, false};
    row.setting_count = 5;
    return row;
}

size_t ways_score(ScoreRow rows[WAYS_MOST], const EvalOptions *options, const Model *model,
                  const Corpus *corpus, const CorpusSplit *split)
{
    Scorer scorer;
    Readers readers;
    size_t count = 1, streams = model->config.carry_state ? options->batch : 0;
    const Protocol protocol = {options->window, options->stride, options->batch,
                               vocabulary_start(&corpus->vocabulary)};
    scorer_make(&scorer, model, &protocol);
    make_readers(&readers, options, &scorer, &corpus->valid);
    rows[0] = (ScoreRow){
        .score = scorer_score(&scorer, split, readers.listeners, readers.count),
        .window = options->window,
        .stride = options->stride,
        .carried_streams = streams};
    if (wants_temperature(options))
        rows[count++] = temperature_row(rows[0], options, &readers.temperatures);
    if (options->cache > 0)
        rows[count++] = cache_row(rows[0], options, &readers);
    cache_free(&readers.cache);
    scorer_free(&scorer);
    if (options->dynamic)
        rows[count++] = dynamic_row(&rows[0], options, model, corpus, split);
    return count;
}
