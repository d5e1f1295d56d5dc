#include "src/layers/qknorm.h"
#include "src/layers/rows.h"
#include "src/math/vector.h"

#define EPSILON ((real)1e-5)

typedef struct Job {
    real *x, *save_r, *dx, *dgain;
    const real *y, *r, *gain;
    size_t rows, heads, width, stride;
} Job;

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    for (size_t head = 0; head < job->heads; head++) {
        real *x = job->x + row * job->stride + head * job->width;
        real square = vector_dot(x, x, job->width) / (real)job->width;
        real r = 1 / (real)sqrt((double)(square + EPSILON)), factor = r * job->gain[head];
        job->save_r[row * job->heads + head] = r;
        for (size_t i = 0; i < job->width; i++)
            x[i] *= factor;
    }
}

void qknorm_forward(real *x, real *r, const real *gain, size_t rows, size_t heads, size_t width,
                    size_t stride)
{
    Job job = {
        .x = x, .save_r = r, .gain = gain, .heads = heads, .width = width, .stride = stride};
    rows_run(rows, ROWS_TILE, forward_row, &job);
}

/* With n = x r = y / gain:  dgain += n . dy,  dx = r gain (dy - n mean(n dy)). With a
 * gain of 0, n cannot be recovered, and both gradients are 0. Returns the term of dgain. */
static real backward_row(const Job *job, size_t row, size_t head)
{
    size_t at = row * job->stride + head * job->width;
    const real *y = job->y + at;
    real *dx = job->dx + at, gain = job->gain[head];
    real inverse = gain == 0 ? 0 : 1 / gain;
    real product = vector_dot(y, dx, job->width) * inverse;
    real factor = job->r[row * job->heads + head] * gain;
    real share = product / (real)job->width * inverse;
    for (size_t i = 0; i < job->width; i++)
        dx[i] = factor * (dx[i] - share * y[i]);
    return product;
}

/* Heads are the rows of work, so dgain is summed over the batch in a fixed order. */
static void backward_head(const void *context, size_t head)
{
    const Job *job = context;
    real sum = 0;
    for (size_t row = 0; row < job->rows; row++)
        sum += backward_row(job, row, head);
    job->dgain[head] += sum;
}

void qknorm_backward(real *dx, real *dgain, const real *y, const real *r, const real *gain,
                     size_t rows, size_t heads, size_t width, size_t stride)
{
    Job job = {.r = r,
               .dx = dx,
               .dgain = dgain,
               .y = y,
               .gain = gain,
               .rows = rows,
               .heads = heads,
               .width = width,
               .stride = stride};
    rows_run(heads, 1, backward_head, &job);
}
