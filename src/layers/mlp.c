#include "src/layers/mlp.h"
#include "src/layers/linear.h"
#include "src/math/team.h"
#include "src/base/memory.h"

#include <assert.h>

#define TILE_ROWS ((size_t)32)

static size_t hidden_columns(const MlpSizes *sizes)
{
    return sizes->activation->inputs * sizes->hidden;
}

static size_t hidden_stride(const MlpSizes *sizes)
{
    return gemm_stride(hidden_columns(sizes));
}

static size_t active_stride(const MlpSizes *sizes)
{
    return gemm_stride(sizes->hidden);
}

size_t mlp_hidden_reals(const MlpSizes *sizes)
{
    return memory_product(sizes->rows, hidden_stride(sizes), "the batch");
}

size_t mlp_active_reals(const MlpSizes *sizes)
{
    return memory_product(sizes->rows, active_stride(sizes), "the batch");
}

size_t mlp_workspace_reals(const MlpSizes *sizes)
{
    size_t in = linear_workspace_reals(sizes->rows, sizes->width, hidden_columns(sizes));
    size_t out = linear_workspace_reals(sizes->rows, sizes->hidden, sizes->width);
    return in > out ? in : out;
}

typedef struct Job {
    const MlpSizes *sizes;
    real *hidden; /* (rows, F) */
    real *active; /* (rows, hidden) */
    bool derives;
} Job;

/* A row of A; in the backward pass H becomes the derivative. */
static void activate_row(const void *context, size_t row)
{
    const Job *job = context;
    size_t width = job->sizes->hidden;
    real *active = job->active + row * active_stride(job->sizes);
    real *hidden = job->hidden + row * hidden_stride(job->sizes);
    if (job->derives)
        job->sizes->activation->derive(active, hidden, width, width);
    else
        job->sizes->activation->forward(active, hidden, width, width);
}

static void activate(const Job *job)
{
    team_run_rows(job->sizes->rows, TILE_ROWS, activate_row, job);
}

/* A gate is in another tile than what it multiplies: then the activation waits for both. */
static void activate_tile(const GemmTile *tile, const void *context)
{
    const Job *job = context;
    bool activates = job->active && job->sizes->activation->inputs == 1;
    for (size_t i = 0; activates && i < tile->rows; i++)
        job->sizes->activation->forward(
            job->active + (tile->row + i) * active_stride(job->sizes) + tile->column,
            tile->c + i * tile->c_stride, tile->columns, 0);
}

void mlp_up_forward(real *hidden, real *active, const real *x, const MlpWeights *weights,
                    const MlpSizes *sizes)
{
    const Job job = {.sizes = sizes, .hidden = hidden, .active = active};
    size_t columns = hidden_columns(sizes);
    /* H = X W_in + b_in */
    gemm_team(sizes->rows, columns, sizes->width, plain(x, sizes->width),
              plain(weights->w_in, columns), GEMM_SET, hidden, hidden_stride(sizes),
              (GemmExtra){.bias = weights->b_in, .finish = {activate_tile, &job}});
    if (active && sizes->activation->inputs > 1)
        activate(&job);
}

void mlp_down_forward(real *y, const real *active, const MlpWeights *weights,
                      const MlpSizes *sizes, const DropoutSum *sum)
{
    /* Y = A W_out + b_out */
    gemm_team(sizes->rows, sizes->width, sizes->hidden, plain(active, active_stride(sizes)),
              plain(weights->w_out, sizes->width), GEMM_SET, y, sizes->width,
              (GemmExtra){.bias = weights->b_out, .finish = dropout_finish(sum)});
}

/* From a tile of dA to dH, where the derivative is. */
static void multiply_by_slope(const GemmTile *tile, const void *context)
{
    const Job *job = context;
    for (size_t input = 0; input < job->sizes->activation->inputs; input++)
        for (size_t i = 0; i < tile->rows; i++) {
            const real *da = tile->c + i * tile->c_stride;
            real *restrict hidden = job->hidden + (tile->row + i) * hidden_stride(job->sizes) +
                                    input * job->sizes->hidden + tile->column;
            for (size_t j = 0; j < tile->columns; j++)
                hidden[j] *= da[j];
        }
}

void mlp_down_backward(real *dhidden, real *dactive, const MlpWeights *dweights, const real *dy,
                       const real *hidden, const MlpWeights *weights, const MlpSizes *sizes)
{
    const Job job = {.sizes = sizes, .hidden = dhidden, .active = dactive, .derives = true};
    size_t rows = sizes->rows, width = sizes->width, inner = sizes->hidden;
    const real *active = dactive;
    assert(dhidden == hidden);
    (void)hidden;
    /* A = f(H), and f'(H) in the place of H */
    activate(&job);
    if (dweights->b_out)
        linear_bias_backward(dweights->b_out, dy, width, rows, width);
    /* dW_out += A^T dY,  dA = dY W_out^T,  dH = dA f'(H) */
    gemm_team_backward(rows, inner, width, plain(active, active_stride(sizes)),
                       plain(dy, width), plain(weights->w_out, width), dweights->w_out, width,
                       GEMM_SET, dactive, active_stride(sizes),
                       (GemmExtra){.finish = {multiply_by_slope, &job}, .transient = true});
}

void mlp_up_backward(real *dx, const MlpWeights *dweights, const real *dhidden, const real *x,
                     const MlpWeights *weights, const MlpSizes *sizes)
{
    size_t rows = sizes->rows, width = sizes->width, columns = hidden_columns(sizes);
    size_t stride = hidden_stride(sizes);
    if (dweights->b_in)
        linear_bias_backward(dweights->b_in, dhidden, stride, rows, columns);
    /* dW_in += X^T dH,  dX = dH W_in^T */
    gemm_team_backward(rows, width, columns, plain(x, width), plain(dhidden, stride),
                       plain(weights->w_in, columns), dweights->w_in, columns, GEMM_SET, dx,
                       width, (GemmExtra){0});
}
