#include "src/layers/linear.h"
#include "src/math/team.h"

#define TILE_COLUMNS ((size_t)32)

size_t linear_workspace_reals(size_t rows, size_t in, size_t out)
{
    size_t y = gemm_workspace_reals(rows, out, in, false);
    size_t backward = gemm_backward_workspace_reals(rows, in, out);
    return y > backward ? y : backward;
}

void linear_forward(real *y, const real *x, const real *w, const real *b, size_t rows,
                    size_t in, size_t out, size_t stride, const DropoutSum *sum)
{
    /* Y = X W + b */
    gemm_team(rows, out, in, plain(x, in), plain(w, stride), GEMM_SET, y, stride,
              (GemmExtra){.bias = b, .finish = dropout_finish(sum)});
}

typedef struct BiasJob {
    real *db;       /* (width) */
    const real *dy; /* (rows, width) */
    size_t stride, rows, width;
} BiasJob;

static void bias_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const BiasJob *job = context;
    size_t first = tile * TILE_COLUMNS, count = team_extent(job->width, TILE_COLUMNS, tile);
    real *restrict db = job->db + first;
    for (size_t row = 0; row < job->rows; row++) {
        const real *dy = job->dy + row * job->stride + first;
        for (size_t i = 0; i < count; i++)
            db[i] += dy[i];
    }
}

void linear_bias_backward(real *db, const real *dy, size_t stride, size_t rows, size_t out)
{
    BiasJob job = {db, dy, stride, rows, out};
    team_run(team_tiles(out, TILE_COLUMNS), bias_tile, &job);
}

void linear_backward(real *dx, GemmInto into, real *dw, real *db, const real *dy, const real *x,
                     const real *w, size_t rows, size_t in, size_t out, size_t stride)
{
    if (db)
        linear_bias_backward(db, dy, stride, rows, out);
    /* dW += X^T dY,  dX = dY W^T, or dX += dY W^T */
    gemm_team_backward(rows, in, out, plain(x, in), plain(dy, stride), plain(w, stride), dw,
                       stride, into, dx, in, (GemmExtra){0});
}
