#include "src/layers/rows.h"
#include "src/math/team.h"

typedef struct Rows {
    RowWork *work;
    const void *job;
    size_t rows, tile_rows;
} Rows;

static void do_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Rows *all = context;
    size_t first = tile * all->tile_rows;
    size_t end = first + team_extent(all->rows, all->tile_rows, tile);
    for (size_t row = first; row < end; row++)
        all->work(all->job, row);
}

void rows_run(size_t rows, size_t tile_rows, RowWork *work, const void *job)
{
    Rows all = {work, job, rows, tile_rows};
    team_run(team_tiles(rows, tile_rows), do_tile, &all);
}
