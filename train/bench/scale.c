/* bench scale: a data-parallel training step (src/ranks/ranks.h) compared with one rank that
 * computes all shards. Each rank computes one shard. */
#include "train/bench/rig.h"
#include "src/base/phase.h"
#include "src/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>

/* The parts of a step. The exchange sends gradients, and after the update weights. */
typedef enum Part { COMPUTE, IDLE, EXCHANGE, UPDATE, PARTS } Part;

/* Adds the time since *at to a part. */
static void count_time(double times[PARTS], Part part, double *at)
{
    double now = clock_seconds();
    times[part] += now - *at;
    *at = now;
}

static void shared_step(Rig *rig, double times[PARTS])
{
    size_t own = ranks_own();
    double at = clock_seconds();
    rig_compute(rig);
    count_time(times, COMPUTE, &at);
    ranks_most(0);
    count_time(times, IDLE, &at);
    const real *gradient = shards_sum(&rig->shards);
    count_time(times, EXCHANGE, &at);
    rig_update(rig, gradient, (UpdateSlice){rig->pieces[own], rig->pieces[own + 1]});
    count_time(times, UPDATE, &at);
    ranks_collect(rig->model.base, sizeof *rig->model.base, rig->shards.bounds);
    count_time(times, EXCHANGE, &at);
}

/* Seconds of a step with all shards on the first rank, while the others wait. */
static double time_alone(Rig *rig, size_t repeats)
{
    if (ranks_first())
        rig_step_alone(rig); /* warms up */
    double start = clock_seconds();
    for (size_t i = 0; i < repeats && ranks_first(); i++)
        rig_step_alone(rig);
    double total = clock_seconds() - start;
    ranks_sleep();
    return total / (double)repeats;
}

/* Seconds of MPI's own sum of a gradient. */
static double time_anyhow(Rig *rig, size_t repeats)
{
    ranks_sum_anyhow(rig->shards.memory[0], rig->shards.reals); /* warms up */
    ranks_most(0);
    double start = clock_seconds();
    for (size_t i = 0; i < repeats; i++)
        ranks_sum_anyhow(rig->shards.memory[0], rig->shards.reals);
    return (clock_seconds() - start) / (double)repeats;
}

/* Mean seconds of a step for each rank, by part: (ranks, PARTS), on the first rank; the caller
 * frees. */
static double *time_shared(Rig *rig, size_t repeats)
{
    size_t ranks = ranks_count();
    double *times = memory_take(ranks * PARTS, sizeof *times, "the benchmark");
    double ignored[PARTS] = {0}, *own = times + ranks_own() * PARTS;
    shared_step(rig, ignored);
    for (size_t i = 0; i < repeats; i++)
        shared_step(rig, own);
    for (size_t part = 0; part < PARTS; part++)
        own[part] /= (double)repeats;
    ranks_collect_shares(times, PARTS * sizeof *times, ranks);
    return times;
}

/* On the first rank. */
static void report(const Rig *rig, const BenchOptions *options, const double *times,
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
    double megabytes = 2e-6 * sizeof(real) * (double)rig->shards.reals * (ranks - 1) / ranks;
    if (bench_is_for_people(options)) {
        printf("%zu parameters, %zu x %zu tokens a step, %.0f ranks\n",
               rig->model.table.parameters, options->batch, options->model.context, ranks);
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
    Rig rig;
    rig_make(&rig, options);
    double *times = time_shared(&rig, options->repeats);
    double anyhow = time_anyhow(&rig, options->repeats);
    double alone = time_alone(&rig, options->repeats);
    if (ranks_first())
        report(&rig, options, times, alone, anyhow);
    free(times);
    rig_free(&rig);
}
