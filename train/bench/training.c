/* bench train and bench scale: the steps of a real trainer (train/loop/trainer.h) on random
 * tokens. The settings that bench has no option for have their defaults. */
#include "train/bench/bench.h"
#include "models/update.h"
#include "src/base/memory.h"
#include "src/base/phase.h"
#include "src/ranks/ranks.h"
#include "train/loop/trainer.h"

#include <stdio.h>
#include <stdlib.h>

/* A corpus of random tokens, a few batches long, of which the first is validated. */
static Corpus corpus_of(const BenchOptions *options)
{
    enum { BATCHES = 8 };
    size_t batch = options->batch * options->model.context, count = BATCHES * batch;
    RandomKey key = random_key(1, RANDOM_TEST, 0);
    int32_t *ids = memory_new(count, sizeof *ids, "the text");
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)random_below(key, i, options->model.vocabulary);
    return (Corpus){.train = {.ids = tokens_plain(ids), .count = count},
                    .valid = {.ids = tokens_plain(ids), .count = batch},
                    .owned = {ids}};
}

/* The batch has as many shards as all ranks of the benchmark can share. */
static void trainer_make(Trainer *t, const BenchOptions *options, size_t shards)
{
    Error error;
    const Options settings = settings_options(&t->settings);
    *t = (Trainer){0};
    options_set_defaults(&settings);
    t->settings.model = options->model;
    t->settings.train.batch = options->batch;
    t->settings.train.shards = shards;
    t->settings.train.optimizer = options->optimizer;
    t->settings.train.length.steps = (size_t)OPTION_MOST;
    t->settings.session.recompute = options->recompute;
    t->corpus = corpus_of(options);
    if (!trainer_plan(t, NULL, &error))
        die("%s", error.text);
    trainer_allocate(t);
    if (!trainer_start(t, &error))
        die("%s", error.text);
}

static void train_step(void *trainer)
{
    Step step;
    Error error;
    if (!trainer_step(trainer, &step, &error))
        die("%s", error.text);
}

/* --- bench train: tokens per second, and the time of the parts of a step --- */

static void evaluate(void *trainer)
{
    trainer_validate(trainer, true, NULL);
}

/* Model FLOPs per token: 6 per weight of a matrix product, and the causal half of softmax
 * attention, also for other kinds. */
static double flop_per_token(const ModelConfig *config)
{
    double width = (double)config->dim, ffn = (double)config->ffn;
    double gates = (double)activation_find(config->activation)->inputs;
    double layer = 4 * width * width + (gates + 1) * width * ffn;
    double matrices = (double)config->layers * layer + (double)config->vocabulary * width;
    return 6 * matrices + 6 * (double)config->layers * (double)config->context * width;
}

void bench_train(const BenchOptions *options)
{
    Trainer trainer;
    trainer_make(&trainer, options, 1);
    char *attention = config_attention(&trainer.model.config);
    train_step(&trainer); /* touches all memory before peak memory is read */
    double megabytes = memory_peak_megabytes();
    double peak = bench_peak(5);
    double tokens = (double)trainer.pass.rows;
    double evaluated = tokens / bench_time(evaluate, &trainer, options->repeats).median;
    phase_reset();
    double start = clock_seconds();
    Timing timing = bench_time(train_step, &trainer, options->repeats);
    phase_enter(PHASE_REST);
    double total = clock_seconds() - start;
    double speed = tokens / timing.median, flop = flop_per_token(&options->model);
    double update = update_flop(&trainer.model, options->optimizer);
    json_t *phases = json_object();
    for (Phase phase = 0; phase < PHASE_COUNT; phase++)
        json_object_set_new(phases, phase_name(phase),
                            json_figure(phase_seconds(phase) / total));
    if (options->json) {
        json_print(stdout,
                   json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:O}", "tokens_per_second",
                             speed, "utilisation", speed * flop / peak, "optimizer_utilisation",
                             update / timing.median / peak, "peak_gflops", peak / 1e9,
                             "evaluation_tokens_per_second", evaluated, "peak_rss_mb",
                             megabytes, "attn", attention, "phases", phases));
    } else {
        const char *phase;
        json_t *share;
        printf("%s, %zu parameters, %zu x %zu tokens a step, %zu steps\n", attention,
               trainer.model.table.parameters, options->batch, options->model.context,
               options->repeats);
        printf("%.0f tokens/s (steps of %.0f to %.0f tokens/s), %.1f MFLOP a token\n", speed,
               tokens / timing.high, tokens / timing.low, flop / 1e6);
        printf("%.1f %% of the peak of %.0f GFLOP/s", 100 * speed * flop / peak, peak / 1e9);
        if (update > 0)
            printf(" (and %.1f %% for products of the optimizer)",
                   100 * update / timing.median / peak);
        printf(", peak memory %.0f MB\n", megabytes);
        printf("evaluation: %.0f tokens/s, %.2f times the rate of training\n", evaluated,
               evaluated / speed);
        json_object_foreach(phases, phase, share)
            printf("  %-12s %5.1f %%\n", phase, 100 * json_real_value(share));
    }
    json_decref(phases);
    free(attention);
    trainer_free(&trainer);
}

/* --- bench scale: a data-parallel step compared with one rank that computes all shards --- */

/* The parts of a step. The exchange sends gradients, and after the update weights. */
typedef enum Part { COMPUTE, IDLE, EXCHANGE, UPDATE, PARTS } Part;

/* Mean seconds of a step. */
static double time_steps(Trainer *trainer, size_t repeats)
{
    train_step(trainer); /* warms up */
    phase_reset();
    double start = clock_seconds();
    for (size_t i = 0; i < repeats; i++)
        train_step(trainer);
    return (clock_seconds() - start) / (double)repeats;
}

/* Mean seconds of a step for each rank, by part: (ranks, PARTS); the caller frees. */
static double *time_shared(Trainer *trainer, size_t repeats)
{
    size_t ranks = ranks_count();
    double *times = memory_new(ranks * PARTS, sizeof *times, "the benchmark");
    double *rank_times = times + ranks_index() * PARTS, step = time_steps(trainer, repeats);
    rank_times[IDLE] = phase_seconds(PHASE_IDLE) / (double)repeats;
    rank_times[EXCHANGE] = phase_seconds(PHASE_EXCHANGE) / (double)repeats;
    rank_times[UPDATE] = phase_seconds(PHASE_OPTIMIZER) / (double)repeats;
    rank_times[COMPUTE] = step - rank_times[IDLE] - rank_times[EXCHANGE] - rank_times[UPDATE];
    ranks_collect_shares(times, PARTS * sizeof *times, ranks);
    return times;
}

/* Seconds of MPI's own sum of a gradient. */
static double time_anyhow(const Shards *shards, size_t repeats)
{
    ranks_sum_anyhow(shards->memory[0], shards->reals); /* warms up */
    ranks_most(0);
    double start = clock_seconds();
    for (size_t i = 0; i < repeats; i++)
        ranks_sum_anyhow(shards->memory[0], shards->reals);
    return (clock_seconds() - start) / (double)repeats;
}

/* Seconds of a step with all shards on the first rank, while the others wait. */
static double time_alone(const BenchOptions *options)
{
    double seconds = 0;
    size_t shards = ranks_count();
    if (ranks_first()) {
        Trainer trainer;
        ranks_alone(true);
        trainer_make(&trainer, options, shards);
        seconds = time_steps(&trainer, options->repeats);
        trainer_free(&trainer);
        ranks_alone(false);
    }
    ranks_sleep();
    return seconds;
}

/* On the first rank. */
static void report(const Trainer *trainer, const BenchOptions *options, const double *times,
                   double alone, double anyhow)
{
    static const BenchColumn columns[] = {
        {"rank", "rank", 1, 0},          {"compute", "compute ms", 1e3, 2},
        {"idle", "idle ms", 1e3, 2},     {"exchange", "exchange ms", 1e3, 2},
        {"update", "update ms", 1e3, 2},
    };
    BenchTable table = BENCH_TABLE(columns);
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        const double *of = times + rank * PARTS;
        bench_row(&table, json_count(rank), json_figure(of[COMPUTE]), json_figure(of[IDLE]),
                  json_figure(of[EXCHANGE]), json_figure(of[UPDATE]));
    }
    double ranks = (double)ranks_count(), step = 0, exchange = times[EXCHANGE];
    for (size_t part = 0; part < PARTS; part++)
        step += times[part];
    double megabytes = 2e-6 * sizeof(real) * (double)trainer->shards.reals * (ranks - 1) /
                       ranks;
    if (bench_is_for_people(options)) {
        printf("%zu parameters, %zu x %zu tokens a step, %.0f ranks\n",
               trainer->model.table.parameters, options->batch, options->model.context, ranks);
        printf("step %.2f ms, %.0f tokens/s; one rank alone %.2f ms: speed-up %.2f, efficiency "
               "%.0f %%\n",
               1e3 * step, (double)(options->batch * options->model.context) / step,
               1e3 * alone, alone / step, 100 * alone / step / ranks);
        printf("each rank sends %.1f MB per step; sums in fixed order %.2f ms, MPI_Allreduce "
               "%.2f ms\n",
               megabytes, 1e3 * exchange, 1e3 * anyhow);
    }
    bench_report(options,
                 json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f}", "ranks",
                           json_count(ranks_count()), "step_seconds", step, "alone_seconds",
                           alone, "speedup", alone / step, "exchange_seconds", exchange,
                           "allreduce_seconds", anyhow, "megabytes_sent", megabytes),
                 &table);
}

void bench_scale(const BenchOptions *options)
{
    size_t ranks = ranks_count();
    if (options->batch < ranks || options->batch % ranks != 0)
        die_usage("--batch %zu: %zu ranks cannot share this many sequences evenly",
                  options->batch, ranks);
    Trainer trainer;
    trainer_make(&trainer, options, ranks);
    double *times = time_shared(&trainer, options->repeats);
    double anyhow = time_anyhow(&trainer.shards, options->repeats);
    double alone = time_alone(options);
    if (ranks_first())
        report(&trainer, options, times, alone, anyhow);
    free(times);
    trainer_free(&trainer);
}
