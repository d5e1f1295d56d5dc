/* bench train: tokens per second of training steps, and the time of their parts. */
#include "eval/bench/bench.h"
#include "models/pass.h"
#include "models/update.h"
#include "src/phase.h"
#include "src/text.h"
#include "src/memory.h"
#include "src/vector.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Rig {
    Model model;
    Pass pass;
    Arena arena;
    Params gradients;
    real *gradient_base, *m, *v, *scratch;
    size_t optimizer;
    double *square_sums;
    int32_t *inputs, *targets;
    uint64_t step;
} Rig;

static void lay_out(Rig *rig)
{
    size_t total = rig->model.table.total;
    model_layout(&rig->model, &rig->arena);
    rig->gradient_base = arena_reals(&rig->arena, total);
    rig->m = arena_reals(&rig->arena, total);
    rig->v = arena_reals(&rig->arena, total);
    pass_layout(&rig->pass, &rig->arena);
    rig->inputs = arena_bytes(&rig->arena, rig->pass.rows, sizeof *rig->inputs);
    rig->targets = arena_bytes(&rig->arena, rig->pass.rows, sizeof *rig->targets);
    rig->square_sums = arena_bytes(&rig->arena, update_pieces(&rig->model, rig->optimizer),
                                   sizeof *rig->square_sums);
    rig->scratch = arena_reals(&rig->arena, update_scratch_reals(&rig->model, rig->optimizer));
}

/* A model and a batch of random tokens. */
static void rig_make(Rig *rig, const BenchOptions *options)
{
    const ModelConfig *config = &options->model;
    *rig = (Rig){.optimizer = options->optimizer};
    model_make(&rig->model, config);
    pass_make(&rig->pass, &rig->model, options->batch, config->context,
              options->recompute ? PASS_RECOMPUTE : PASS_TRAIN);
    rig->gradients.h = memory_take(config->layers, sizeof *rig->gradients.h, "the layers");
    lay_out(rig);
    arena_allocate(&rig->arena, "the benchmark");
    lay_out(rig);
    params_bind(&rig->gradients, config, rig->gradient_base);
    params_initialise(&rig->model.table, &rig->model.config, rig->model.base, 1);
    pass_prepare(&rig->pass);
    RandomKey key = random_key(1, RANDOM_TEST, 0);
    for (size_t i = 0; i < rig->pass.rows; i++) {
        rig->inputs[i] = (int32_t)random_below(key, 2 * i, config->vocabulary);
        rig->targets[i] = (int32_t)random_below(key, 2 * i + 1, config->vocabulary);
    }
}

static void rig_free(Rig *rig)
{
    free(rig->gradients.h);
    pass_free(&rig->pass);
    model_free(&rig->model);
    arena_free(&rig->arena);
}

static void train_step(void *context)
{
    Rig *rig = context;
    const Update update = {.adam = {0.9, 0.95, 1e-8},
                           .optimizer = rig->optimizer,
                           .momentum = 0.95,
                           .learning_rate = 1e-3,
                           .weight_decay = 0.1,
                           .clip = 1};
    phase_enter(PHASE_OPTIMIZER);
    vector_zero(rig->gradient_base, rig->model.table.total);
    phase_enter(PHASE_REST);
    pass_gradients(&rig->pass, &rig->gradients, rig->inputs, rig->targets,
                   random_key(1, RANDOM_DROPOUT, rig->step));
    UpdateSlice whole = update_whole(&rig->model, update.optimizer);
    update_square_sums(&rig->model, update.optimizer, rig->gradient_base, whole,
                       rig->square_sums);
    double norm = update_gradient_norm(rig->square_sums, whole.end, rig->pass.rows);
    update_apply(&rig->model, rig->m, rig->v, rig->gradient_base, &update, whole, ++rig->step,
                 norm, rig->pass.rows, rig->scratch);
}

static void evaluate(void *context)
{
    Rig *rig = context;
    pass_loss(&rig->pass, rig->inputs, rig->targets);
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

static void print_phases(const BenchOptions *options, double total)
{
    for (size_t i = 0; i < PHASE_COUNT; i++) {
        double seconds = phase_seconds(i);
        if (options->json)
            printf("%s\"%s\": %.6g", i ? ", " : "", phase_name(i), seconds / total);
        else
            printf("  %-12s %5.1f %%\n", phase_name(i), 100 * seconds / total);
    }
}

void bench_train(const BenchOptions *options)
{
    Rig rig;
    rig_make(&rig, options);
    char *attention = model_attention(&rig.model);
    train_step(&rig); /* touches all memory before peak memory is read */
    double peak = memory_peak_megabytes();
    double roof = bench_roof(5);
    double tokens = (double)rig.pass.rows;
    double evaluated = tokens / bench_time(evaluate, &rig, options->repeats).median;
    phase_reset();
    double start = clock_seconds();
    Timing timing = bench_time(train_step, &rig, options->repeats);
    phase_enter(PHASE_REST);
    double total = clock_seconds() - start;
    double speed = tokens / timing.median;
    double utilisation = speed * flop_per_token(&options->model) / roof;
    if (options->json) {
        printf("{\"tokens_per_second\": %.6g, \"utilisation\": %.6g, \"roof_gflops\": %.6g, "
               "\"evaluation_tokens_per_second\": %.6g, "
               "\"peak_rss_mb\": %.6g, \"attn\": \"%s\", \"phases\": {",
               speed, utilisation, roof / 1e9, evaluated, peak, attention);
        print_phases(options, total);
        printf("}}\n");
    } else {
        printf("%s, %zu parameters, %zu x %zu tokens a step, %zu steps\n", attention,
               rig.model.table.parameters, options->batch, options->model.context,
               options->repeats);
        printf("%.0f tokens/s (steps of %.0f to %.0f tokens/s), %.1f MFLOP a token\n", speed,
               tokens / timing.high, tokens / timing.low,
               flop_per_token(&options->model) / 1e6);
        printf("%.1f %% of the roof of %.0f GFLOP/s, peak memory %.0f MB\n", 100 * utilisation,
               roof / 1e9, peak);
        printf("evaluation: %.0f tokens/s, %.2f times the rate of training\n", evaluated,
               evaluated / speed);
        print_phases(options, total);
    }
    free(attention);
    rig_free(&rig);
}
