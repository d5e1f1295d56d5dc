#include "src/layers/dropout.h"
#include "src/layers/rows.h"

#define TILE_ROWS ((size_t)64)

typedef struct Job {
    real *y;
    const real *base, *x;
    Dropout dropout;
    size_t width;
} Job;

static void add_row(const void *context, size_t row)
{
    const Job *job = context;
    uint32_t threshold = dropout_threshold(job->dropout.rate);
    uint32_t first = (uint32_t)(row * job->width);
    real scale = 1 / (1 - job->dropout.rate);
    RandomKey key = job->dropout.key;
    const real *base = job->base ? job->base + row * job->width : NULL;
    const real *x = job->x + row * job->width;
    real *y = job->y + row * job->width;
    if (threshold == 0) {
#pragma omp simd
        for (size_t i = 0; i < job->width; i++)
            y[i] = base ? base[i] + x[i] : x[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < job->width; i++) {
            real kept = x[i] * dropout_factor(key, first + (uint32_t)i, threshold, scale);
            y[i] = base ? base[i] + kept : kept;
        }
    }
}

void dropout_add(real *y, const real *base, const real *x, Dropout dropout, size_t rows,
                 size_t width)
{
    const Job job = {y, base, x, dropout, width};
    rows_run(rows, TILE_ROWS, add_row, &job);
}
