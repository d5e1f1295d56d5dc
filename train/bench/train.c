/* bench train: tokens per second of training steps, and the time of their parts. */
#include "train/bench/rig.h"
#include "src/base/phase.h"
#include "src/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static void train_step(void *context)
{
    rig_step_alone(context);
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

void bench_train(const BenchOptions *options)
{
    Rig rig;
    rig_make(&rig, options);
    char *attention = model_attention(&rig.model);
    train_step(&rig); /* touches all memory before peak memory is read */
    double megabytes = memory_peak_megabytes();
    double peak = bench_peak(5);
    double tokens = (double)rig.pass.rows;
    double evaluated = tokens / bench_time(evaluate, &rig, options->repeats).median;
    phase_reset();
    double start = clock_seconds();
    Timing timing = bench_time(train_step, &rig, options->repeats);
    phase_enter(PHASE_REST);
    double total = clock_seconds() - start;
    double speed = tokens / timing.median, flop = flop_per_token(&options->model);
    json_t *phases = json_object();
    for (Phase phase = 0; phase < PHASE_COUNT; phase++)
        json_object_set_new(phases, phase_name(phase),
                            json_figure(phase_seconds(phase) / total));
    if (options->json) {
        json_print(stdout,
                   json_pack("{s:f, s:f, s:f, s:f, s:f, s:s, s:O}", "tokens_per_second", speed,
                             "utilisation", speed * flop / peak, "peak_gflops", peak / 1e9,
                             "evaluation_tokens_per_second", evaluated, "peak_rss_mb",
                             megabytes, "attn", attention, "phases", phases));
    } else {
        const char *phase;
        json_t *share;
        printf("%s, %zu parameters, %zu x %zu tokens a step, %zu steps\n", attention,
               rig.model.table.parameters, options->batch, options->model.context,
               options->repeats);
        printf("%.0f tokens/s (steps of %.0f to %.0f tokens/s), %.1f MFLOP a token\n", speed,
               tokens / timing.high, tokens / timing.low, flop / 1e6);
        printf("%.1f %% of the peak of %.0f GFLOP/s, peak memory %.0f MB\n",
               100 * speed * flop / peak, peak / 1e9, megabytes);
        printf("evaluation: %.0f tokens/s, %.2f times the rate of training\n", evaluated,
               evaluated / speed);
        json_object_foreach(phases, phase, share)
            printf("  %-12s %5.1f %%\n", phase, 100 * json_real_value(share));
    }
    json_decref(phases);
    free(attention);
    rig_free(&rig);
}
