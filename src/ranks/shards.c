#include "src/ranks/shards.h"
#include "src/base/containers.h"
#include "src/ranks/ranks.h"
#include "src/math/team.h"
#include "src/math/vector.h"

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

/* Adds the last node to the one before it, `count` numbers; without sums only the sizes. */
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

/* The nodes (without sums) of a range of shards, and the maximum number held at a time. The
 * caller frees the array. */
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

/* --- within a rank --- */

void shards_make(Shards *shards, size_t count, size_t reals, size_t *bounds)
{
    size_t ranks = ranks_count(), index = ranks_index();
    assert(count >= ranks);
    *shards = (Shards){.count = count,
                       .first = share_start(count, ranks, index),
                       .end = share_start(count, ranks, index + 1),
                       .reals = reals,
                       .bounds = bounds};
    shards->parts = memory_new(ranks, sizeof(ShardNode *), "the shards");
    for (size_t rank = 0; rank < ranks; rank++) {
        size_t most;
        shards->parts[rank] = nodes_of(share_start(count, ranks, rank),
                                       share_start(count, ranks, rank + 1), &most);
        shards->buffer_count = rank == index ? most : shards->buffer_count;
    }
    shards->memory = memory_new(shards->buffer_count, sizeof *shards->memory, "the shards");
}

void shards_free(Shards *shards)
{
    arrfree(shards->bounds);
    arrfree(shards->nodes);
    arrfree(shards->sum);
    for (size_t rank = 0; shards->parts && rank < ranks_count(); rank++)
        arrfree(shards->parts[rank]);
    free(shards->parts);
    free(shards->memory);
    *shards = (Shards){0};
}

static size_t slice_reals(const Shards *shards)
{
    return shards->bounds[ranks_index() + 1] - shards->bounds[ranks_index()];
}

static size_t arriving_nodes(const Shards *shards)
{
    size_t total = 0;
    for (size_t rank = 0; rank < ranks_count(); rank++)
        total += rank == ranks_index() ? 0 : arrlenu(shards->parts[rank]);
    return total;
}

void shards_layout(Shards *shards, Arena *arena)
{
    for (size_t i = 0; i < shards->buffer_count; i++)
        shards->memory[i] = arena_reals(arena, shards->reals);
    shards->arriving = arena_reals(arena, arriving_nodes(shards) * slice_reals(shards));
}

real *shards_begin(Shards *shards, size_t shard)
{
    if (shard == shards->first)
        arrsetlen(shards->nodes, 0);
    merge_halves(shards->nodes, shards->reals);
    /* A node keeps the buffer of its first shard, so the buffers in use are contiguous. */
    ShardNode leaf = {shard, 1, shards->memory[arrlenu(shards->nodes)]};
    arrput(shards->nodes, leaf);
    vector_zero(leaf.sum, shards->reals);
    return leaf.sum;
}

/* --- between ranks --- */

static void send_parts(const Shards *shards)
{
    for (size_t rank = 0; rank < ranks_count(); rank++)
        for (size_t i = 0; i < arrlenu(shards->nodes) && rank != ranks_index(); i++)
            ranks_send(shards->nodes[i].sum + shards->bounds[rank],
                       (shards->bounds[rank + 1] - shards->bounds[rank]) * sizeof(real), rank,
                       (int)i);
}

/* Sets or receives this slice of all nodes. */
static void receive_parts(Shards *shards)
{
    real *arriving = shards->arriving;
    size_t index = ranks_index();
    for (size_t rank = 0; rank < ranks_count(); rank++)
        for (size_t i = 0; i < arrlenu(shards->parts[rank]); i++) {
            ShardNode *node = &shards->parts[rank][i];
            if (rank == index) {
                node->sum = shards->nodes[i].sum + shards->bounds[index];
            } else {
                node->sum = arriving;
                ranks_receive(arriving, slice_reals(shards) * sizeof(real), rank, (int)i);
                arriving += slice_reals(shards);
            }
        }
}

real *shards_sum(Shards *shards)
{
    merge_halves(shards->nodes, shards->reals);
    send_parts(shards);
    receive_parts(shards);
    ranks_arrive();
    arrsetlen(shards->sum, 0);
    for (size_t rank = 0; rank < ranks_count(); rank++)
        for (size_t i = 0; i < arrlenu(shards->parts[rank]); i++) {
            arrput(shards->sum, shards->parts[rank][i]);
            merge_halves(shards->sum, slice_reals(shards));
        }
    while (arrlenu(shards->sum) > 1)
        merge(shards->sum, slice_reals(shards));
    real *slice = shards->memory[0] + shards->bounds[ranks_index()];
    if (shards->sum[0].sum != slice)
        memcpy(slice, shards->sum[0].sum, slice_reals(shards) * sizeof *slice);
    return shards->memory[0];
}
