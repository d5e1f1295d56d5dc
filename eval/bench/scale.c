/* bench scale: a data-parallel training step (src/ranks.h) compared with one rank that computes
 * all shards. Each rank computes one shard. */
#include "eval/bench/bench.h"
#include "models/pass.h"
#include "src/shards.h"
#include "models/update.h"
#include "src/containers.h"
#include "src/phase.h"
#include "src/ranks.h"

#include <stdio.h>
#include <stdlib.h>

/* The parts of a step, in order. */
typedef enum Part { COMPUTE, IDLE, EXCHANGE, UPDATE, COLLECT, PARTS } Part;

typedef struct Rig {
    Model model;
    Pass pass;
    Arena arena;
    Params gradients;
    Shards shards;
    real *m, *v, *gradient;
    int32_t *inputs, *targets;
    size_t *pieces;
    double *square_sums;
    uint64_t step;
} Rig;

static const Update update = {
    .adam = {0.9, 0.95, 1e-8}, .learning_rate = 1e-3, .weight_decay = 0.1, .clip = 1};

static void lay_out(Rig *rig)
{
    size_t total = rig->model.table.total;
    model_layout(&rig->model, &rig->arena);
    shards_layout(&rig->shards, &rig->arena);
    rig->m = arena_reals(&rig->arena, total);
    rig->v = arena_reals(&rig->arena, total);
    pass_layout(&rig->pass, &rig->arena);
    rig->inputs = arena_bytes(&rig->arena, rig->pass.rows, sizeof *rig->inputs);
    rig->targets = arena_bytes(&rig->arena, rig->pass.rows, sizeof *rig->targets);
    rig->square_sums = arena_bytes(&rig->arena, rig->pieces[ranks_count()],
                                   sizeof *rig->square_sums);
}

static void rig_make(Rig *rig, const BenchOptions *options)
{
    const ModelConfig *config = &options->model;
    size_t ranks = ranks_count(), *bounds = NULL;
    *rig = (Rig){0};
    model_make(&rig->model, config);
    pass_make(&rig->pass, &rig->model, options->batch / ranks, config->context, PASS_TRAIN);
    rig->gradients.h = memory_take(config->layers, sizeof *rig->gradients.h, "the layers");
    rig->pieces = memory_take(ranks + 1, sizeof *rig->pieces, "the slices");
    arrsetlen(bounds, ranks + 1);
    update_slices(&rig->model, update.optimizer, ranks, rig->pieces, bounds);
    shards_make(&rig->shards, ranks, rig->model.table.total, bounds);
    lay_out(rig);
    arena_allocate(&rig->arena, "the benchmark");
    lay_out(rig);
    params_initialise(&rig->model.table, config, rig->model.base, 1);
    pass_prepare(&rig->pass);
    for (size_t i = 0; i < rig->pass.rows; i++) {
        RandomKey key = random_key(1, RANDOM_TEST, ranks_own());
        rig->inputs[i] = (int32_t)random_below(key, 2 * i, config->vocabulary);
        rig->targets[i] = (int32_t)random_below(key, 2 * i + 1, config->vocabulary);
    }
}

static void rig_free(Rig *rig)
{
    shards_free(&rig->shards);
    free(rig->pieces);
    free(rig->gradients.h);
    pass_free(&rig->pass);
    model_free(&rig->model);
    arena_free(&rig->arena);
}

static void compute(Rig *rig)
{
    real *base = shards_begin(&rig->shards, rig->shards.first);
    params_bind(&rig->gradients, &rig->model.config, base);
    pass_gradients(&rig->pass, &rig->gradients, rig->inputs, rig->targets,
                   random_key(1, RANDOM_DROPOUT, rig->step));
}

static void move_weights(Rig *rig, UpdateSlice slice)
{
    size_t pieces = rig->pieces[ranks_count()], tokens = rig->pass.rows * ranks_count();
    update_square_sums(&rig->model, update.optimizer, rig->gradient, slice, rig->square_sums);
    if (slice.end - slice.first < pieces)
        ranks_collect(rig->square_sums, sizeof *rig->square_sums, rig->pieces);
    double norm = update_gradient_norm(rig->square_sums, pieces, tokens);
    update_apply(&rig->model, rig->m, rig->v, rig->gradient, &update, slice, ++rig->step, norm,
                 tokens, NULL);
}

/* Adds to the times of the parts. */
static void shared_step(Rig *rig, double times[PARTS])
{
    size_t own = ranks_own();
    double at[PARTS + 1] = {clock_seconds()};
    compute(rig);
    at[IDLE] = clock_seconds();
    ranks_most(0);
    at[EXCHANGE] = clock_seconds();
    rig->gradient = shards_sum(&rig->shards);
    at[UPDATE] = clock_seconds();
    move_weights(rig, (UpdateSlice){rig->pieces[own], rig->pieces[own + 1]});
    at[COLLECT] = clock_seconds();
    ranks_collect(rig->model.base, sizeof *rig->model.base, rig->shards.bounds);
    at[PARTS] = clock_seconds();
    for (size_t part = 0; part < PARTS; part++)
        times[part] += at[part + 1] - at[part];
}

/* All shards on the first rank, while the others wait. */
static double lonely_step(Rig *rig)
{
    double start = clock_seconds();
    for (size_t shard = 0; shard < ranks_count(); shard++)
        compute(rig);
    rig->gradient = rig->shards.memory[0];
    move_weights(rig, (UpdateSlice){0, rig->pieces[ranks_count()]});
    return clock_seconds() - start;
}

/* Seconds of a step on one rank, and of MPI's own sum of a gradient. */
static double time_alone(Rig *rig, size_t repeats)
{
    double total = 0;
    for (size_t i = 0; i < repeats && ranks_first(); i++)
        total += lonely_step(rig);
    ranks_sleep();
    return total / (double)repeats;
}

static double time_anyhow(Rig *rig, size_t repeats)
{
    ranks_most(0);
    double start = clock_seconds();
    for (size_t i = 0; i < repeats; i++)
        ranks_sum_anyhow(rig->shards.memory[0], rig->shards.reals);
    return (clock_seconds() - start) / (double)repeats;
}

/* Milliseconds of a step, and their share of it. */
static void print_part(double seconds, double step)
{
    printf(" %9.2f %4.1f %%", 1e3 * seconds, 100 * seconds / step);
}

static void print_ranks(const double *times, double steps, double step)
{
    printf("%6s %16s %16s %16s %16s\n", "rank", "compute ms", "idle ms", "exchange ms",
           "update ms");
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        const double *of = times + rank * PARTS;
        printf("%6zu", rank);
        print_part(of[COMPUTE] / steps, step);
        print_part(of[IDLE] / steps, step);
        print_part((of[EXCHANGE] + of[COLLECT]) / steps, step);
        print_part(of[UPDATE] / steps, step);
        printf("\n");
    }
}

static void print_ranks_json(const double *times, double steps)
{
    static const char *const names[PARTS] = {"compute", "idle", "exchange", "update",
                                             "collect"};
    for (size_t rank = 0; rank < ranks_count(); rank++)
        for (size_t part = 0; part < PARTS; part++)
            printf("%s\"%s\": %.6g%s",
                   part   ? ", "
                   : rank ? ", {"
                          : "{",
                   names[part], times[rank * PARTS + part] / steps,
                   part + 1 < PARTS ? "" : "}");
}

void bench_scale(const BenchOptions *options)
{
    size_t ranks = ranks_count(), repeats = options->repeats;
    if (options->batch < ranks || options->batch % ranks != 0)
        die_usage("--batch %zu: %zu ranks cannot share this many sequences evenly",
                  options->batch, ranks);
    Rig rig;
    rig_make(&rig, options);
    double *times = memory_take(ranks * PARTS, sizeof *times, "the benchmark");
    double ignored[PARTS] = {0}, *own = times + ranks_own() * PARTS, step = 0;
    shared_step(&rig, ignored);
    for (size_t i = 0; i < repeats; i++)
        shared_step(&rig, own);
    ranks_collect_shares(times, PARTS * sizeof *times, ranks);
    double anyhow = time_anyhow(&rig, repeats), alone = time_alone(&rig, repeats);
    for (size_t part = 0; part < PARTS; part++)
        step += own[part] / (double)repeats;
    double ordered = (own[EXCHANGE] + own[COLLECT]) / (double)repeats;
    double megabytes = 2e-6 * sizeof(real) * (double)rig.shards.reals * (double)(ranks - 1) /
                       (double)ranks;
    double tokens = (double)(options->batch * options->model.context);
    if (ranks_first() && options->json) {
        printf("{\"ranks\": %zu, \"step_seconds\": %.6g, \"alone_seconds\": %.6g, "
               "\"speedup\": %.6g, \"exchange_seconds\": %.6g, \"allreduce_seconds\": %.6g, "
               "\"megabytes_sent\": %.6g, \"per_rank\": [",
               ranks, step, alone, alone / step, ordered, anyhow, megabytes);
        print_ranks_json(times, (double)repeats);
        printf("]}\n");
    } else if (ranks_first()) {
        printf("%zu parameters, %zu x %zu tokens a step, %zu ranks\n",
               rig.model.table.parameters, options->batch, options->model.context, ranks);
        print_ranks(times, (double)repeats, step);
        printf("a step %.2f ms, %.0f tokens/s; one rank alone %.2f ms: %.2f times as fast, "
               "%.0f %% of %zu\n",
               1e3 * step, tokens / step, 1e3 * alone, alone / step,
               100 * alone / step / (double)ranks, ranks);
        printf("each rank sends %.1f MB a step; in our order %.2f ms, as MPI sums %.2f ms\n",
               megabytes, 1e3 * ordered, 1e3 * anyhow);
    }
    free(times);
    rig_free(&rig);
}
