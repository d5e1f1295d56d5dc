/* Learns merges: the algorithm of Python's "tokenizers", with the same result.
 *
 * All different words lie one after another in an array of slots, one per byte. A token's first
 * and last slot hold its id, so its neighbours are found from both sides, and merging two
 * tokens writes at most three slots:
 *
 *   | t | h | e |    ->    | th | th | e |    ->    | the |   | the |
 *
 * Each pair of neighbours has its count and, in a queue of pairs ordered by count, the places
 * where it came up. Merging a pair changes the counts of the pairs beside it; places where a
 * pair no longer is are skipped.
 *
 * Three details decide about the result when one string comes from several merges ("a" + "bc",
 * "ab" + "c"), since its pairs are then queued several times:
 *   - The count of a merged pair is not reset. If one of its tokens comes up again by another
 *     merge, the new occurrences are added to it.
 *   - An entry of such a pair merges all occurrences in the words of its places, not only
 *     its own.
 *   - If a pair is merged twice, the later rank counts. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/heap.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

#define BETWEEN    BPE_NONE       /* the slot between two words */
#define INSIDE     (BPE_NONE - 1) /* a slot where no token begins */
#define MOST_SLOTS (INSIDE - 1u)  /* places and ids have 32 bits */

/* --- pairs ---
 *
 * How often each pair occurs, and a queue of them, the most frequent first, with the places
 * where they came up. Counts change with every merge. The queue is updated lazily: only when an
 * entry comes to the top is its count compared with the true one. */

typedef struct Pair {
    uint64_t key; /* bpe_pair */
    int64_t count;
    size_t fresh;    /* places found since the last queueing, */
    size_t end;      /* and during it the end of those that are still to be filled in */
    uint32_t queued; /* how many entries it has had */
    uint32_t rank;   /* of its last merge, or BPE_NONE */
} Pair;

/* A place where a pair has come up. */
typedef struct PairPlace {
    uint32_t pair, place;
} PairPlace;

typedef struct PairEntry {
    int64_t count;
    uint64_t key; /* the pair's, for comparisons */
    size_t first; /* its places: from here on */
    uint32_t size, pair;
} PairEntry;

typedef struct PairQueue {
    Pair *pairs;       /* an stb_ds array */
    HashTable table;   /* of indexes of pairs */
    PairPlace *found;  /* an stb_ds array, emptied by queueing */
    uint32_t *touched; /* the pairs in it, an stb_ds array */
    uint32_t *places;  /* of all entries, an stb_ds array */
    PairEntry *heap;   /* an stb_ds array */
} PairQueue;

static bool is_pair(const void *pairs, uint32_t index, const void *key)
{
    return ((const Pair *)pairs)[index].key == *(const uint64_t *)key;
}

static uint32_t pair_of(PairQueue *q, uint32_t left, uint32_t right)
{
    Pair fresh = {.key = bpe_pair(left, right), .rank = BPE_NONE};
    uint32_t hash = hash_number(fresh.key);
    uint32_t index = hash_find(&q->table, hash, is_pair, q->pairs, &fresh.key);
    if (index == HASH_NONE) {
        index = (uint32_t)arrlenu(q->pairs);
        arrput(q->pairs, fresh);
        hash_add(&q->table, hash, index);
    }
    return index;
}

/* So many occurrences of a pair are gone, or have come up at a place. */
static void pairs_gone(PairQueue *q, uint32_t left, uint32_t right, uint32_t count)
{
    q->pairs[pair_of(q, left, right)].count -= count;
}

static void pairs_found(PairQueue *q, uint32_t left, uint32_t right, uint32_t count,
                        size_t place)
{
    uint32_t index = pair_of(q, left, right);
    Pair *pair = &q->pairs[index];
    pair->count += count;
    if (!pair->fresh++)
        arrput(q->touched, index);
    PairPlace found = {index, (uint32_t)place};
    arrput(q->found, found);
}

static bool comes_before(const void *left, const void *right)
{
    const PairEntry *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count;
    return a->key != b->key ? a->key < b->key : a->first < b->first;
}

/* Gives each pair that was found an entry with its places. */
static void pairs_queue_found(PairQueue *q)
{
    size_t next = arrlenu(q->places);
    for (size_t i = 0; i < arrlenu(q->touched); i++) {
        Pair *pair = &q->pairs[q->touched[i]];
        pair->end = 0;
        if (pair->count <= 0) /* found and gone in one merge */
            continue;
        PairEntry entry = {pair->count, pair->key, next, (uint32_t)pair->fresh, q->touched[i]};
        arrput(q->heap, entry);
        heap_rise(q->heap, arrlenu(q->heap), sizeof *q->heap, comes_before);
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

/* Takes the entry of the most frequent pair; false if none occurs so often. */
static bool pairs_next(PairQueue *q, size_t min_count, PairEntry *entry)
{
    while (arrlenu(q->heap)) {
        int64_t count = q->pairs[q->heap[0].pair].count;
        if (q->heap[0].count != count) {
            q->heap[0].count = count;
            heap_sink(q->heap, arrlenu(q->heap), 0, sizeof *q->heap, comes_before);
            continue;
        }
        if (count < 1 || (uint64_t)count < min_count)
            return false;
        heap_pop(q->heap, arrlenu(q->heap), sizeof *q->heap, comes_before);
        *entry = arrpop(q->heap);
        return true;
    }
    return false;
}

static void pairs_free(PairQueue *q)
{
    arrfree(q->pairs);
    hash_free(&q->table);
    arrfree(q->found);
    arrfree(q->touched);
    arrfree(q->places);
    arrfree(q->heap);
}

/* --- words --- */

typedef struct Slot {
    uint32_t id, count; /* the token, and how often the word occurs */
} Slot;

typedef struct Learner {
    Vocabulary *vocabulary;
    Slot *slots;
    size_t slot_count;
    PairQueue pairs;
} Learner;

/* The slots of the words, with one before each and after the last that belong to none. */
static bool lay_out(Learner *l, const BpeWord *words, Error *error)
{
    size_t total = 1;
    for (size_t i = 0; i < arrlenu(words); i++)
        total += words[i].size + (size_t)1;
    if (total > MOST_SLOTS)
        return error_set(error,
                         "the different words of the text have %zu bytes, more than "
                         "--tokens bpe can learn from (4 GB)",
                         total);
    const uint32_t *bytes = l->vocabulary->bpe->bytes;
    l->slots = memory_new(total, sizeof *l->slots, "the words");
    Slot *slot = l->slots;
    slot++->id = BETWEEN;
    for (size_t i = 0; i < arrlenu(words); i++) {
        uint32_t count = words[i].count < UINT32_MAX ? (uint32_t)words[i].count : UINT32_MAX;
        for (size_t j = 0; j < words[i].size; j++)
            *slot++ = (Slot){bytes[(unsigned char)words[i].bytes[j]], count};
        slot++->id = BETWEEN;
    }
    l->slot_count = total;
    return true;
}

static void queue_first(Learner *l)
{
    for (size_t i = 1; i + 1 < l->slot_count; i++) {
        const Slot *slot = &l->slots[i];
        if (slot[0].id != BETWEEN && slot[1].id != BETWEEN)
            pairs_found(&l->pairs, slot[0].id, slot[1].id, slot->count, i);
    }
    pairs_queue_found(&l->pairs);
}

/* --- merging --- */

/* Merges the two tokens at a place. */
static void merge_at(Learner *l, size_t place, const BpeMerge *merge)
{
    const uint32_t *lengths = l->vocabulary->lengths;
    size_t middle = place + lengths[merge->left], next = middle + lengths[merge->right];
    Slot *slots = l->slots;
    uint32_t count = slots[place].count, before = slots[place - 1].id, after = slots[next].id;
    if (before != BETWEEN) {
        pairs_gone(&l->pairs, before, merge->left, count);
        pairs_found(&l->pairs, before, merge->result, count, place - lengths[before]);
    }
    if (after != BETWEEN) {
        pairs_gone(&l->pairs, merge->right, after, count);
        pairs_found(&l->pairs, merge->result, after, count, place);
    }
    slots[middle].id = INSIDE;
    slots[place].id = slots[next - 1].id = merge->result;
}

static bool is_at(const Learner *l, size_t place, const BpeMerge *merge)
{
    return l->slots[place].id == merge->left &&
           l->slots[place + l->vocabulary->lengths[merge->left]].id == merge->right;
}

static void merge_places(Learner *l, const PairEntry *entry, const BpeMerge *merge)
{
    for (size_t i = 0; i < entry->size; i++) {
        size_t place = l->pairs.places[entry->first + i];
        if (is_at(l, place, merge))
            merge_at(l, place, merge);
    }
}

/* Merges all occurrences in the words where the places are. */
static void merge_words(Learner *l, const PairEntry *entry, const BpeMerge *merge)
{
    for (size_t i = 0, done = 0; i < entry->size; i++) {
        size_t at = l->pairs.places[entry->first + i];
        if (at < done)
            continue;
        while (l->slots[at - 1].id != BETWEEN)
            at--;
        while (l->slots[at].id != BETWEEN) {
            if (is_at(l, at, merge))
                merge_at(l, at, merge);
            at += l->vocabulary->lengths[l->slots[at].id];
        }
        done = at;
    }
}

static void learn_merge(Learner *l, const PairEntry *entry)
{
    Pair *pair = &l->pairs.pairs[entry->pair];
    BpeMerge merge = {.left = (uint32_t)(pair->key >> 32), .right = (uint32_t)pair->key};
    bool several = pair->queued > 1;
    merge.result = bpe_join(l->vocabulary, merge.left, merge.right, true);
    pair->rank = (uint32_t)arrlenu(l->vocabulary->bpe->merges);
    arrput(l->vocabulary->bpe->merges, merge);
    (several ? merge_words : merge_places)(l, entry, &merge);
    pairs_queue_found(&l->pairs);
}

static void learn_merges(Learner *l, size_t size, size_t min_count)
{
    PairEntry entry;
    queue_first(l);
    while (l->vocabulary->count < size && pairs_next(&l->pairs, min_count, &entry))
        learn_merge(l, &entry);
}

/* Of a pair that was merged several times, the last rank counts. */
static void drop_earlier_ranks(Learner *l)
{
    BpeMerge *merges = l->vocabulary->bpe->merges;
    size_t count = arrlenu(merges), kept = 0;
    bool *counts = memory_new(count, sizeof *counts, "the merges");
    for (size_t i = 0; i < arrlenu(l->pairs.pairs); i++)
        if (l->pairs.pairs[i].rank != BPE_NONE)
            counts[l->pairs.pairs[i].rank] = true;
    for (size_t rank = 0; rank < count; rank++)
        if (counts[rank])
            merges[kept++] = merges[rank];
    if (merges)
        arrsetlen(merges, kept);
    free(counts);
}

/* The special tokens come first. They are visible ASCII, so that no merge of other bytes can be
 * spelled like them in tokenizer.json. */
static bool add_special(Vocabulary *vocabulary, const char *list, Error *error)
{
    while (list && *list) {
        size_t size = strcspn(list, ",");
        bool good = size > 1 && vocabulary_find_bytes(vocabulary, list, size) == TOKEN_NONE;
        for (size_t i = 0; good && i < size; i++)
            good = list[i] > ' ' && list[i] <= '~';
        if (!good)
            return error_usage(error,
                               "--special-tokens: '%.*s' is no special token; each has two or "
                               "more characters, visible ASCII, and comes once",
                               (int)size, list);
        BpeAdded added = {.id = (uint32_t)vocabulary_append(vocabulary, list, size, true),
                          .special = true};
        arrput(vocabulary->bpe->added, added);
        list += size + (list[size] == ',');
    }
    return true;
}

bool bpe_learn_begin(Vocabulary *vocabulary, const VocabularyLimits *limits, Error *error)
{
    if (limits->size && (limits->size < BPE_BYTES || limits->size > INT32_MAX))
        return error_usage(
            error, "--vocab-size %zu: a BPE vocabulary has from %d (the bytes) to %d tokens",
            limits->size, BPE_BYTES, INT32_MAX);
    bpe_begin(vocabulary);
    bool good = add_special(vocabulary, limits->special_tokens, error);
    size_t least = BPE_BYTES + vocabulary->count;
    if (good && limits->size && limits->size < least)
        good = error_usage(error,
                           "--vocab-size %zu: the bytes and the special tokens are %zu already",
                           limits->size, least);
    if (!good) {
        vocabulary_free(vocabulary);
        return false;
    }
    bpe_add_bytes(vocabulary);
    bpe_finish(vocabulary);
    return true;
}

bool bpe_learn_counted(Vocabulary *vocabulary, BpeCounter *counter,
                       const VocabularyLimits *limits, Error *error)
{
    Learner learner = {.vocabulary = vocabulary};
    bool good = lay_out(&learner, bpe_counter_words(counter), error);
    if (good) {
        learn_merges(&learner, limits->size ? limits->size : BPE_USUAL_SIZE, limits->min_count);
        drop_earlier_ranks(&learner);
        bpe_finish(vocabulary);
    } else {
        vocabulary_free(vocabulary);
    }
    free(learner.slots);
    pairs_free(&learner.pairs);
    return good;
}

bool bpe_learn(Vocabulary *vocabulary, const char *text, size_t size,
               const VocabularyLimits *limits, Error *error)
{
    if (!bpe_learn_begin(vocabulary, limits, error))
        return false;
    BpeCounter *counter = bpe_counter_begin();
    bpe_counter_add(counter, text, size);
    bool good = bpe_learn_counted(vocabulary, counter, limits, error);
    bpe_counter_end(counter);
    return good;
}
