/* The hash buckets of LSH attention, which reformer.c explains. A sequence's positions are
 * sorted by bucket in every round; decoding keeps chains from each position to the previous one
 * in its bucket. */
#ifndef LINNET_BUCKETS_H
#define LINNET_BUCKETS_H

#include "src/attention/attention.h"
#include "src/base/memory.h"

/* The number of random directions in all rounds: half the buckets, since each direction has an
 * opposite. They are the head's own parameters, (directions, D), not trained. */
size_t buckets_directions(const AttentionHead *head);
size_t buckets_param_count(const AttentionHead *head);
void buckets_start_params(real *params, const AttentionHead *head, RandomKey key);

int32_t *lay_out_indexes(Arena *arena, size_t count);

/* Computes the bucket of a position in every round, `stride` apart. Forward and decoding share
 * this function, so they agree to the bit. Projections are scratch, one per direction. */
void buckets_hash(int32_t *buckets, size_t stride, real *projections, const real *q,
                  const real *params, const AttentionHead *head);

/* --- a whole sequence --- */

typedef struct SortedBuckets {
    int32_t *order;  /* (T) positions sorted by bucket, then by time */
    int32_t *starts; /* (buckets + 2) each bucket's first index in order */
} SortedBuckets;

SortedBuckets lay_out_sorted(Arena *arena, const AttentionHead *head);
/* Sorts by the buckets of a round, (T). */
void buckets_sort(const SortedBuckets *sorted, const int32_t *buckets,
                  const AttentionHead *head);

/* --- decoding --- */

/* For every round: the previous position in the bucket of each, and the latest of each bucket.
 * Positions count from 1; 0 means none. */
typedef struct BucketChains {
    int32_t *latest;  /* (hashes, buckets) */
    int32_t *earlier; /* (hashes, T) */
} BucketChains;

BucketChains lay_out_chains(Arena *arena, const AttentionHead *head);
/* Lists, round by round, the last `near` positions in the position's buckets, or itself if
 * there is none, and appends it to the chains. Returns the length of the list. */
size_t buckets_follow(int32_t *seen, const BucketChains *chains, const int32_t *buckets,
                      size_t position, size_t near, const AttentionHead *head);

#endif
