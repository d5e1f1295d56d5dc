#include "data/tokenizers/bpe_pairs.h"
#include "data/tokenizers/hash.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

static uint64_t key_of(const Pair *pair)
{
    return (uint64_t)pair->left << 32 | pair->right;
}

static void grow_table(PairQueue *q)
{
    enum { FIRST = 1 << 16 };
    q->table_size = q->table_size ? 2 * q->table_size : FIRST;
    free(q->table);
    q->table = memory_take(q->table_size, sizeof *q->table, "the pairs");
    memset(q->table, 0xff, q->table_size * sizeof *q->table);
    for (uint32_t i = 0; i < arrlenu(q->pairs); i++) {
        size_t slot = hash_number(key_of(&q->pairs[i])) & (q->table_size - 1);
        while (q->table[slot] != BPE_NONE)
            slot = (slot + 1) & (q->table_size - 1);
        q->table[slot] = i;
    }
}

static uint32_t pair_of(PairQueue *q, uint32_t left, uint32_t right)
{
    if (2 * arrlenu(q->pairs) >= q->table_size)
        grow_table(q);
    Pair fresh = {.left = left, .right = right, .rank = BPE_NONE};
    size_t slot = hash_number(key_of(&fresh)) & (q->table_size - 1);
    for (; q->table[slot] != BPE_NONE; slot = (slot + 1) & (q->table_size - 1)) {
        const Pair *pair = &q->pairs[q->table[slot]];
        if (pair->left == left && pair->right == right)
            return q->table[slot];
    }
    arrput(q->pairs, fresh);
    return q->table[slot] = (uint32_t)arrlenu(q->pairs) - 1;
}

void pairs_gone(PairQueue *q, uint32_t left, uint32_t right, uint32_t count)
{
    q->pairs[pair_of(q, left, right)].count -= count;
}

void pairs_found(PairQueue *q, uint32_t left, uint32_t right, uint32_t count, size_t place)
{
    uint32_t index = pair_of(q, left, right);
    Pair *pair = &q->pairs[index];
    pair->count += count;
    if (!pair->fresh++)
        arrput(q->touched, index);
    PairPlace found = {index, (uint32_t)place};
    arrput(q->found, found);
}

/* --- the queue --- */

static bool comes_before(const PairEntry *a, const PairEntry *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    return a->key != b->key ? a->key < b->key : a->first < b->first;
}

static void sink(PairEntry *queue, size_t at)
{
    PairEntry entry = queue[at];
    size_t count = arrlenu(queue);
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && comes_before(&queue[child + 1], &queue[child]);
        if (!comes_before(&queue[child], &entry))
            break;
        queue[at] = queue[child];
    }
    queue[at] = entry;
}

static void push(PairQueue *q, PairEntry entry)
{
    arrput(q->heap, entry);
    size_t at = arrlenu(q->heap) - 1;
    for (size_t parent; at && comes_before(&entry, &q->heap[parent = (at - 1) / 2]);
         at = parent)
        q->heap[at] = q->heap[parent];
    q->heap[at] = entry;
}

static PairEntry pop(PairQueue *q)
{
    PairEntry top = q->heap[0], last = arrpop(q->heap);
    if (arrlenu(q->heap)) {
        q->heap[0] = last;
        sink(q->heap, 0);
    }
    return top;
}

void pairs_queue_found(PairQueue *q)
{
    size_t next = arrlenu(q->places);
    for (size_t i = 0; i < arrlenu(q->touched); i++) {
        Pair *pair = &q->pairs[q->touched[i]];
        pair->end = 0;
        if (pair->count <= 0) /* found and gone in one merge */
            continue;
        PairEntry entry = {pair->count, key_of(pair), next, (uint32_t)pair->fresh,
                           q->touched[i]};
        push(q, entry);
        pair->queued++;
        next += pair->fresh;
        pair->end = next;
    }
    arrsetlen(q->places, next);
    for (size_t i = arrlenu(q->found); i > 0; i--) {
        Pair *pair = &q->pairs[q->found[i - 1].pair];
        if (pair->end)
            q->places[--pair->end] = q->found[i - 1].place;
    }
    for (size_t i = 0; i < arrlenu(q->touched); i++)
        q->pairs[q->touched[i]].fresh = 0;
    arrsetlen(q->touched, 0);
    arrsetlen(q->found, 0);
}

bool pairs_next(PairQueue *q, size_t min_count, PairEntry *entry)
{
    while (arrlenu(q->heap)) {
        int64_t count = q->pairs[q->heap[0].pair].count;
        if (q->heap[0].count != count) {
            q->heap[0].count = count;
            sink(q->heap, 0);
            continue;
        }
        if (count < 1 || (uint64_t)count < min_count)
            return false;
        *entry = pop(q);
        return true;
    }
    return false;
}

void pairs_free(PairQueue *q)
{
    free(q->table);
    arrfree(q->pairs);
    arrfree(q->found);
    arrfree(q->touched);
    arrfree(q->places);
    arrfree(q->heap);
}
