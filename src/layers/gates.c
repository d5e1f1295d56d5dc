#include "src/layers/gates.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <assert.h>

/* --- the value residual --- */

#define BLEND_TILES ((size_t)64) /* at most; each has its own partial sum of dm */

typedef struct BlendJob {
    real *x, *dx;                  /* (rows, width), rows `stride` apart */
    real *save, *dz, *dgates;      /* (rows, width) */
    const real *saved, *z, *gates; /* (rows, width) */
    const real *m;                 /* (1) */
    real dm[BLEND_TILES];
    size_t rows, width, stride, tile_rows;
} BlendJob;

static void blend_row(const void *context, size_t row)
{
    const BlendJob *job = context;
    real *restrict x = job->x + row * job->stride;
    real *restrict save = job->save + row * job->width;
    const real *z = job->z + row * job->width;
    const real *gates = job->gates ? job->gates + row * job->width : NULL;
    for (size_t i = 0; i < job->width; i++) {
        real m = gates ? vector_sigmoid(gates[i]) : *job->m;
        save[i] = x[i];
        x[i] = (1 - m) * x[i] + m * z[i];
    }
}

void blend_forward(real *x, real *saved, const real *z, const real *m, const real *gates,
                   size_t rows, size_t width, size_t stride)
{
    BlendJob job = {.x = x,
                    .save = saved,
                    .z = z,
                    .m = m,
                    .gates = gates,
                    .width = width,
                    .stride = stride};
    team_run_rows(rows, TEAM_ROWS, blend_row, &job);
}

/* dz += m dy,  dx = (1 - m) dy,  dm += dy . (z - x),  dgate = dy (z - x) m (1 - m) */
static void blend_tile_backward(void *context, size_t tile, size_t worker)
{
    (void)worker;
    BlendJob *job = context;
    size_t first = tile * job->tile_rows, width = job->width;
    size_t end = first + team_extent(job->rows, job->tile_rows, tile);
    real sum = 0;
    for (size_t row = first; row < end; row++) {
        real *restrict dx = job->dx + row * job->stride, *restrict dz = job->dz + row * width;
        const real *saved = job->saved + row * width, *z = job->z + row * width;
        real *gates = job->gates ? job->dgates + row * width : NULL;
        sum += vector_dot(dx, z, width) - vector_dot(dx, saved, width);
        for (size_t i = 0; i < width; i++) {
            real m = gates ? vector_sigmoid(job->gates[row * width + i]) : *job->m;
            if (gates)
                gates[i] = dx[i] * (z[i] - saved[i]) * m * (1 - m);
            dz[i] += m * dx[i];
            dx[i] *= 1 - m;
        }
    }
    job->dm[tile] = sum;
}

void blend_backward(real *dx, real *dz, real *dm, real *dgates, const real *saved,
                    const real *z, const real *m, const real *gates, size_t rows, size_t width,
                    size_t stride)
{
    BlendJob job = {.saved = saved,
                    .dx = dx,
                    .dz = dz,
                    .z = z,
                    .m = m,
                    .gates = gates,
                    .dgates = dgates,
                    .rows = rows,
                    .width = width,
                    .stride = stride,
                    .tile_rows = team_tiles(rows, BLEND_TILES)};
    size_t tiles = team_tiles(rows, job.tile_rows);
    team_run(tiles, blend_tile_backward, &job);
    for (size_t tile = 0; dm && tile < tiles; tile++)
        *dm += job.dm[tile];
}

/* --- the gate of each head --- */

typedef struct GateJob {
    real *y, *dx;          /* (rows, all) */
    real *du;              /* (rows, inputs) */
    real *factors;         /* (rows, heads) */
    real *dw;              /* (channels, heads) */
    const real *x, *dy;    /* (rows, all) */
    const real *u;         /* (rows, inputs) */
    const real *y_forward; /* (rows, all) y, which backward reads */
    const real *dg;        /* (rows, heads) */
    const real *w;         /* (channels, heads) */
    size_t heads, width, all, inputs, channels, rows;
} GateJob;

size_t headgate_channels(size_t inputs)
{
    return inputs < HEADGATE_CHANNELS ? inputs : HEADGATE_CHANNELS;
}

static GateJob job_of(HeadgateSizes sizes)
{
    size_t all = sizes.heads * sizes.width;
    return (GateJob){.heads = sizes.heads,
                     .width = sizes.width,
                     .all = all,
                     .inputs = sizes.inputs,
                     .channels = headgate_channels(sizes.inputs),
                     .rows = sizes.rows};
}

static void gate_row(const void *context, size_t row)
{
    const GateJob *job = context;
    real *factors = job->factors + row * job->heads;
    vector_zero(factors, job->heads);
    for (size_t c = 0; c < job->channels; c++)
        vector_add_scaled(factors, job->w + c * job->heads, job->u[row * job->inputs + c],
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
    GateJob job = job_of(sizes);
    job.y = y, job.factors = factors, job.x = x, job.u = u, job.w = w;
    team_run_rows(sizes.rows, TEAM_ROWS, gate_row, &job);
}

/* With f = 2 sigmoid(g):  df/dg = f (1 - f / 2),  and dy . x f is dy . y. */
static void gate_row_backward(const void *context, size_t row)
{
    const GateJob *job = context;
    real *factors = job->factors + row * job->heads, *dx = job->dx + row * job->all;
    const real *dy = job->dy + row * job->all, *y = job->y_forward + row * job->all;
    for (size_t h = 0; h < job->heads; h++) {
        size_t at = h * job->width;
        real factor = factors[h];
        factors[h] = vector_dot(dy + at, y + at, job->width) * (1 - factor / 2);
        for (size_t i = at; i < at + job->width; i++)
            dx[i] = factor * dy[i];
    }
}

void headgate_backward(real *dx, real *dfactors, const real *dy, const real *y,
                       const real *factors, HeadgateSizes sizes)
{
    GateJob job = job_of(sizes);
    assert(dfactors == factors);
    (void)factors;
    job.dx = dx, job.factors = dfactors, job.dy = dy, job.y_forward = y;
    team_run_rows(sizes.rows, TEAM_ROWS, gate_row_backward, &job);
}

static void input_row_backward(const void *context, size_t row)
{
    const GateJob *job = context;
    for (size_t c = 0; c < job->channels; c++)
        job->du[row * job->inputs + c] += vector_dot(job->dg + row * job->heads,
                                                     job->w + c * job->heads, job->heads);
}

/* One row of dw, whose sum over the batch has a fixed order. */
static void weight_row_backward(const void *context, size_t c)
{
    const GateJob *job = context;
    for (size_t row = 0; row < job->rows; row++)
        vector_add_scaled(job->dw + c * job->heads, job->dg + row * job->heads,
                          job->u[row * job->inputs + c], job->heads);
}

void headgate_backward_input(real *du, real *dw, const real *dg, const real *u, const real *w,
                             HeadgateSizes sizes)
{
    GateJob job = job_of(sizes);
    job.du = du, job.dw = dw, job.dg = dg, job.u = u, job.w = w;
    team_run_rows(sizes.rows, TEAM_ROWS, input_row_backward, &job);
    team_run_rows(job.channels, 1, weight_row_backward, &job);
}
