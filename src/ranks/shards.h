/* Data-parallel training: a batch is split into shards, which the ranks (src/ranks/ranks.h)
 * share. The order in which gradients are summed depends only on the number of shards.
 *
 * Shards are the leaves of a binary tree. A node whose position is a multiple of its size is
 * the sum of its two halves; the remainder, if the number of shards is not a power of two, is
 * summed from the right. Each rank computes its shards in order and sums complete nodes. Then
 * a reduce-scatter: the gradient is cut into one slice per rank, and each rank receives its
 * slice of all nodes and finishes the sum. So the bits do not depend on the number of ranks,
 * and a rank sends little more than one gradient. */
#ifndef LINNET_SHARDS_H
#define LINNET_SHARDS_H

#include "src/base/memory.h"
#include "src/base/real.h"

typedef struct ShardNode {
    size_t first, size; /* range of shards in this sum */
    real *sum;          /* (reals) */
} ShardNode;

typedef struct Shards {
    size_t count, first, end; /* of the batch; range of this rank */
    size_t reals;             /* size of a gradient */
    size_t *bounds;           /* (ranks + 1) limits of the slices */
    ShardNode *nodes;         /* of this rank, an stb_ds array; their sums are in memory[] */
    ShardNode **parts;        /* (ranks) nodes of each rank, with this slice of their sums */
    ShardNode *sum;           /* the nodes being summed in shards_sum */
    real **memory;            /* (buffer_count) of (reals): gradient buffers */
    size_t buffer_count;
    real *arriving; /* (nodes, slice) this slice of the nodes of other ranks */
} Shards;

/* Takes ownership of bounds, an stb_ds array. */
void shards_make(Shards *shards, size_t count, size_t reals, size_t *bounds);
void shards_free(Shards *shards);
void shards_layout(Shards *shards, Arena *arena);

/* Returns the zeroed gradient buffer of a shard; call in order of the shards of a rank. */
real *shards_begin(Shards *shards, size_t shard);
/* Returns the total gradient, valid only in the slice of this rank. Collective. */
real *shards_sum(Shards *shards);

#endif
