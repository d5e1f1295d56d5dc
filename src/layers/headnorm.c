#include "src/layers/headnorm.h"
#include "src/layers/activation.h"
#include "src/layers/rows.h"

#define EPSILON ((real)1e-5)

typedef struct Job {
    real *y, *dx, *dgain, *dz;
    const real *x, *gain, *z, *dy;
    size_t rows, heads, width;
} Job;

static real inverse_size(const real *x, size_t width)
{
    return 1 / (real)sqrt(vector_dot(x, x, width) / (real)width + EPSILON);
}

/* --- forward --- */

/* n = x r gain */
static void norm_forward(real *restrict y, const real *restrict x, const real *restrict gain,
                         size_t width)
{
    real r = inverse_size(x, width);
    for (size_t i = 0; i < width; i++)
        y[i] = x[i] * r * gain[i];
}

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    size_t width = job->width, all = job->heads * width;
    const real *x = job->x + row * all, *normed = job->gain ? job->y + row * all : x;
    real *y = job->y + row * all;
    for (size_t at = 0; job->gain && at < all; at += width)
        norm_forward(y + at, x + at, job->gain + at, width);
    if (!job->z)
        return;
    const real *z = job->z + row * all;
#pragma omp simd
    for (size_t i = 0; i < all; i++)
        y[i] = normed[i] * silu(z[i]);
}

void headnorm_forward(real *y, const real *x, const real *gain, const real *z, size_t rows,
                      size_t heads, size_t width)
{
    Job job = {.y = y, .x = x, .gain = gain, .z = z, .heads = heads, .width = width};
    rows_run(rows, ROWS_TILE, forward_row, &job);
}

/* --- backward --- */

/* y = n silu(z):  dn = dy silu(z), and dz = dy n silu'(z); a later step multiplies by n. */
static void gate_backward(real *dn, real *dz, const real *dy, const real *z, size_t width)
{
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

static void backward_row(const Job *job, size_t row, size_t head)
{
    size_t width = job->width, column = head * width, at = (row * job->heads + head) * width;
    const real *x = job->x + at, *gain = job->gain ? job->gain + column : NULL;
    real *dx = job->dx + at, *dz = job->z ? job->dz + at : NULL;
    real r = gain ? inverse_size(x, width) : 1;
    if (dz)
        gate_backward(dx, dz, job->dy + at, job->z + at, width);
    else if (job->dx != job->dy)
        memcpy(dx, job->dy + at, width * sizeof *dx);
    for (size_t i = 0; dz && i < width; i++)
        dz[i] *= gain ? x[i] * r * gain[i] : x[i];
    if (gain)
        norm_backward(dx, job->dgain + column, x, gain, r, width);
}

/* Heads are the rows of work, so dgain is summed over the batch in a fixed order. */
static void backward_head(const void *context, size_t head)
{
    const Job *job = context;
    for (size_t row = 0; row < job->rows; row++)
        backward_row(job, row, head);
}

void headnorm_backward(real *dx, real *dgain, real *dz, const real *dy, const real *x,
                       const real *gain, const real *z, size_t rows, size_t heads, size_t width)
{
    Job job = {.dx = dx,
               .dgain = dgain,
               .dz = dz,
               .x = x,
               .gain = gain,
               .z = z,
               .dy = dy,
               .rows = rows,
               .heads = heads,
               .width = width};
    rows_run(heads, 1, backward_head, &job);
}
