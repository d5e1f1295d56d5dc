/* The thread team: worker threads that process tiles of work.
 *
 * Work is cut into tiles by the shape of the problem alone. Which thread runs which tile is
 * nondeterministic and must not affect results: each tile writes only its own output, and
 * reductions over tiles run afterwards in a fixed order. So any number of threads gives the
 * same bits.
 *
 * Each thread uses the team that it started or was given, so independent threads can have teams
 * side by side. Tiles must not call team_run. */
#ifndef LINNET_TEAM_H
#define LINNET_TEAM_H

#include <stddef.h>

/* Processes one tile. `worker`, from 0 to team_size()-1, selects its scratch memory. */
typedef void (*TeamWork)(void *job, size_t tile, size_t worker);

/* A team of this many threads (0: one per processor), or of fewer if the system refuses some.
 * The thread that uses it is one of them. */
typedef struct Team Team;
Team *team_make(size_t threads);
void team_free(Team *team); /* which may be NULL */

/* Makes a team, or NULL, that of the calling thread, and returns its team before. A team serves
 * one thread at a time. Without a team, or with one thread, team_run works on the calling
 * thread. */
Team *team_use(Team *team);

/* For programs: makes a team and uses it, with a warning if it has fewer threads; and ends it.
 */
void team_start(size_t threads);
void team_stop(void);

/* Threads of the calling thread's team. */
size_t team_size(void);

/* Processors in the affinity mask, limited by the CPU quota of the control group. */
size_t team_processors(void);

/* Processes all tiles; returns when the last is done. */
void team_run(size_t tiles, TeamWork work, void *job);

/* Processes rows; a tile has `tile_rows` of them, TEAM_ROWS in most layers. */
#define TEAM_ROWS ((size_t)64)
typedef void (*TeamRowWork)(const void *job, size_t row);
void team_run_rows(size_t rows, size_t tile_rows, TeamRowWork work, const void *job);

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
