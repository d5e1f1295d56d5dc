/* Which positions hash alike, for LSH attention: reformer.c says what buckets are, and what a
 * position sees of its own. A text's positions are sorted by bucket, round by round; decoding
 * has chains instead, from each position to the one before it in its bucket. */
#ifndef LINNET_BUCKETS_H
#define LINNET_BUCKETS_H

#include "src/attention/attention.h"
#include "src/memory.h"

/* The directions of all rounds: half as many as buckets, as each has an opposite. They are the
 * head's own parameters, (directions, D), drawn and not trained. */
size_t buckets_directions(const AttentionHead *head);
size_t buckets_own_reals(const AttentionHead *head);
void buckets_start_own(real *own, const AttentionHead *head, RandomKey key);

int32_t *buckets_take_indexes(Arena *arena, size_t count);

/* The bucket of a position in every round, `stride` apart. Forward and decoding both come here,
 * so that they agree to the bit. Projections are memory for as many as there are directions. */
void buckets_hash(int32_t *buckets, size_t stride, real *projections, const real *q,
                  const real *own, const AttentionHead *head);

/* --- a text --- */

typedef struct SortedBuckets {
    int32_t *order;  /* (T) positions by bucket, and in a bucket by time */
    int32_t *starts; /* (buckets + 2) each bucket's first place in it */
} SortedBuckets;

SortedBuckets buckets_take_sorted(Arena *arena, const AttentionHead *head);
/* From the buckets of a round, (T). */
void buckets_sort(const SortedBuckets *sorted, const int32_t *buckets,
                  const AttentionHead *head);

/* --- decoding --- */

/* For every round, which position came before each in its bucket, and which is each bucket's
 * latest. They count from 1: 0 is none. */
typedef struct BucketChains {
    int32_t *latest;  /* (hashes, buckets) */
    int32_t *earlier; /* (hashes, T) */
} BucketChains;

BucketChains buckets_take_chains(Arena *arena, const AttentionHead *head);
/* Lists, round by round, the last `near` positions in the position's buckets, or itself if
 * there is none, and makes it their latest. Returns how many are listed. */
size_t buckets_follow(int32_t *seen, const BucketChains *chains, const int32_t *buckets,
                      size_t position, size_t near, const AttentionHead *head);

#endif
