/* A small team of threads that takes tiles of work.
 *
 * Work is cut into tiles whose shapes depend on the problem alone; which thread takes which
 * tile is left to chance and must not matter. A tile writes only what is its own, and sums over
 * tiles are made afterwards in a fixed order, so 1, 2 or 64 threads give the same bits.
 *
 * There is one team per process, and tiles do not start further work on it. */
#ifndef LINNET_TEAM_H
#define LINNET_TEAM_H

#include <stddef.h>

/* Does one tile. The worker, 0 to team_size()-1, names the scratch memory it may use. */
typedef void (*TeamWork)(void *job, size_t tile, size_t worker);

/* Starts the threads, fewer if the system refuses some (with a warning). Without a team, or
 * with a team of one, team_run does the work itself. */
void team_start(size_t threads);
void team_stop(void);
size_t team_size(void);

/* The processors that this process may run on, or less if its control group grants it less of
 * their time. */
size_t team_processors(void);

/* Does all the tiles and returns when the last is done. */
void team_run(size_t tiles, TeamWork work, void *job);

/* How many tiles of the given extent cover the whole. */
static inline size_t team_tiles(size_t whole, size_t extent)
{
    return (whole + extent - 1) / extent;
}

/* The part of the whole that a tile covers: from its start, this many. */
static inline size_t team_extent(size_t whole, size_t extent, size_t tile)
{
    size_t start = tile * extent;
    return whole - start < extent ? whole - start : extent;
}

#endif
