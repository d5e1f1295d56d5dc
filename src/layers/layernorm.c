#include "src/layers/layernorm.h"
#include "src/layers/rows.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#define TILE_COLUMNS ((size_t)32)

typedef struct Job {
    real *y, *save_mean, *save_rstd, *dx, *dgain, *dbias;
    const real *x, *mean, *rstd, *dy, *gain, *bias;
    real epsilon, keep;
    size_t rows, width;
} Job;

static real mean_square(const real *x, real mean, size_t width)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < width; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (real)width;
}

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    size_t width = job->width;
    const real *x = job->x + row * width;
    real *restrict y = job->y + row * width;
    real mean = job->save_mean ? vector_sum(x, width) / (real)width : 0; /* 0 for RMSNorm */
    real rstd = 1 / (real)sqrt(mean_square(x, mean, width) + job->epsilon);
    if (job->save_mean)
        job->save_mean[row] = mean;
    job->save_rstd[row] = rstd;
    for (size_t i = 0; job->bias && i < width; i++)
        y[i] = (x[i] - mean) * rstd * job->gain[i] + job->bias[i];
    for (size_t i = 0; !job->bias && i < width; i++)
        y[i] = (x[i] - mean) * rstd * job->gain[i];
}

void layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *gain,
                       const real *bias, real epsilon, size_t rows, size_t width)
{
    Job job = {.y = y,
               .save_mean = mean,
               .save_rstd = rstd,
               .x = x,
               .gain = gain,
               .bias = bias,
               .epsilon = epsilon,
               .width = width};
    rows_run(rows, ROWS_TILE, forward_row, &job);
}

/* 0 for RMSNorm. */
static real mean_of(const Job *job, size_t row)
{
    return job->mean ? job->mean[row] : 0;
}

/* With n = (x - mean) rstd and g = dy gain:  dx = rstd (g - mean(g) - n mean(g n)), without
 * mean(g) for RMSNorm. */
static void backward_row(const void *context, size_t row)
{
    const Job *job = context;
    size_t width = job->width;
    const real *x = job->x + row * width, *dy = job->dy + row * width, *gain = job->gain;
    real *dx = job->dx + row * width;
    real mean = mean_of(job, row), rstd = job->rstd[row];
    real keep = job->keep, sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (size_t i = 0; i < width; i++) {
        sum += dy[i] * gain[i];
        product += dy[i] * gain[i] * (x[i] - mean) * rstd;
    }
    sum = job->mean ? sum / (real)width : 0;
    product /= (real)width;
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        real gradient = rstd * (dy[i] * gain[i] - sum - (x[i] - mean) * rstd * product);
        dx[i] = keep == 0 ? gradient : keep * dx[i] + gradient;
    }
}

/* A tile owns a group of columns of dgain and dbias and sums all rows in order. */
static void backward_parameters_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t first = tile * TILE_COLUMNS, count = team_extent(job->width, TILE_COLUMNS, tile);
    real *restrict dgain = job->dgain + first;
    real *restrict dbias = job->dbias ? job->dbias + first : NULL;
    for (size_t row = 0; row < job->rows; row++) {
        const real *x = job->x + row * job->width + first;
        const real *dy = job->dy + row * job->width + first;
        real mean = mean_of(job, row), rstd = job->rstd[row];
        for (size_t i = 0; i < count; i++)
            dgain[i] += dy[i] * (x[i] - mean) * rstd;
        for (size_t i = 0; dbias && i < count; i++)
            dbias[i] += dy[i];
    }
}

void layernorm_backward(real *dx, real keep, real *dgain, real *dbias, const real *dy,
                        const real *x, const real *mean, const real *rstd, const real *gain,
                        size_t rows, size_t width)
{
    Job job = {.dx = dx,
               .keep = keep,
               .dgain = dgain,
               .dbias = dbias,
               .dy = dy,
               .x = x,
               .mean = mean,
               .rstd = rstd,
               .gain = gain,
               .rows = rows,
               .width = width};
    /* The parameters first, because dx may overwrite dy. */
    team_run(team_tiles(width, TILE_COLUMNS), backward_parameters_tile, &job);
    rows_run(rows, ROWS_TILE, backward_row, &job);
}
