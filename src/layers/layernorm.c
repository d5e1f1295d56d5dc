#include "src/layers/layernorm.h"
#include "src/layers/activation.h"
#include "src/math/team.h"

#define TILE_COLUMNS ((size_t)32)

/* --- of rows --- */

typedef struct RowJob {
    real *y, *dx;                /* (rows, width) */
    real *save_mean, *save_rstd; /* (rows) */
    real *dgain, *dbias;         /* (width) */
    const real *x, *dy;          /* (rows, width) */
    const real *mean, *rstd;     /* (rows) */
    const real *gain, *bias;     /* (width) */
    real epsilon;
    bool add;
    size_t rows, width;
} RowJob;

static real mean_square(const real *x, real mean, size_t width)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < width; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (real)width;
}

static void row_forward(const void *context, size_t row)
{
    const RowJob *job = context;
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
    RowJob job = {.y = y,
                  .save_mean = mean,
                  .save_rstd = rstd,
                  .x = x,
                  .gain = gain,
                  .bias = bias,
                  .epsilon = epsilon,
                  .width = width};
    team_run_rows(rows, TEAM_ROWS, row_forward, &job);
}

/* 0 for RMSNorm. */
static real mean_of(const RowJob *job, size_t row)
{
    return job->mean ? job->mean[row] : 0;
}

/* With n = (x - mean) rstd and g = dy gain:  dx = rstd (g - mean(g) - n mean(g n)), without
 * mean(g) for RMSNorm. */
static void row_backward(const void *context, size_t row)
{
    const RowJob *job = context;
    size_t width = job->width;
    const real *x = job->x + row * width, *dy = job->dy + row * width, *gain = job->gain;
    real *dx = job->dx + row * width;
    real mean = mean_of(job, row), rstd = job->rstd[row];
    real sum = 0, product = 0;
    const bool add = job->add;
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
        dx[i] = add ? dx[i] + gradient : gradient;
    }
}

/* A tile owns a group of columns of dgain and dbias and sums all rows in order. */
static void parameters_backward(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const RowJob *job = context;
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

void layernorm_backward(real *dx, bool add, real *dgain, real *dbias, const real *dy,
                        const real *x, const real *mean, const real *rstd, const real *gain,
                        size_t rows, size_t width)
{
    RowJob job = {.dx = dx,
                  .add = add,
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
    team_run(team_tiles(width, TILE_COLUMNS), parameters_backward, &job);
    team_run_rows(rows, TEAM_ROWS, row_backward, &job);
}

/* --- of each head --- */

typedef struct HeadJob {
    real *y, *dx;       /* (rows, heads * width) */
    real *dgain, *dz;   /* as gain, as z */
    real *save_r;       /* (rows, heads) */
    const real *x, *dy; /* (rows, heads * width) */
    const real *gain;   /* (heads * width), or (heads) of QK-norm */
    const real *z;      /* (rows, heads * width) */
    const real *r;      /* (rows, heads) */
    GateForm form;
    size_t rows, heads, width, stride;
} HeadJob;

/* r = 1 / sqrt(mean of x^2 + epsilon) */
static real inverse_rms(const real *x, size_t width)
{
    return 1 / (real)sqrt((double)(vector_dot(x, x, width) / (real)width + HEAD_EPSILON));
}

/* n = x r gain */
static void norm_forward(real *restrict y, const real *restrict x, const real *restrict gain,
                         size_t width)
{
    real r = inverse_rms(x, width);
    for (size_t i = 0; i < width; i++)
        y[i] = x[i] * r * gain[i];
}

static void headnorm_row(const void *context, size_t row)
{
    const HeadJob *job = context;
    size_t width = job->width, all = job->heads * width;
    const real *x = job->x + row * all, *normed = job->gain ? job->y + row * all : x;
    real *y = job->y + row * all;
    for (size_t at = 0; job->gain && at < all; at += width)
        norm_forward(y + at, x + at, job->gain + at, width);
    if (!job->z)
        return;
    const real *z = job->z + row * all;
    if (job->form == GATE_SILU) {
#pragma omp simd
        for (size_t i = 0; i < all; i++)
            y[i] = normed[i] * silu(z[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < all; i++)
            y[i] = normed[i] * vector_sigmoid(z[i]);
    }
}

void headnorm_forward(real *y, const real *x, const real *gain, const real *z, GateForm form,
                      size_t rows, size_t heads, size_t width)
{
    HeadJob job = {
        .y = y, .x = x, .gain = gain, .z = z, .form = form, .heads = heads, .width = width};
    team_run_rows(rows, TEAM_ROWS, headnorm_row, &job);
}

/* y = n f(z):  dn = dy f(z), and dz = dy n f'(z); a later step multiplies by n. */
static void gate_backward(real *dn, real *dz, const real *dy, const real *z, GateForm form,
                          size_t width)
{
    if (form == GATE_SIGMOID) {
#pragma omp simd
        for (size_t i = 0; i < width; i++) {
            real gradient = dy[i], gate = vector_sigmoid(z[i]);
            dn[i] = gradient * gate;
            dz[i] = gradient * gate * (1 - gate);
        }
        return;
    }
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        real gradient = dy[i], gate = z[i];
        dn[i] = gradient * silu(gate);
        dz[i] = gradient * silu_slope(gate);
    }
}

/* With g = dn gain:  dx = r (g - x r^2 mean(g x)),  dgain += dn x r.  dx holds dn. */
static void norm_backward(real *restrict dx, real *restrict dgain, const real *restrict x,
                          const real *restrict gain, real r, size_t width)
{
    real product = 0;
#pragma omp simd reduction(+ : product)
    for (size_t i = 0; i < width; i++) {
        dgain[i] += dx[i] * x[i] * r;
        dx[i] *= gain[i];
        product += dx[i] * x[i];
    }
    real share = r * r * product / (real)width;
    for (size_t i = 0; i < width; i++)
        dx[i] = r * (dx[i] - x[i] * share);
}

static void headnorm_row_backward(const HeadJob *job, size_t row, size_t head)
{
    size_t width = job->width, column = head * width, at = (row * job->heads + head) * width;
    const real *x = job->x + at, *gain = job->gain ? job->gain + column : NULL;
    real *dx = job->dx + at, *dz = job->z ? job->dz + at : NULL;
    real r = gain ? inverse_rms(x, width) : 1;
    if (dz)
        gate_backward(dx, dz, job->dy + at, job->z + at, job->form, width);
    else if (job->dx != job->dy)
        memcpy(dx, job->dy + at, width * sizeof *dx);
    for (size_t i = 0; dz && i < width; i++)
        dz[i] *= gain ? x[i] * r * gain[i] : x[i];
    if (gain)
        norm_backward(dx, job->dgain + column, x, gain, r, width);
}

/* Heads are the rows of work, so dgain is summed over the batch in a fixed order. */
static void headnorm_head_backward(const void *context, size_t head)
{
    const HeadJob *job = context;
    for (size_t row = 0; row < job->rows; row++)
        headnorm_row_backward(job, row, head);
}

void headnorm_backward(real *dx, real *dgain, real *dz, const real *dy, const real *x,
                       const real *gain, const real *z, GateForm form, size_t rows,
                       size_t heads, size_t width)
{
    HeadJob job = {.dx = dx,
                   .form = form,
                   .dgain = dgain,
                   .dz = dz,
                   .x = x,
                   .gain = gain,
                   .z = z,
                   .dy = dy,
                   .rows = rows,
                   .heads = heads,
                   .width = width};
    team_run_rows(heads, 1, headnorm_head_backward, &job);
}

/* --- of queries and keys, in place --- */

static void qknorm_row(const void *context, size_t row)
{
    const HeadJob *job = context;
    for (size_t head = 0; head < job->heads; head++) {
        real *x = job->y + row * job->stride + head * job->width;
        real r = inverse_rms(x, job->width), factor = r * job->gain[head];
        job->save_r[row * job->heads + head] = r;
        for (size_t i = 0; i < job->width; i++)
            x[i] *= factor;
    }
}

void qknorm_forward(real *x, real *r, const real *gain, size_t rows, size_t heads, size_t width,
                    size_t stride)
{
    HeadJob job = {
        .y = x, .save_r = r, .gain = gain, .heads = heads, .width = width, .stride = stride};
    team_run_rows(rows, TEAM_ROWS, qknorm_row, &job);
}

/* With n = x r = y / gain:  dgain += n . dy,  dx = r gain (dy - n mean(n dy)). With a
 * gain of 0, n cannot be recovered, and both gradients are 0. Returns the term of dgain. */
static real qknorm_row_backward(const HeadJob *job, size_t row, size_t head)
{
    size_t at = row * job->stride + head * job->width;
    const real *y = job->x + at;
    real *dx = job->dx + at, gain = job->gain[head];
    real inverse = gain == 0 ? 0 : 1 / gain;
    real product = vector_dot(y, dx, job->width) * inverse;
    real factor = job->r[row * job->heads + head] * gain;
    real share = product / (real)job->width * inverse;
    for (size_t i = 0; i < job->width; i++)
        dx[i] = factor * (dx[i] - share * y[i]);
    return product;
}

static void qknorm_head_backward(const void *context, size_t head)
{
    const HeadJob *job = context;
    real sum = 0;
    for (size_t row = 0; row < job->rows; row++)
        sum += qknorm_row_backward(job, row, head);
    job->dgain[head] += sum;
}

void qknorm_backward(real *dx, real *dgain, const real *y, const real *r, const real *gain,
                     size_t rows, size_t heads, size_t width, size_t stride)
{
    HeadJob job = {.r = r,
                   .dx = dx,
                   .dgain = dgain,
                   .x = y,
                   .gain = gain,
                   .rows = rows,
                   .heads = heads,
                   .width = width,
                   .stride = stride};
    team_run_rows(heads, 1, qknorm_head_backward, &job);
}
