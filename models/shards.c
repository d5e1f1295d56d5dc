#include "models/shards.h"
#include "src/containers.h"
#include "src/ranks.h"
#include "src/team.h"
#include "src/vector.h"

#include <assert.h>
#include <stdlib.h>

/* --- nodes --- */

static bool are_halves(const ShardNode *left, const ShardNode *right)
{
    return left->size == right->size && left->first % (2 * left->size) == 0;
}

typedef struct AddJob {
    real *to;
    const real *from;
    size_t count;
} AddJob;

enum { ADD_TILE = 32768 };

static void add_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const AddJob *job = context;
    size_t first = tile * ADD_TILE;
    vector_add_scaled(job->to + first, job->from + first, 1,
                      team_extent(job->count, ADD_TILE, tile));
}

/* Adds the last node to the one before it, from one number to another; NULLs are only counted.
 */
static void merge(ShardNode *nodes, size_t from, size_t to)
{
    ShardNode right = arrpop(nodes), *left = &arrlast(nodes);
    left->size += right.size;
    if (!left->sum)
        return;
    AddJob job = {left->sum + from, right.sum + from, to - from};
    team_run(team_tiles(to - from, ADD_TILE), add_tile, &job);
}

static void merge_halves(ShardNode *nodes, size_t from, size_t to)
{
    while (arrlenu(nodes) > 1 &&
           are_halves(&nodes[arrlenu(nodes) - 2], &nodes[arrlenu(nodes) - 1]))
        merge(nodes, from, to);
}

/* The nodes that a range of shards comes to, without sums, and how many there are at most at a
 * time on the way. The array is the caller's. */
static ShardNode *nodes_of(size_t first, size_t end, size_t *most)
{
    ShardNode *nodes = NULL;
    *most = 0;
    for (size_t shard = first; shard < end; shard++) {
        ShardNode leaf = {shard, 1, NULL};
        arrput(nodes, leaf);
        *most = arrlenu(nodes) > *most ? arrlenu(nodes) : *most;
        merge_halves(nodes, 0, 0);
    }
    return nodes;
}

/* --- a rank's own --- */

void shards_make(Shards *shards, size_t count, size_t reals, size_t *bounds)
{
    size_t ranks = ranks_count(), own = ranks_own();
    assert(count >= ranks);
    *shards = (Shards){.count = count,
                       .first = share_start(count, ranks, own),
                       .end = share_start(count, ranks, own + 1),
                       .reals = reals,
                       .bounds = bounds};
    ShardNode *nodes = nodes_of(shards->first, shards->end, &shards->held);
    arrfree(nodes);
    shards->memory = memory_take(shards->held, sizeof *shards->memory, "the shards");
}

void shards_free(Shards *shards)
{
    arrfree(shards->bounds);
    arrfree(shards->nodes);
    free(shards->memory);
    *shards = (Shards){0};
}

static size_t slice_reals(const Shards *shards)
{
    return shards->bounds[ranks_own() + 1] - shards->bounds[ranks_own()];
}

static ShardNode *nodes_of_rank(const Shards *shards, size_t rank)
{
    size_t most, ranks = ranks_count();
    return nodes_of(share_start(shards->count, ranks, rank),
                    share_start(shards->count, ranks, rank + 1), &most);
}

/* How many nodes come from other ranks. */
static size_t arriving_nodes(const Shards *shards)
{
    size_t total = 0;
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        ShardNode *nodes = nodes_of_rank(shards, rank);
        total += rank == ranks_own() ? 0 : arrlenu(nodes);
        arrfree(nodes);
    }
    return total;
}

void shards_layout(Shards *shards, Arena *arena)
{
    for (size_t i = 0; i < shards->held; i++)
        shards->memory[i] = arena_reals(arena, shards->reals);
    shards->arriving = arena_reals(arena, arriving_nodes(shards) * slice_reals(shards));
}

real *shards_begin(Shards *shards, size_t shard)
{
    if (shard == shards->first)
        arrsetlen(shards->nodes, 0);
    merge_halves(shards->nodes, 0, shards->reals);
    /* A node's sum is where its first shard's was, so the memory in use has no gaps. */
    ShardNode leaf = {shard, 1, shards->memory[arrlenu(shards->nodes)]};
    arrput(shards->nodes, leaf);
    vector_zero(leaf.sum, shards->reals);
    shards->done_from = shards->done_to = shards->reals;
    shards->parts = 0;
    return leaf.sum;
}

/* --- and others' --- */

/* What of the numbers from one to another is in a rank's slice. */
typedef struct Part {
    size_t first, count;
} Part;

static Part part_in_slice(const Shards *shards, size_t rank, size_t from, size_t to)
{
    size_t first = from > shards->bounds[rank] ? from : shards->bounds[rank];
    size_t end = to < shards->bounds[rank + 1] ? to : shards->bounds[rank + 1];
    return (Part){first, end > first ? end - first : 0};
}

/* The nodes of all ranks, in order; of each the sum begins where this rank has its slice of it.
 * The caller's array. */
static ShardNode *all_nodes(const Shards *shards, size_t *firsts)
{
    ShardNode *all = NULL;
    real *arriving = shards->arriving;
    size_t own = ranks_own();
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        ShardNode *nodes = nodes_of_rank(shards, rank);
        firsts[rank] = arrlenu(all);
        for (size_t i = 0; i < arrlenu(nodes); i++) {
            nodes[i].sum = rank == own ? shards->memory[i] + shards->bounds[own] : arriving;
            arriving += rank == own ? 0 : slice_reals(shards);
            arrput(all, nodes[i]);
        }
        arrfree(nodes);
    }
    firsts[ranks_count()] = arrlenu(all);
    return all;
}

/* Sends each rank what it wants of the numbers from one to another, which are final here, and
 * receives what this one wants. All ranks do this for the same numbers in the same order. */
static void pass_on(Shards *shards, size_t from, size_t to)
{
    enum { NODES_MOST = 64 };
    size_t own = ranks_own(), number = shards->parts++ * NODES_MOST;
    size_t *firsts = memory_take(ranks_count() + 1, sizeof *firsts, "the shards");
    ShardNode *nodes = NULL, *all = all_nodes(shards, firsts);
    for (size_t i = 0; i < arrlenu(shards->nodes); i++)
        arrput(nodes, shards->nodes[i]);
    merge_halves(nodes, from, to);
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        Part theirs = part_in_slice(shards, rank, from, to);
        Part ours = part_in_slice(shards, own, from, to);
        for (size_t i = 0; i < arrlenu(nodes) && rank != own && theirs.count > 0; i++)
            ranks_send(nodes[i].sum + theirs.first, theirs.count, rank, (int)(number + i));
        for (size_t i = firsts[rank]; i < firsts[rank + 1] && rank != own && ours.count > 0;
             i++)
            ranks_receive(all[i].sum + (ours.first - shards->bounds[own]), ours.count, rank,
                          (int)(number + i - firsts[rank]));
    }
    arrfree(nodes);
    arrfree(all);
    free(firsts);
}

void shards_part_done(Shards *shards, size_t from, size_t to)
{
    if (arrlast(shards->nodes).first + 1 != shards->end || ranks_count() == 1)
        return;
    if (shards->parts == 0)
        shards->done_to = to;
    assert(shards->parts == 0 || to == shards->done_from);
    shards->done_from = from;
    pass_on(shards, from, to);
    ranks_look();
}

real *shards_sum(Shards *shards)
{
    size_t *firsts = memory_take(ranks_count() + 1, sizeof *firsts, "the shards");
    size_t slice = slice_reals(shards);
    pass_on(shards, 0, shards->done_from);
    pass_on(shards, shards->done_to, shards->reals);
    merge_halves(shards->nodes, 0, 0);
    ranks_arrive();
    ShardNode *all = all_nodes(shards, firsts), *sum = NULL;
    for (size_t i = 0; i < arrlenu(all); i++) {
        arrput(sum, all[i]);
        merge_halves(sum, 0, slice);
    }
    while (arrlenu(sum) > 1)
        merge(sum, 0, slice);
    real *own = shards->memory[0] + shards->bounds[ranks_own()];
    if (sum[0].sum != own)
        memcpy(own, sum[0].sum, slice * sizeof *own);
    arrfree(sum);
    arrfree(all);
    free(firsts);
    return shards->memory[0];
}
