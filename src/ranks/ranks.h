/* Data-parallel training over processes: ranks in the sense of MPI, on one or more machines.
 *
 * Built with MPI=1 and started by mpirun, a program is one of several ranks. Otherwise it is
 * the only rank, and everything here is a no-op. Rank 0 does the user interface and writes
 * files. The other ranks wait until it has checked its arguments, then run the same steps in
 * the same order.
 *
 * MPI never sums for training, since its order of summation may vary: values are sent to where
 * they are needed and summed there in a fixed order.
 *
 * A rank that exits other than by ranks_end ends all ranks. */
#ifndef LINNET_RANKS_H
#define LINNET_RANKS_H

#include "src/base/error.h"
#include "src/base/real.h"

/* Call ranks_begin first in main. On ranks other than 0 it returns when rank 0 calls
 * ranks_lead; if rank 0 exits before that, they exit too. */
void ranks_begin(int *argc, char ***argv);
void ranks_lead(void);
/* Barrier, then shuts MPI down; afterwards the program may exit or exec another. */
void ranks_end(void);

size_t ranks_count(void);
size_t ranks_index(void); /* counted from 0 */
static inline bool ranks_first(void)
{
    return ranks_index() == 0;
}

/* Start of the index-th of `count` nearly equal shares of `whole`; it ends where the next
 * starts. */
static inline size_t share_start(size_t whole, size_t count, size_t index)
{
    return whole / count * index + (whole % count < index ? whole % count : index);
}

/* Starts the thread team; with 0, the ranks on one machine together have a thread for each
 * processor. */
void ranks_start_team(size_t threads);

/* Makes this rank the only one, as if mpirun had not started it; with false, one of all again.
 * Meanwhile the others must wait, in ranks_sleep. For measurements. */
void ranks_alone(bool alone);

/* Collective operations: all ranks call these in the same order. */

/* True if `good` on all ranks. Otherwise all get the error of the lowest rank that failed. */
bool ranks_agree(bool good, Error *error);
/* True if all ranks pass the same number; otherwise the error names `what` and the rank. */
bool ranks_same(const char *what, uint64_t number, Error *error);
size_t ranks_most(size_t number);
/* A barrier that sleeps instead of spinning. */
void ranks_sleep(void);
void ranks_share(void *bytes, size_t size, size_t from);

/* All-gather in place: rank r contributes elements bounds[r] to bounds[r + 1] of the array. */
void ranks_collect(void *array, size_t element, const size_t *bounds);

/* All-gather in place, where each rank contributes its share_start share. */
void ranks_collect_shares(void *array, size_t element, size_t count);

/* Asynchronous sends and receives, in any order; complete after ranks_arrive. `number` is the
 * message tag that matches them between two ranks. */
void ranks_send(const void *bytes, size_t size, size_t to, int number);
void ranks_receive(void *bytes, size_t size, size_t from, int number);
void ranks_arrive(void);

/* All-reduce by MPI, in an unspecified order: a baseline for the cost of our own order. */
void ranks_sum_anyhow(real *values, size_t count);

#endif
