#include "src/attention/buckets.h"
#include "src/math/vector.h"

/* --- hashing --- */

size_t buckets_directions(const AttentionHead *head)
{
    return head->options->hashes * (head->options->buckets / 2);
}

size_t buckets_param_count(const AttentionHead *head)
{
    return buckets_directions(head) * head->width;
}

void buckets_start_params(real *params, const AttentionHead *head, RandomKey key)
{
    for (size_t i = 0; i < buckets_param_count(head); i++)
        params[i] = (real)random_normal(key, i);
}

static int32_t bucket_of(const real *projections, size_t half)
{
    size_t best = 0;
    for (size_t i = 1; i < half; i++)
        if (fabs(projections[i]) > fabs(projections[best]))
            best = i;
    return (int32_t)(projections[best] < 0 ? half + best : best);
}

void buckets_hash(int32_t *buckets, size_t stride, real *projections, const real *q,
                  const real *params, const AttentionHead *head)
{
    size_t half = head->options->buckets / 2;
    for (size_t i = 0; i < buckets_directions(head); i++)
        projections[i] = vector_dot(params + i * head->width, q, head->width);
    for (size_t round = 0; round < head->options->hashes; round++)
        buckets[round * stride] = bucket_of(projections + round * half, half);
}

/* --- memory --- */

int32_t *lay_out_indexes(Arena *arena, size_t count)
{
    return arena_bytes(arena, count, sizeof(int32_t));
}

SortedBuckets lay_out_sorted(Arena *arena, const AttentionHead *head)
{
    SortedBuckets sorted = {.order = lay_out_indexes(arena, head->length)};
    sorted.starts = lay_out_indexes(arena, head->options->buckets + 2);
    return sorted;
}

BucketChains lay_out_chains(Arena *arena, const AttentionHead *head)
{
    size_t hashes = head->options->hashes;
    BucketChains chains = {.latest = lay_out_indexes(arena, hashes * head->options->buckets)};
    chains.earlier = lay_out_indexes(arena, hashes * head->length);
    return chains;
}

/* --- a whole sequence --- */

/* Counting sort, stable. Counts are stored two places on: after summing, that entry is the
 * bucket's end, and after placing the positions its start. */
void buckets_sort(const SortedBuckets *sorted, const int32_t *buckets,
                  const AttentionHead *head)
{
    size_t count = head->options->buckets;
    int32_t *starts = sorted->starts;
    memset(starts, 0, (count + 2) * sizeof *starts);
    for (size_t i = 0; i < head->length; i++)
        starts[buckets[i] + 2]++;
    for (size_t i = 2; i < count + 2; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < head->length; i++)
        sorted->order[starts[buckets[i] + 1]++] = (int32_t)i;
}

/* --- decoding --- */

static size_t follow(int32_t *seen, int32_t *latest, int32_t *earlier, size_t position,
                     size_t near)
{
    size_t count = 0;
    for (int32_t next = *latest; next && count < near; next = earlier[next - 1])
        seen[count++] = next - 1;
    if (count == 0)
        seen[count++] = (int32_t)position;
    earlier[position] = *latest;
    *latest = (int32_t)position + 1;
    return count;
}

size_t buckets_follow(int32_t *seen, const BucketChains *chains, const int32_t *buckets,
                      size_t position, size_t near, const AttentionHead *head)
{
    size_t count = 0;
    for (size_t round = 0; round < head->options->hashes; round++) {
        int32_t *latest = chains->latest + round * head->options->buckets + buckets[round];
        count += follow(seen + count, latest, chains->earlier + round * head->length, position,
                        near);
    }
    return count;
}
