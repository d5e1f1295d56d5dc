/* bench decode: tokens per second, one at a time, at given positions, and the bytes of state
 * that decoding carries. */
#include "eval/bench.h"
#include "models/pass.h"
#include "src/containers.h"
#include "src/phase.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Job {
    Pass pass;
    real *logits;
    int32_t *tokens;
    size_t position, steps;
} Job;

/* Steps at one position over and over: what is in the state does not change what it costs. */
static void decode(void *context)
{
    Job *job = context;
    for (size_t i = 0; i < job->steps; i++) {
        job->pass.position = job->position;
        pass_step(&job->pass, job->logits, job->tokens);
    }
}

static void lay_out(Job *job, Model *model, Arena *arena)
{
    model_layout(model, arena);
    pass_layout(&job->pass, arena);
    job->logits = arena_reals(arena, job->pass.rows * model->config.vocabulary);
    job->tokens = arena_bytes(arena, job->pass.rows, sizeof *job->tokens);
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
    Arena arena = {0};
    model_make(&model, &config);
    pass_make_decoder(&job.pass, &model, options->batch, last + 1);
    lay_out(&job, &model, &arena);
    arena_allocate(&arena, "the benchmark");
    lay_out(&job, &model, &arena);
    params_initialise(&model.table, model.base, 1);
    pass_restart(&job.pass);
    size_t bytes = config.layers * job.pass.state_reals * sizeof(real);
    printf(options->json ? "{\"rows\": [" : "%s, %zu at a time, state for %zu positions\n",
           model.kind->name, options->batch, last + 1);
    for (size_t i = 0; i < arrlenu(positions); i++) {
        job.position = positions[i];
        Timing timing = bench_time(decode, &job, options->repeats);
        double speed = (double)(job.steps * options->batch) / timing.median;
        if (options->json)
            printf("%s{\"kind\": \"%s\", \"position\": %zu, \"tokens_per_second\": %.6g, "
                   "\"state_bytes\": %zu}",
                   i ? ", " : "", model.kind->name, positions[i], speed, bytes);
        else
            printf("  position %6zu  %9.0f tokens/s  %zu bytes of state\n", positions[i], speed,
                   bytes);
    }
    if (options->json)
        printf("]}\n");
    pass_free(&job.pass);
    model_free(&model);
    arena_free(&arena);
    arrfree(positions);
}
