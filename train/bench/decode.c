/* bench decode: tokens per second at given positions, compared with the rate at which the
 * machine can read what a step needs: all weights, and the decoding state of that position. */
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

/* Memory that a step reads. */
typedef struct Reading {
    const real *data;
    size_t count;
    real *sums; /* one per tile */
} Reading;

#define READ_TILE ((size_t)16384)

static void read_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Reading *reading = context;
    reading->sums[tile] = vector_sum(reading->data + tile * READ_TILE,
                                     team_extent(reading->count, READ_TILE, tile));
}

/* So many times that waking the team does not matter. */
enum { READINGS = 20 };

static void read_all(void *context)
{
    for (int i = 0; i < READINGS; i++)
        team_run(team_tiles(((Reading *)context)->count, READ_TILE), read_tile, context);
}

/* Seconds in which the team can read this memory. */
static double reading_seconds(const real *data, size_t count, size_t repeats)
{
    Reading reading = {.data = data, .count = count};
    reading.sums = memory_new(team_tiles(count, READ_TILE), sizeof(real), "the benchmark");
    Timing timing = bench_time(read_all, &reading, repeats);
    free(reading.sums);
    return timing.median / READINGS;
}

static void measure(const BenchOptions *options, Model *model, size_t position,
                    const char *attention, BenchTable *table)
{
    const size_t batch = options->batch, repeats = options->repeats;
    Job job = {.steps = 20, .position = position};
    pass_make_decoder(&job.pass, model, batch, position + 1);
    pass_allocate(&job.pass, "the benchmark");
    pass_restart(&job.pass);
    job.logits = memory_new(batch * model->config.vocabulary, sizeof(real), "the logits");
    job.tokens = memory_new(batch, sizeof *job.tokens, "the tokens");
    double reading = reading_seconds(model->base, model->table.total, repeats);
    if (job.pass.states_reals > 0)
        reading += reading_seconds(job.pass.states, job.pass.states_reals, repeats);
    double step = bench_time(decode, &job, repeats).median / (double)job.steps;
    bench_row(table, json_string(attention), json_count(position),
              json_figure((double)batch / step),
              json_count(job.pass.states_reals * sizeof(real)), json_figure(reading / step));
    free(job.logits);
    free(job.tokens);
    pass_free(&job.pass);
}

void bench_decode(const BenchOptions *options)
{
    size_t *positions = bench_list(options->positions, "positions"), last = 0;
    for (size_t i = 0; i < arrlenu(positions); i++)
        last = positions[i] > last ? positions[i] : last;
    ModelConfig config = options->model;
    config.context = last + 1;
    Model model;
    model_make(&model, &config);
    model_allocate(&model);
    params_initialise(&model.table, &model.config, model.base, 1);
    char *attention = config_attention(&model.config);
    size_t weights = model.table.total * sizeof(real);
    static const BenchColumn columns[] = {
        {"kind", "kind", 1, 0},
        {"position", "position", 1, 0},
        {"tokens_per_second", "tokens/s", 1, 0},
        {"state_bytes", "bytes of state", 1, 0},
        {"of_bandwidth", "% of memory bandwidth", 100, 1},
    };
    BenchTable table = BENCH_TABLE(columns);
    for (size_t i = 0; i < arrlenu(positions); i++)
        measure(options, &model, positions[i], attention, &table);
    if (bench_is_for_people(options))
        printf("batch %zu, weights of %.1f MB\n", options->batch, (double)weights / 1e6);
    bench_report(options, json_pack("{s:o}", "weights_bytes", json_count(weights)), &table);
    free(attention);
    model_free(&model);
    arrfree(positions);
}
