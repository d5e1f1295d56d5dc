#include "src/layers/token_shift.h"
#include "src/math/team.h"

#include <assert.h>

#define TILE_COLUMNS ((size_t)32)

typedef struct Job {
    real *y, *dx;       /* (batch * length, width) */
    const real *x, *dy; /* (batch * length, width) */
    real *dm;           /* (width) */
    const real *m;      /* (width) */
    const real *state;  /* (batch, width) or NULL */
    TokenShiftSizes sizes;
} Job;

/* The row of x before a row; NULL before a sequence without a state. */
static const real *row_before(const Job *job, size_t row)
{
    const size_t length = job->sizes.length, width = job->sizes.width;
    assert(length > 0);
    if (row % length > 0)
        return job->x + (row - 1) * width;
    return job->state ? job->state + row / length * width : NULL;
}

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    const real *before = row_before(job, row), *x = job->x + row * job->sizes.width;
    real *restrict y = job->y + row * job->sizes.width;
    for (size_t i = 0; i < job->sizes.width; i++)
        y[i] = x[i] + job->m[i] * ((before ? before[i] : 0) - x[i]);
}

void token_shift_forward(real *y, const real *x, const real *m, const real *state,
                         TokenShiftSizes sizes)
{
    Job job = {.y = y, .x = x, .m = m, .state = state, .sizes = sizes};
    team_run_rows(sizes.batch * sizes.length, TEAM_ROWS, forward_row, &job);
}

/* dx_t += (1 - m) dy_t + m dy_(t+1),  dm += dy_t (x_(t-1) - x_t).  A tile is a group of
 * columns, whose dm it sums. */
static void backward_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    const size_t length = job->sizes.length, width = job->sizes.width;
    const size_t first = tile * TILE_COLUMNS;
    const size_t end = first + team_extent(width, TILE_COLUMNS, tile);
    for (size_t row = 0; row < job->sizes.batch * length; row++) {
        const real *x = job->x + row * width, *dy = job->dy + row * width;
        const real *before = row_before(job, row);
        const real *after = row % length + 1 < length ? dy + width : NULL;
        real *restrict dx = job->dx + row * width, *restrict dm = job->dm;
        for (size_t i = first; i < end; i++) {
            dx[i] += dy[i] + job->m[i] * ((after ? after[i] : 0) - dy[i]);
            dm[i] += dy[i] * ((before ? before[i] : 0) - x[i]);
        }
    }
}

void token_shift_backward(real *dx, real *dm, const real *dy, const real *x, const real *m,
                          const real *state, TokenShiftSizes sizes)
{
    Job job = {.dx = dx, .dm = dm, .dy = dy, .x = x, .m = m, .state = state, .sizes = sizes};
    team_run(team_tiles(sizes.width, TILE_COLUMNS), backward_tile, &job);
}
