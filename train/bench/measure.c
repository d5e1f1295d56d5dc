/* Shared by all benchmarks: timing, matrix products, the peak, lists. */
#include "train/bench/bench.h"
#include "src/base/containers.h"
#include "src/math/gemm.h"
#include "src/base/phase.h"
#include "src/math/team.h"
#include "src/base/text.h"

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
    Timing timing = {(times[(repeats - 1) / 2] + times[repeats / 2]) / 2, times[0],
                     times[repeats - 1]};
    free(times);
    return timing;
}

typedef struct Job {
    Product product;
    real *a, *b, *c, *workspace;
} Job;

static void lay_out(Job *job, Arena *arena)
{
    Product p = job->product;
    size_t workspace = gemm_workspace_reals(p.m, p.n, p.k, p.b_turned);
    job->a = arena_reals(arena, p.m * p.k);
    job->b = arena_reals(arena, p.k * p.n);
    job->c = arena_reals(arena, p.m * p.n);
    job->workspace = arena_reals(arena, workspace);
    gemm_set_workspace(job->workspace, workspace);
}

static void multiply(void *context)
{
    const Job *job = context;
    Product p = job->product;
    gemm_team(p.m, p.n, p.k, p.a_turned ? transposed(job->a, p.m) : plain(job->a, p.k),
              p.b_turned ? transposed(job->b, p.k) : plain(job->b, p.n), GEMM_SET, job->c, p.n,
              (GemmExtra){0});
}

double bench_product(Product p, size_t repeats)
{
    Job job = {.product = p};
    Arena arena = {0};
    lay_out(&job, &arena);
    arena_allocate(&arena, "the benchmark");
    lay_out(&job, &arena);
    for (size_t i = 0; i < p.m * p.k; i++)
        job.a[i] = (real)(i % 7) - 3;
    for (size_t i = 0; i < p.k * p.n; i++)
        job.b[i] = (real)(i % 5) - 2;
    Timing timing = bench_time(multiply, &job, repeats);
    gemm_set_workspace(NULL, 0);
    arena_free(&arena);
    return 2 * (double)p.m * (double)p.n * (double)p.k / timing.median;
}

/* Some ten milliseconds for each thread. */
static void spin(void *job, size_t tile, size_t worker)
{
    enum { ROUNDS = 1 << 21 };
    double *flop = job;
    (void)worker;
    flop[tile] = gemm_spin(ROUNDS);
}

static void spin_on_all(void *flop)
{
    team_run(team_size(), spin, flop);
}

double bench_peak(size_t repeats)
{
    double *flop = memory_take(team_size(), sizeof *flop, "the benchmark");
    Timing timing = bench_time(spin_on_all, flop, repeats);
    double all = 0;
    for (size_t thread = 0; thread < team_size(); thread++)
        all += flop[thread];
    free(flop);
    return all / timing.low;
}

size_t *bench_list(const char *text, const char *option)
{
    const size_t most = 100000000;
    size_t *list = NULL, number;
    char *copy = memory_copy_text(text), *rest = copy;
    for (char *word; (word = strsep(&rest, ","));) {
        if (!text_to_size(word, &number) || number == 0 || number > most)
            die_usage("--%s: '%s' is not a number from 1 to %zu", option, word, most);
        arrput(list, number);
    }
    free(copy);
    return list;
}
