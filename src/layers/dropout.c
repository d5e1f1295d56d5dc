#include "src/layers/dropout.h"
#include "src/team.h"

#define TILE ((size_t)16384)

typedef struct Job {
    real *y;
    const real *base, *x;
    Dropout dropout;
    size_t count;
} Job;

static void add_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t first = tile * TILE, end = first + team_extent(job->count, TILE, tile);
    uint32_t threshold = dropout_threshold(job->dropout.rate);
    real scale = 1 / (1 - job->dropout.rate);
    RandomKey key = job->dropout.key;
    const real *base = job->base, *x = job->x;
    real *y = job->y;
    if (threshold == 0) {
#pragma omp simd
        for (size_t i = first; i < end; i++)
            y[i] = base ? base[i] + x[i] : x[i];
    } else {
#pragma omp simd
        for (size_t i = first; i < end; i++) {
            real kept = x[i] * dropout_factor(key, (uint32_t)i, threshold, scale);
            y[i] = base ? base[i] + kept : kept;
        }
    }
}

void dropout_add(real *y, const real *base, const real *x, Dropout dropout, size_t count)
{
    Job job = {y, base, x, dropout, count};
    team_run(team_tiles(count, TILE), add_tile, &job);
}
