#include "src/layers/blend.h"
#include "src/layers/rows.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#define TILES ((size_t)64) /* at most; each has its own partial sum of dm */

typedef struct Job {
    real *x, *keep, *dx, *dz;
    const real *kept, *z;
    real m, dm[TILES];
    size_t rows, width, stride, tile_rows;
} Job;

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    real *restrict x = job->x + row * job->stride;
    real *restrict keep = job->keep + row * job->width;
    const real *z = job->z + row * job->width;
    for (size_t i = 0; i < job->width; i++) {
        keep[i] = x[i];
        x[i] = (1 - job->m) * x[i] + job->m * z[i];
    }
}

void blend_forward(real *x, real *kept, const real *z, real m, size_t rows, size_t width,
                   size_t stride)
{
    Job job = {.x = x, .keep = kept, .z = z, .m = m, .width = width, .stride = stride};
    rows_run(rows, ROWS_TILE, forward_row, &job);
}

/* dz += m dy,  dx = (1 - m) dy,  dm += dy . (z - x) */
static void backward_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    Job *job = context;
    size_t first = tile * job->tile_rows, width = job->width;
    size_t end = first + team_extent(job->rows, job->tile_rows, tile);
    real sum = 0;
    for (size_t row = first; row < end; row++) {
        real *restrict dx = job->dx + row * job->stride, *restrict dz = job->dz + row * width;
        sum += vector_dot(dx, job->z + row * width, width) -
               vector_dot(dx, job->kept + row * width, width);
        for (size_t i = 0; i < width; i++) {
            dz[i] += job->m * dx[i];
            dx[i] *= 1 - job->m;
        }
    }
    job->dm[tile] = sum;
}

void blend_backward(real *dx, real *dz, real *dm, const real *kept, const real *z, real m,
                    size_t rows, size_t width, size_t stride)
{
    Job job = {.kept = kept,
               .dx = dx,
               .dz = dz,
               .z = z,
               .m = m,
               .rows = rows,
               .width = width,
               .stride = stride,
               .tile_rows = team_tiles(rows, TILES)};
    size_t tiles = team_tiles(rows, job.tile_rows);
    team_run(tiles, backward_tile, &job);
    for (size_t tile = 0; tile < tiles; tile++)
        *dm += job.dm[tile];
}
