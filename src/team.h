/* The thread team: worker threads that process tiles of work.
 *
 * Work is cut into tiles by the shape of the problem alone. Which thread runs which tile is
 * nondeterministic and must not affect results: each tile writes only its own output, and
 * reductions over tiles run afterwards in a fixed order. So any number of threads gives the
 * same bits.
 *
 * There is one team per process, and tiles must not call team_run. */
#ifndef LINNET_TEAM_H
#define LINNET_TEAM_H

#include <stddef.h>

/* Processes one tile. `worker`, from 0 to team_size()-1, selects its scratch memory. */
typedef void (*TeamWork)(void *job, size_t tile, size_t worker);

/* Starts the threads, or with 0 one for each processor; if the system refuses some, warns and
 * continues with fewer. Without a team, or with one thread, team_run works on the calling
 * thread. */
void team_start(size_t threads);
void team_stop(void);
size_t team_size(void);

/* Processors in the affinity mask, limited by the CPU quota of the control group. */
size_t team_processors(void);

/* Processes all tiles; returns when the last is done. */
void team_run(size_t tiles, TeamWork work, void *job);

/* Number of tiles of the given extent that cover `whole`. */
static inline size_t team_tiles(size_t whole, size_t extent)
{
    return (whole + extent - 1) / extent;
}

/* Length of a tile; only the last may be shorter than `extent`. */
static inline size_t team_extent(size_t whole, size_t extent, size_t tile)
{
    size_t start = tile * extent;
    return whole - start < extent ? whole - start : extent;
}

#endif
