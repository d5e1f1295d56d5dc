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
    real *y, *dx;           /* (rows, heads * width) */
    const real *x, *dy;     /* (rows, heads * width) */
    HeadnormParts parts, d; /* and their gradients */
    HeadnormSizes sizes;
} HeadJob;

/* r = 1 / sqrt(mean of x^2 + epsilon) */
static real inverse_rms(const real *x, size_t width)
{
    return 1 / (real)sqrt((double)(vector_dot(x, x, width) / (real)width + HEAD_EPSILON));
}

/* The mean of a head's numbers, 0 for RMSNorm, and r. */
typedef struct HeadMoments {
    real mean, r;
} HeadMoments;

static HeadMoments moments_of(const HeadJob *job, const real *x)
{
    const size_t width = job->sizes.width;
    if (!job->parts.bias)
        return (HeadMoments){0, inverse_rms(x, width)};
    real mean = vector_sum(x, width) / (real)width;
    real variance = mean_square(x, mean, width);
    return (HeadMoments){mean, 1 / (real)sqrt(variance + HEAD_EPSILON * (real)width)};
}

/* Writes n; without a gain, where it is x, only with a bonus. Returns the place of n. */
static const real *norm_forward(const HeadJob *job, size_t row)
{
    const size_t width = job->sizes.width, all = job->sizes.heads * width;
    const real *x = job->x + row * all, *gain = job->parts.gain, *bias = job->parts.bias;
    const real *bonus = job->parts.bonus ? job->parts.bonus + row * all : NULL;
    real *restrict y = job->y + row * all;
    if (!gain && !bonus)
        return x;
    for (size_t at = 0; gain && at < all; at += width) {
        const HeadMoments m = moments_of(job, x + at);
        for (size_t i = at; i < at + width; i++)
            y[i] = (x[i] - m.mean) * m.r * gain[i];
    }
    for (size_t i = 0; bias && i < all; i++)
        y[i] += bias[i];
    for (size_t i = 0; bonus && i < all; i++)
        y[i] = (gain ? y[i] : x[i]) + bonus[i];
    return y;
}

static void headnorm_row(const void *context, size_t row)
{
    const HeadJob *job = context;
    const size_t all = job->sizes.heads * job->sizes.width;
    const real *n = norm_forward(job, row);
    real *y = job->y + row * all;
    if (!job->parts.z)
        return;
    const real *z = job->parts.z + row * all;
    if (job->sizes.form == GATE_SILU) {
#pragma omp simd
        for (size_t i = 0; i < all; i++)
            y[i] = n[i] * silu(z[i]);
    } else if (job->sizes.form == GATE_SIGMOID) {
#pragma omp simd
        for (size_t i = 0; i < all; i++)
            y[i] = n[i] * vector_sigmoid(z[i]);
    } else {
#pragma omp simd
        for (size_t i = 0; i < all; i++)
            y[i] = n[i] * z[i];
    }
}

void headnorm_forward(real *y, const real *x, HeadnormParts parts, HeadnormSizes sizes)
{
    HeadJob job = {.y = y, .x = x, .parts = parts, .sizes = sizes};
    team_run_rows(sizes.rows, TEAM_ROWS, headnorm_row, &job);
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
        dn[i] = gradient * (form == GATE_SILU ? silu(gate) : gate);
        dz[i] = gradient * (form == GATE_SILU ? silu_slope(gate) : 1);
    }
}

/* With c = x - mean and g = dn gain:  dx = r (g - mean(g) - c r^2 mean(g c)), without mean(g)
 * for RMSNorm,  dgain += dn c r,  dbias += dn.  dx holds dn. */
static void norm_backward(real *restrict dx, real *restrict dgain, real *restrict dbias,
                          const real *restrict x, const real *restrict gain, HeadMoments m,
                          size_t width)
{
    real product = 0, sum = 0;
    for (size_t i = 0; dbias && i < width; i++)
        dbias[i] += dx[i];
#pragma omp simd reduction(+ : product, sum)
    for (size_t i = 0; i < width; i++) {
        real c = x[i] - m.mean;
        dgain[i] += dx[i] * c * m.r;
        dx[i] *= gain[i];
        product += dx[i] * c;
        sum += dx[i];
    }
    real share = m.r * m.r * product / (real)width, mean = dbias ? sum / (real)width : 0;
    for (size_t i = 0; i < width; i++)
        dx[i] = m.r * (dx[i] - mean - (x[i] - m.mean) * share);
}

static void headnorm_row_backward(const HeadJob *job, size_t row, size_t head)
{
    const HeadnormParts *parts = &job->parts, *d = &job->d;
    const size_t width = job->sizes.width, column = head * width;
    const size_t at = (row * job->sizes.heads + head) * width;
    const real *x = job->x + at, *gain = parts->gain ? parts->gain + column : NULL;
    const real *bias = parts->bias ? parts->bias + column : NULL;
    const real *bonus = parts->bonus ? parts->bonus + at : NULL;
    real *dx = job->dx + at, *dz = parts->z ? d->z + at : NULL;
    const HeadMoments m = gain ? moments_of(job, x) : (HeadMoments){0, 1};
    if (dz)
        gate_backward(dx, dz, job->dy + at, parts->z + at, job->sizes.form, width);
    else if (job->dx != job->dy)
        memcpy(dx, job->dy + at, width * sizeof *dx);
    for (size_t i = 0; dz && i < width; i++)
        dz[i] *= (gain ? (x[i] - m.mean) * m.r * gain[i] : x[i]) + (bias ? bias[i] : 0) +
                 (bonus ? bonus[i] : 0);
    if (bonus)
        memcpy(d->bonus + at, dx, width * sizeof *dx);
    if (gain)
        norm_backward(dx, d->gain + column, bias ? d->bias + column : NULL, x, gain, m, width);
}

/* Heads are the rows of work, so dgain is summed over the batch in a fixed order. */
static void headnorm_head_backward(const void *context, size_t head)
{
    const HeadJob *job = context;
    for (size_t row = 0; row < job->sizes.rows; row++)
        headnorm_row_backward(job, row, head);
}

void headnorm_backward(real *dx, HeadnormParts d, const real *dy, const real *x,
                       HeadnormParts parts, HeadnormSizes sizes)
{
    HeadJob job = {.dx = dx, .d = d, .dy = dy, .x = x, .parts = parts, .sizes = sizes};
    team_run_rows(sizes.heads, 1, headnorm_head_backward, &job);
}

/* --- of queries and keys, in place --- */

typedef struct QkJob {
    real *y, *dx;     /* (rows, heads * width), rows `stride` apart */
    real *dgain;      /* (heads) */
    real *save_r;     /* (rows, heads) */
    const real *x;    /* as y */
    const real *gain; /* (heads) */
    const real *r;    /* (rows, heads) */
    size_t rows, heads, width, stride;
} QkJob;

static void qknorm_row(const void *context, size_t row)
{
    const QkJob *job = context;
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
    QkJob job = {
        .y = x, .save_r = r, .gain = gain, .heads = heads, .width = width, .stride = stride};
    team_run_rows(rows, TEAM_ROWS, qknorm_row, &job);
}

/* With n = x r = y / gain:  dgain += n . dy,  dx = r gain (dy - n mean(n dy)). With a
 * gain of 0, n cannot be recovered, and both gradients are 0. Returns the term of dgain. */
static real qknorm_row_backward(const QkJob *job, size_t row, size_t head)
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
    const QkJob *job = context;
    real sum = 0;
    for (size_t row = 0; row < job->rows; row++)
        sum += qknorm_row_backward(job, row, head);
    job->dgain[head] += sum;
}

void qknorm_backward(real *dx, real *dgain, const real *y, const real *r, const real *gain,
                     size_t rows, size_t heads, size_t width, size_t stride)
{
    QkJob job = {.r = r,
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
