/* Learns merges: the algorithm of Python's "tokenizers", with the same result.
 *
 * All different words lie one after another in an array of slots, one per byte. A token's first
 * and last slot hold its id, so its neighbours are found from both sides, and merging two
 * tokens writes at most three slots:
 *
 *   | t | h | e |    ->    | th | th | e |    ->    | the |   | the |
 *
 * Each pair of neighbours has its count and, in a queue of pairs ordered by count, the places
 * where it occurs. Merging a pair changes the counts of the pairs beside it. The queue is
 * updated lazily: only when an entry comes to the top is its count compared with the true one;
 * and places where a pair no longer is are skipped.
 *
 * Three details decide about the result when one string comes from several merges ("a" + "bc",
 * "ab" + "c"), since its pairs are then queued several times:
 *   - The count of a merged pair is not reset. If one of its tokens comes up again by another
 *     merge, the new occurrences are added to it.
 *   - An entry of such a pair merges all occurrences in the words of its places, not only
 *     its own.
 *   - If a pair is merged twice, the later rank counts. */
#include "data/bpe.h"
#include "data/hash.h"
#include "src/containers.h"

#include <stdlib.h>
#include <string.h>

#define BETWEEN    BPE_NONE       /* the slot between two words */
#define INSIDE     (BPE_NONE - 1) /* a slot where no token begins */
#define MOST_SLOTS (INSIDE - 1u)  /* places and ids have 32 bits */

typedef struct Slot {
    uint32_t id, count; /* the token, and how often the word occurs */
} Slot;

typedef struct Pair {
    uint32_t left, right;
    int64_t count;
    size_t fresh;    /* places found since the last queueing */
    uint32_t queued; /* how many entries it has had */
    uint32_t rank;   /* of its last merge, or BPE_NONE */
} Pair;

/* A place where a pair has come up. */
typedef struct Found {
    uint32_t pair, place;
} Found;

typedef struct Entry {
    int64_t count;
    uint64_t key; /* the pair's ids, for comparisons */
    size_t first; /* its places: from here on */
    uint32_t size, pair;
} Entry;

typedef struct Learner {
    Vocabulary *vocabulary;
    Slot *slots;
    size_t slot_count;
    Pair *pairs;     /* an stb_ds array */
    uint32_t *table; /* hash table of pairs, BPE_NONE in empty slots */
    size_t table_size;
    Found *found;      /* an stb_ds array, emptied by queueing */
    uint32_t *touched; /* the pairs in it, an stb_ds array */
    uint32_t *places;  /* of all entries, an stb_ds array */
    Entry *queue;      /* a heap, an stb_ds array */
} Learner;

/* --- words --- */

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
    l->slots = memory_take(total, sizeof *l->slots, "the words");
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

/* --- pairs --- */

static uint64_t key_of(const Pair *pair)
{
    return (uint64_t)pair->left << 32 | pair->right;
}

static void grow_table(Learner *l)
{
    enum { FIRST = 1 << 16 };
    l->table_size = l->table_size ? 2 * l->table_size : FIRST;
    free(l->table);
    l->table = memory_take(l->table_size, sizeof *l->table, "the pairs");
    memset(l->table, 0xff, l->table_size * sizeof *l->table);
    for (uint32_t i = 0; i < arrlenu(l->pairs); i++) {
        size_t slot = hash_number(key_of(&l->pairs[i])) & (l->table_size - 1);
        while (l->table[slot] != BPE_NONE)
            slot = (slot + 1) & (l->table_size - 1);
        l->table[slot] = i;
    }
}

static uint32_t pair_of(Learner *l, uint32_t left, uint32_t right)
{
    if (2 * arrlenu(l->pairs) >= l->table_size)
        grow_table(l);
    Pair fresh = {.left = left, .right = right, .rank = BPE_NONE};
    size_t slot = hash_number(key_of(&fresh)) & (l->table_size - 1);
    for (; l->table[slot] != BPE_NONE; slot = (slot + 1) & (l->table_size - 1)) {
        const Pair *pair = &l->pairs[l->table[slot]];
        if (pair->left == left && pair->right == right)
            return l->table[slot];
    }
    arrput(l->pairs, fresh);
    return l->table[slot] = (uint32_t)arrlenu(l->pairs) - 1;
}

static void pair_gone(Learner *l, uint32_t left, uint32_t right, uint32_t count)
{
    l->pairs[pair_of(l, left, right)].count -= count;
}

static void pair_found(Learner *l, uint32_t left, uint32_t right, uint32_t count, size_t place)
{
    uint32_t index = pair_of(l, left, right);
    Pair *pair = &l->pairs[index];
    pair->count += count;
    if (!pair->fresh++)
        arrput(l->touched, index);
    Found found = {index, (uint32_t)place};
    arrput(l->found, found);
}

/* --- the queue --- */

static bool comes_before(const Entry *a, const Entry *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    return a->key != b->key ? a->key < b->key : a->first < b->first;
}

static void sink(Entry *queue, size_t at)
{
    Entry entry = queue[at];
    size_t count = arrlenu(queue);
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && comes_before(&queue[child + 1], &queue[child]);
        if (!comes_before(&queue[child], &entry))
            break;
        queue[at] = queue[child];
    }
    queue[at] = entry;
}

static void push(Learner *l, Entry entry)
{
    arrput(l->queue, entry);
    size_t at = arrlenu(l->queue) - 1;
    for (size_t parent; at && comes_before(&entry, &l->queue[parent = (at - 1) / 2]);
         at = parent)
        l->queue[at] = l->queue[parent];
    l->queue[at] = entry;
}

static Entry pop(Learner *l)
{
    Entry top = l->queue[0], last = arrpop(l->queue);
    if (arrlenu(l->queue)) {
        l->queue[0] = last;
        sink(l->queue, 0);
    }
    return top;
}

/* Gives each pair that was found an entry with its places. */
static void queue_found(Learner *l)
{
    size_t next = arrlenu(l->places);
    for (size_t i = 0; i < arrlenu(l->touched); i++) {
        Pair *pair = &l->pairs[l->touched[i]];
        if (pair->count <= 0) { /* found and gone in one merge */
            pair->fresh = 0;
            continue;
        }
        Entry entry = {pair->count, key_of(pair), next, (uint32_t)pair->fresh, l->touched[i]};
        push(l, entry);
        pair->queued++;
        pair->fresh = next +=
            pair->fresh; /* the end of its places, which are filled from there */
    }
    arrsetlen(l->places, next);
    for (size_t i = arrlenu(l->found); i > 0; i--) {
        Pair *pair = &l->pairs[l->found[i - 1].pair];
        if (pair->fresh)
            l->places[--pair->fresh] = l->found[i - 1].place;
    }
    for (size_t i = 0; i < arrlenu(l->touched); i++)
        l->pairs[l->touched[i]].fresh = 0;
    arrsetlen(l->touched, 0);
    arrsetlen(l->found, 0);
}

static void queue_first(Learner *l)
{
    for (size_t i = 1; i + 1 < l->slot_count; i++) {
        const Slot *slot = &l->slots[i];
        if (slot[0].id != BETWEEN && slot[1].id != BETWEEN)
            pair_found(l, slot[0].id, slot[1].id, slot->count, i);
    }
    queue_found(l);
}

/* --- merging --- */

/* Merges the two tokens at a place. */
static void merge_at(Learner *l, size_t place, const BpeMerge *merge)
{
    const size_t *lengths = l->vocabulary->bpe->lengths;
    size_t middle = place + lengths[merge->left], next = middle + lengths[merge->right];
    Slot *slots = l->slots;
    uint32_t count = slots[place].count, before = slots[place - 1].id, after = slots[next].id;
    if (before != BETWEEN) {
        pair_gone(l, before, merge->left, count);
        pair_found(l, before, merge->result, count, place - lengths[before]);
    }
    if (after != BETWEEN) {
        pair_gone(l, merge->right, after, count);
        pair_found(l, merge->result, after, count, place);
    }
    slots[middle].id = INSIDE;
    slots[place].id = slots[next - 1].id = merge->result;
}

static bool is_at(const Learner *l, size_t place, const BpeMerge *merge)
{
    return l->slots[place].id == merge->left &&
           l->slots[place + l->vocabulary->bpe->lengths[merge->left]].id == merge->right;
}

static void merge_places(Learner *l, const Entry *entry, const BpeMerge *merge)
{
    for (size_t i = 0; i < entry->size; i++) {
        size_t place = l->places[entry->first + i];
        if (is_at(l, place, merge))
            merge_at(l, place, merge);
    }
}

/* Merges all occurrences in the words where the places are. */
static void merge_words(Learner *l, const Entry *entry, const BpeMerge *merge)
{
    for (size_t i = 0, done = 0; i < entry->size; i++) {
        size_t at = l->places[entry->first + i];
        if (at < done)
            continue;
        while (l->slots[at - 1].id != BETWEEN)
            at--;
        while (l->slots[at].id != BETWEEN) {
            if (is_at(l, at, merge))
                merge_at(l, at, merge);
            at += l->vocabulary->bpe->lengths[l->slots[at].id];
        }
        done = at;
    }
}

static void learn_merge(Learner *l, const Entry *entry)
{
    Pair *pair = &l->pairs[entry->pair];
    BpeMerge merge = {.left = pair->left, .right = pair->right};
    bool several = pair->queued > 1;
    merge.result = bpe_join(l->vocabulary, merge.left, merge.right, true);
    pair->rank = (uint32_t)arrlenu(l->vocabulary->bpe->merges);
    arrput(l->vocabulary->bpe->merges, merge);
    (several ? merge_words : merge_places)(l, entry, &merge);
    queue_found(l);
}

static void learn_merges(Learner *l, size_t size, size_t min_count)
{
    queue_first(l);
    while (l->vocabulary->count < size && arrlenu(l->queue)) {
        int64_t count = l->pairs[l->queue[0].pair].count;
        if (l->queue[0].count != count) {
            l->queue[0].count = count;
            sink(l->queue, 0);
            continue;
        }
        if (count < 1 || (uint64_t)count < min_count)
            break;
        Entry top = pop(l);
        learn_merge(l, &top);
    }
}

/* Of a pair that was merged several times, the last rank counts. */
static void drop_earlier_ranks(Learner *l)
{
    BpeMerge *merges = l->vocabulary->bpe->merges;
    size_t count = arrlenu(merges), kept = 0;
    bool *counts = memory_take(count, sizeof *counts, "the merges");
    for (size_t i = 0; i < arrlenu(l->pairs); i++)
        if (l->pairs[i].rank != BPE_NONE)
            counts[l->pairs[i].rank] = true;
    for (size_t rank = 0; rank < count; rank++)
        if (counts[rank])
            merges[kept++] = merges[rank];
    if (merges)
        arrsetlen(merges, kept);
    free(counts);
}

static void learner_free(Learner *l)
{
    free(l->slots);
    free(l->table);
    arrfree(l->pairs);
    arrfree(l->found);
    arrfree(l->touched);
    arrfree(l->places);
    arrfree(l->queue);
}

/* The special tokens come first. They are visible ASCII, so that no merge of other bytes can be
 * spelled like them in tokenizer.json. */
static bool add_special(Vocabulary *vocabulary, const char *list, Error *error)
{
    while (list && *list) {
        size_t size = strcspn(list, ",");
        bool good = size > 1 && bpe_find(vocabulary, list, size) == BPE_NONE;
        for (size_t i = 0; good && i < size; i++)
            good = list[i] > ' ' && list[i] <= '~';
        if (!good)
            return error_set(error,
                             "--special-tokens: '%.*s' is no special token; each has two or "
                             "more characters, visible ASCII, and comes once",
                             (int)size, list);
        BpeAdded added = {.id = bpe_add(vocabulary, list, size, true), .special = true};
        arrput(vocabulary->bpe->added, added);
        list += size + (list[size] == ',');
    }
    return true;
}

bool bpe_learn_begin(Vocabulary *vocabulary, const VocabularyLimits *limits, Error *error)
{
    if (limits->size && (limits->size < BPE_BYTES || limits->size > INT32_MAX))
        return error_set(
            error, "--vocab-size %zu: a BPE vocabulary has from %d (the bytes) to %d tokens",
            limits->size, BPE_BYTES, INT32_MAX);
    bpe_begin(vocabulary);
    if (!add_special(vocabulary, limits->special_tokens, error)) {
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
    BpeWord *words = bpe_counter_words(counter);
    bool good = lay_out(&learner, words, error);
    arrfree(words);
    if (good) {
        learn_merges(&learner, limits->size ? limits->size : BPE_USUAL_SIZE, limits->min_count);
        drop_earlier_ranks(&learner);
        bpe_finish(vocabulary);
    } else {
        vocabulary_free(vocabulary);
    }
    learner_free(&learner);
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
