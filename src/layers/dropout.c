#include "src/layers/dropout.h"
#include "src/math/team.h"

typedef struct Job {
    real *y;              /* (rows, width) */
    const real *base, *x; /* (rows, width); base or NULL */
    Dropout dropout;
    size_t width;
} Job;

/* Elements that are contiguous, from `first` on. */
static void add_some(const Job *job, size_t first, size_t count)
{
    uint32_t threshold = dropout_threshold(job->dropout.rate), index = (uint32_t)first;
    real scale = 1 / (1 - job->dropout.rate);
    RandomKey key = job->dropout.key;
    const real *base = job->base ? job->base + first : NULL, *x = job->x + first;
    real *y = job->y + first;
    if (threshold == 0) {
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            y[i] = base ? base[i] + x[i] : x[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < count; i++) {
            real kept = x[i] * dropout_factor(key, index + (uint32_t)i, threshold, scale);
            y[i] = base ? base[i] + kept : kept;
        }
    }
}

static void add_row(const void *context, size_t row)
{
    const Job *job = context;
    add_some(job, row * job->width, job->width);
}

void dropout_add(real *y, const real *base, const real *x, Dropout dropout, size_t rows,
                 size_t width)
{
    const Job job = {y, base, x, dropout, width};
    team_run_rows(rows, TEAM_ROWS, add_row, &job);
}

static void add_to_tile(const GemmTile *tile, const void *context)
{
    const DropoutSum *sum = context;
    real *c = tile->c - tile->row * tile->c_stride - tile->column; /* all of C */
    const Job job = {c, sum->base, c, sum->dropout, sum->width};
    for (size_t row = tile->row; row < tile->row + tile->rows; row++)
        add_some(&job, row * sum->width + tile->column, tile->columns);
}

GemmFinish dropout_finish(const DropoutSum *sum)
{
    return sum ? (GemmFinish){add_to_tile, sum} : (GemmFinish){0};
}
