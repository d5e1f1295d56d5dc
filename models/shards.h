/* A step's batch is computed in shards, which ranks (src/ranks.h) share, and whose gradients
 * are summed in an order that depends on the number of shards alone.
 *
 * Shards are the leaves of a binary tree. A node at a place divisible by its size is the sum of
 * its two halves, and what is left over when the shards are no power of two is summed from the
 * right. Each rank computes the shards of its range one after another and sums what is a node.
 * Then the gradient is cut into slices, one for each rank: each gets from all others their
 * nodes' parts of its slice, and finishes the sum. So a sum has the same bits for any number of
 * ranks, and what one rank sends is little more than one gradient. */
#ifndef LINNET_SHARDS_H
#define LINNET_SHARDS_H

#include "src/memory.h"
#include "src/real.h"

typedef struct ShardNode {
    size_t first, size; /* the shards that it is the sum of */
    real *sum;
} ShardNode;

typedef struct Shards {
    size_t count, first, end; /* of the batch; of this rank: first, and behind the last */
    size_t reals;             /* of a gradient */
    size_t *bounds;           /* [ranks + 1] where the slices begin and end */
    ShardNode *nodes;         /* of this rank, an array of stb_ds; sums are in memory[] */
    ShardNode **parts;        /* [ranks] their nodes, with this rank's slice of each sum */
    ShardNode *sum;           /* the nodes being summed in shards_sum */
    real **memory;            /* [held] gradients */
    size_t held;
    real *arriving; /* the parts of this rank's slice that others send */
} Shards;

/* Owns the bounds, an array of stb_ds. */
void shards_make(Shards *shards, size_t count, size_t reals, size_t *bounds);
void shards_free(Shards *shards);
void shards_layout(Shards *shards, Arena *arena);

/* The gradient to add the shard's to; the shards of a rank come in order. */
real *shards_begin(Shards *shards, size_t shard);
/* The sum, of which this rank's slice is right, once all ranks have come here. */
real *shards_sum(Shards *shards);

#endif
