/* bench decode: tokens per second at given positions, and the bytes of decoding state, compared
 * with the rate at which the machine can read all weights, which every step needs. */
#include "train/bench/bench.h"
#include "models/pass.h"
#include "src/base/containers.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Job {
    Pass pass;
    real *logits;
    int32_t *tokens;
    size_t position, steps;
} Job;

/* Repeats the step at one position: the content of the state does not change its cost. */
static void decode(void *context)
{
    Job *job = context;
    for (size_t i = 0; i < job->steps; i++) {
        job->pass.position = job->position;
        pass_step(&job->pass, job->logits, job->tokens);
    }
}

#define READ_TILE ((size_t)16384)

typedef struct ReadJob {
    const real *data;
    size_t count;
    real *sums; /* one per tile */
} ReadJob;

static void read_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    ReadJob *job = context;
    job->sums[tile] = vector_sum(job->data + tile * READ_TILE,
                                 team_extent(job->count, READ_TILE, tile));
}

/* So many that waking the team does not matter. */
enum { READINGS = 20 };

static void read_all(void *context)
{
    ReadJob *job = context;
    for (int i = 0; i < READINGS; i++)
        team_run(team_tiles(job->count, READ_TILE), read_tile, job);
}

/* How many times per second the team can read all weights. */
static double readings_per_second(const Model *model, size_t repeats)
{
    ReadJob job = {.data = model->base, .count = model->table.total};
    job.sums = memory_new(team_tiles(job.count, READ_TILE), sizeof(real), "the benchmark");
    Timing timing = bench_time(read_all, &job, repeats);
    free(job.sums);
    return READINGS / timing.median;
}

void bench_decode(const BenchOptions *options)
{
    size_t *positions = bench_list(options->positions, "positions"), last = 0;
    for (size_t i = 0; i < arrlenu(positions); i++)
        last = positions[i] > last ? positions[i] : last;
    ModelConfig config = options->model;
    config.context = last + 1;
    Model model;
    Job job = {.steps = 20};
    model_make(&model, &config);
    model_allocate(&model);
    params_initialise(&model.table, &model.config, model.base, 1);
    pass_make_decoder(&job.pass, &model, options->batch, last + 1);
    pass_allocate(&job.pass, "the benchmark");
    pass_restart(&job.pass);
    job.logits = memory_new(options->batch * config.vocabulary, sizeof(real), "the logits");
    job.tokens = memory_new(options->batch, sizeof *job.tokens, "the tokens");
    char *attention = config_attention(&model.config);
    size_t weights = model.table.total * sizeof(real);
    double readings = readings_per_second(&model, options->repeats);
    static const BenchColumn columns[] = {
        {"kind", "kind", 1, 0},
        {"position", "position", 1, 0},
        {"tokens_per_second", "tokens/s", 1, 0},
        {"state_bytes", "bytes of state", 1, 0},
        {"of_reading_the_weights", "% of weight bandwidth", 100, 1},
    };
    BenchTable table = BENCH_TABLE(columns);
    for (size_t i = 0; i < arrlenu(positions); i++) {
        job.position = positions[i];
        double steps = (double)job.steps / bench_time(decode, &job, options->repeats).median;
        bench_row(&table, json_string(attention), json_count(positions[i]),
                  json_figure(steps * (double)options->batch),
                  json_count(job.pass.states_reals * sizeof(real)),
                  json_figure(steps / readings));
    }
    if (bench_is_for_people(options))
        printf("batch %zu, state for %zu positions\nweights of %.1f MB, read %.0f times a "
               "second (%.1f GB/s)\n",
               options->batch, last + 1, (double)weights / 1e6, readings,
               (double)weights * readings / 1e9);
    bench_report(options,
                 json_pack("{s:o, s:f}", "weights_bytes", json_count(weights),
                           "weights_readings_per_second", readings),
                 &table);
    free(attention);
    free(job.logits);
    free(job.tokens);
    pass_free(&job.pass);
    model_free(&model);
    arrfree(positions);
}
