/* bench gemm: the machine's peak, and the share of it that linnet's matrix products reach. */
#include "eval/bench/bench.h"
#include "src/gemm.h"
#include "src/memory.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Shape {
    const char *what;
    size_t m, n, k;
    bool a_turned, b_turned;
} Shape;

typedef struct Job {
    Shape shape;
    real *a, *b, *c;
} Job;

static void multiply(void *context)
{
    const Job *job = context;
    Shape s = job->shape;
    gemm_team(s.m, s.n, s.k, (Factor){job->a, s.a_turned ? s.m : s.k, s.a_turned},
              (Factor){job->b, s.b_turned ? s.k : s.n, s.b_turned}, GEMM_SET, job->c, s.n, NULL,
              NULL);
}

static Timing time_shape(Shape shape, size_t repeats)
{
    Job job = {shape, memory_take(shape.m * shape.k, sizeof(real), "the benchmark"),
               memory_take(shape.k * shape.n, sizeof(real), "the benchmark"),
               memory_take(shape.m * shape.n, sizeof(real), "the benchmark")};
    for (size_t i = 0; i < shape.m * shape.k; i++)
        job.a[i] = (real)(i % 7) - 3;
    for (size_t i = 0; i < shape.k * shape.n; i++)
        job.b[i] = (real)(i % 5) - 2;
    Timing timing = bench_time(multiply, &job, repeats);
    free(job.a);
    free(job.b);
    free(job.c);
    return timing;
}

void bench_gemm(const BenchOptions *options)
{
    const ModelConfig *config = &options->model;
    size_t rows = options->batch * config->context, width = config->dim, ffn = config->ffn;
    enum { SLICE = 640 };
    const Shape shapes[] = {
        {"qkv forward", rows, 3 * width, width, false, false},
        {"qkv input gradient", rows, width, 3 * width, false, true},
        {"qkv weight gradient", width, 3 * width, rows, true, false},
        {"ffn in forward", rows, ffn, width, false, false},
        {"ffn in input gradient", rows, width, ffn, false, true},
        {"ffn in weight gradient", width, ffn, rows, true, false},
        {"ffn out forward", rows, width, ffn, false, false},
        {"ffn out weight gradient", ffn, width, rows, true, false},
        {"logits of a slice", rows, SLICE, width, false, true},
    };
    double roof = bench_roof(options->repeats);
    printf(options->json ? "{\"roof_gflops\": %.6g, \"kernel\": \"%s\", \"rows\": ["
                         : "roof %.1f GFLOP/s, kernels %s\n",
           roof / 1e9, gemm_kernels());
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        Shape s = shapes[i];
        Timing timing = time_shape(s, options->repeats);
        double rate = 2 * (double)s.m * (double)s.n * (double)s.k / timing.median;
        if (options->json)
            printf("%s{\"what\": \"%s\", \"m\": %zu, \"n\": %zu, \"k\": %zu, \"gflops\": %.6g, "
                   "\"of_roof\": %.6g}",
                   i ? ", " : "", s.what, s.m, s.n, s.k, rate / 1e9, rate / roof);
        else
            printf("  %-24s %5zu x %5zu x %5zu  %6.1f GFLOP/s  %5.1f %% of the roof\n", s.what,
                   s.m, s.n, s.k, rate / 1e9, 100 * rate / roof);
    }
    if (options->json)
        printf("]}\n");
}
