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

/* Adds the last node to the one before it, in `count` numbers; NULLs are only counted. */
static void merge(ShardNode *nodes, size_t count)
{
    ShardNode right = arrpop(nodes), *left = &arrlast(nodes);
    left->size += right.size;
    if (!left->sum)
        return;
    AddJob job = {left->sum, right.sum, count};
    team_run(team_tiles(count, ADD_TILE), add_tile, &job);
}

static void merge_halves(ShardNode *nodes, size_t count)
{
    while (arrlenu(nodes) > 1 &&
           are_halves(&nodes[arrlenu(nodes) - 2], &nodes[arrlenu(nodes) - 1]))
        merge(nodes, count);
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
        merge_halves(nodes, 0);
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

/* How many nodes come from other ranks. */
static size_t arriving_nodes(const Shards *shards)
{
    size_t total = 0, most;
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        ShardNode *nodes = nodes_of(share_start(shards->count, ranks_count(), rank),
                                    share_start(shards->count, ranks_count(), rank + 1), &most);
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
    merge_halves(shards->nodes, shards->reals);
    /* A node's sum is where its first shard's was, so the memory in use has no gaps. */
    ShardNode leaf = {shard, 1, shards->memory[arrlenu(shards->nodes)]};
    arrput(shards->nodes, leaf);
    vector_zero(leaf.sum, shards->reals);
    return leaf.sum;
}

/* --- and others' --- */

static void send_parts(const Shards *shards)
{
    for (size_t rank = 0; rank < ranks_count(); rank++)
        for (size_t i = 0; i < arrlenu(shards->nodes) && rank != ranks_own(); i++)
            ranks_send(shards->nodes[i].sum + shards->bounds[rank],
                       shards->bounds[rank + 1] - shards->bounds[rank], rank, (int)i);
}

/* The nodes of all ranks, in order, with this rank's slice of each; the caller's array. */
static ShardNode *receive_parts(const Shards *shards)
{
    ShardNode *all = NULL;
    real *arriving = shards->arriving;
    size_t own = ranks_own(), most;
    for (size_t rank = 0; rank < ranks_count(); rank++) {
        ShardNode *nodes = nodes_of(share_start(shards->count, ranks_count(), rank),
                                    share_start(shards->count, ranks_count(), rank + 1), &most);
        for (size_t i = 0; i < arrlenu(nodes); i++) {
            nodes[i].sum = arriving;
            if (rank == own) {
                nodes[i].sum = shards->nodes[i].sum + shards->bounds[own];
            } else {
                ranks_receive(arriving, slice_reals(shards), rank, (int)i);
                arriving += slice_reals(shards);
            }
            arrput(all, nodes[i]);
        }
        arrfree(nodes);
    }
    return all;
}

real *shards_sum(Shards *shards)
{
    merge_halves(shards->nodes, shards->reals);
    send_parts(shards);
    ShardNode *all = receive_parts(shards), *sum = NULL;
    ranks_arrive();
    for (size_t i = 0; i < arrlenu(all); i++) {
        arrput(sum, all[i]);
        merge_halves(sum, slice_reals(shards));
    }
    while (arrlenu(sum) > 1)
        merge(sum, slice_reals(shards));
    real *slice = shards->memory[0] + shards->bounds[ranks_own()];
    if (sum[0].sum != slice)
        memcpy(slice, sum[0].sum, slice_reals(shards) * sizeof *slice);
    arrfree(sum);
    arrfree(all);
    return shards->memory[0];
}
