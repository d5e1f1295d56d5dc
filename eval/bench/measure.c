/* Shared by all benchmarks: timing, the peak, lists. */
#include "eval/bench/bench.h"
#include "src/containers.h"
#include "src/gemm.h"
#include "src/phase.h"
#include "src/random.h"
#include "src/team.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

Timing bench_time(void (*work)(void *context), void *context, size_t repeats)
{
    double *times = memory_take(repeats, sizeof *times, "the benchmark");
    work(context);
    for (size_t i = 0; i < repeats; i++) {
        double start = clock_seconds();
        work(context);
        times[i] = clock_seconds() - start;
    }
    qsort(times, repeats, sizeof *times, by_size);
    Timing timing = {times[repeats / 2], times[0], times[repeats - 1]};
    free(times);
    return timing;
}

typedef struct RoofJob {
    size_t m, n, k;
    real *a, *b, *c;
} RoofJob;

static void multiply(void *context)
{
    const RoofJob *job = context;
    gemm_team(job->m, job->n, job->k, plain(job->a, job->k), plain(job->b, job->n), GEMM_SET,
              job->c, job->n, NULL, NULL);
}

double bench_roof(size_t repeats)
{
    /* So large that only the kernel matters; of different depths. */
    static const size_t shapes[][3] = {
        {4096, 1024, 256}, {4096, 512, 512}, {2048, 2048, 256}, {2048, 1024, 1024}};
    enum { MOST = 4096 * 1024 };
    real *memory = memory_take(3 * (size_t)MOST, sizeof *memory, "the benchmark");
    for (size_t i = 0; i < 2 * (size_t)MOST; i++)
        memory[i] = (real)(i % 7) - 3;
    double best = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        RoofJob job = {shapes[s][0], shapes[s][1],  shapes[s][2],
                       memory,       memory + MOST, memory + 2 * (size_t)MOST};
        Timing timing = bench_time(multiply, &job, repeats);
        double flop = 2 * (double)job.m * (double)job.n * (double)job.k;
        if (flop / timing.median > best)
            best = flop / timing.median;
    }
    free(memory);
    return best;
}

size_t *bench_list(const char *text, const char *option)
{
    size_t *list = NULL, number;
    char *copy = memory_copy_text(text), *rest = copy;
    for (char *word; (word = strsep(&rest, ","));) {
        if (!text_to_size(word, &number) || number == 0)
            die_usage("--%s: '%s' is not a number above 0", option, word);
        arrput(list, number);
    }
    free(copy);
    return list;
}
