/* Processes that train one model together: ranks, as MPI calls them, on one machine or on many.
 *
 * Built with MPI=1, a program that mpirun started is one of several ranks. Built without, or
 * started by itself, it is the only one, and everything here is nothing to do. The first rank
 * speaks, reads what people typed, and writes files. The others wait until it has found that
 * there is something to do, and then do the same as it does, in the same order.
 *
 * Nothing is ever summed on its way: MPI may sum in any order. Numbers are brought to where
 * they are wanted, and summed there, in an order of ours.
 *
 * A rank that ends in any other way than by ranks_end takes all others with it. */
#ifndef LINNET_RANKS_H
#define LINNET_RANKS_H

#include "src/error.h"
#include "src/real.h"

/* First in main. Ranks but the first return once the first leads; if it ends before, so do
 * they. */
void ranks_begin(int *argc, char ***argv);
void ranks_lead(void);
/* Waits for all; from here on there are no ranks, and the program can end, or become another.
 */
void ranks_end(void);

size_t ranks_count(void);
size_t ranks_own(void); /* counted from 0 */
static inline bool ranks_first(void)
{
    return ranks_own() == 0;
}

/* Where the index-th of `count` shares of a whole begins; it ends where the next begins. */
static inline size_t share_start(size_t whole, size_t count, size_t index)
{
    return whole / count * index + (whole % count < index ? whole % count : index);
}

/* The threads that a rank should have, so that those on one machine together have one for each
 * processor that they may run on. */
size_t ranks_threads(void);

/* What follows is called by all ranks, in the same order. */

/* Whether all of them are well. If not, all learn why the first that is not is not. */
bool ranks_agree(bool good, Error *error);
/* Whether all of them have the same number; if not, the error says of what, and of whom. */
bool ranks_same(const char *what, uint64_t number, Error *error);
size_t ranks_most(size_t number);
/* Like waiting for all, but without spinning meanwhile. */
void ranks_sleep(void);
void ranks_share(void *bytes, size_t size, size_t from);

/* Rank r has elements bounds[r] to bounds[r + 1] of the array; afterwards all have all. */
void ranks_collect(void *array, size_t element, const size_t *bounds);

/* The same where each rank has its share of so many elements. */
void ranks_collect_shares(void *array, size_t element, size_t count);

/* Parts of arrays on their way to who wants them. They may be sent in any order, and are there
 * after ranks_arrive. What two ranks send each other is matched by its number. */
void ranks_send(const real *values, size_t count, size_t to, int number);
void ranks_receive(real *values, size_t count, size_t from, int number);
void ranks_arrive(void);

/* As MPI would sum, in any order it likes: to know what an order of our own costs. */
void ranks_sum_anyhow(real *values, size_t count);

#endif
