#include "src/layers/headgate.h"
#include "src/layers/rows.h"
#include "src/math/vector.h"

typedef struct Job {
    real *y, *factors, *dx, *du, *dw;
    const real *x, *dy, *u, *w, *dg;
    size_t heads, width, all, channels, rows;
} Job;

size_t headgate_channels(size_t all)
{
    return all < HEADGATE_CHANNELS ? all : HEADGATE_CHANNELS;
}

static Job job_of(HeadgateSizes sizes)
{
    size_t all = sizes.heads * sizes.width;
    return (Job){.heads = sizes.heads,
                 .width = sizes.width,
                 .all = all,
                 .channels = headgate_channels(all),
                 .rows = sizes.rows};
}

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    real *factors = job->factors + row * job->heads;
    vector_zero(factors, job->heads);
    for (size_t c = 0; c < job->channels; c++)
        vector_add_scaled(factors, job->w + c * job->heads, job->u[row * job->all + c],
                          job->heads);
    for (size_t h = 0; h < job->heads; h++)
        factors[h] = 2 * vector_sigmoid(factors[h]);
    for (size_t h = 0, at = row * job->all; h < job->heads; h++, at += job->width)
        for (size_t i = at; i < at + job->width; i++)
            job->y[i] = factors[h] * job->x[i];
}

void headgate_forward(real *y, real *factors, const real *x, const real *u, const real *w,
                      HeadgateSizes sizes)
{
    Job job = job_of(sizes);
    job.y = y, job.factors = factors, job.x = x, job.u = u, job.w = w;
    rows_run(sizes.rows, ROWS_TILE, forward_row, &job);
}

/* With f = 2 sigmoid(g):  df/dg = f (1 - f / 2),  and dy . x f is dy . y. */
static void backward_row(const void *context, size_t row)
{
    const Job *job = context;
    real *factors = job->factors + row * job->heads, *dx = job->dx + row * job->all;
    const real *dy = job->dy + row * job->all, *y = job->x + row * job->all;
    for (size_t h = 0; h < job->heads; h++) {
        size_t at = h * job->width;
        real factor = factors[h];
        factors[h] = vector_dot(dy + at, y + at, job->width) * (1 - factor / 2);
        for (size_t i = at; i < at + job->width; i++)
            dx[i] = factor * dy[i];
    }
}

void headgate_backward(real *dx, real *factors, const real *dy, const real *y,
                       HeadgateSizes sizes)
{
    Job job = job_of(sizes);
    job.dx = dx, job.factors = factors, job.dy = dy, job.x = y;
    rows_run(sizes.rows, ROWS_TILE, backward_row, &job);
}

static void input_row(const void *context, size_t row)
{
    const Job *job = context;
    for (size_t c = 0; c < job->channels; c++)
        job->du[row * job->all + c] += vector_dot(job->dg + row * job->heads,
                                                  job->w + c * job->heads, job->heads);
}

/* One row of dw, whose sum over the batch has a fixed order. */
static void weight_row(const void *context, size_t c)
{
    const Job *job = context;
    for (size_t row = 0; row < job->rows; row++)
        vector_add_scaled(job->dw + c * job->heads, job->dg + row * job->heads,
                          job->u[row * job->all + c], job->heads);
}

void headgate_backward_input(real *du, real *dw, const real *dg, const real *u, const real *w,
                             HeadgateSizes sizes)
{
    Job job = job_of(sizes);
    job.du = du, job.dw = dw, job.dg = dg, job.u = u, job.w = w;
    rows_run(sizes.rows, ROWS_TILE, input_row, &job);
    rows_run(job.channels, 1, weight_row, &job);
}
