/* Learns merges: the algorithm of Python's "tokenizers", with the same result.
 *
 * All different words lie one after another in an array of slots, one per byte. A token's first
 * and last slot hold its id, so its neighbours are found from both sides, and merging two
 * tokens writes at most three slots:
 *
 *   | t | h | e |    ->    | th | th | e |    ->    | the |   | the |
 *
 * Each pair of neighbours has its count and, in a queue of pairs ordered by count, the places
 * where it came up (bpe_pairs.h). Merging a pair changes the counts of the pairs beside it;
 * places where a pair no longer is are skipped.
 *
 * Three details decide about the result when one string comes from several merges ("a" + "bc",
 * "ab" + "c"), since its pairs are then queued several times:
 *   - The count of a merged pair is not reset. If one of its tokens comes up again by another
 *     merge, the new occurrences are added to it.
 *   - An entry of such a pair merges all occurrences in the words of its places, not only
 *     its own.
 *   - If a pair is merged twice, the later rank counts. */
#include "data/tokenizers/bpe_pairs.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

#define BETWEEN    BPE_NONE       /* the slot between two words */
#define INSIDE     (BPE_NONE - 1) /* a slot where no token begins */
#define MOST_SLOTS (INSIDE - 1u)  /* places and ids have 32 bits */

typedef struct Slot {
    uint32_t id, count; /* the token, and how often the word occurs */
} Slot;

typedef struct Learner {
    Vocabulary *vocabulary;
    Slot *slots;
    size_t slot_count;
    PairQueue pairs;
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
    const size_t *lengths = l->vocabulary->bpe->lengths;
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
           l->slots[place + l->vocabulary->bpe->lengths[merge->left]].id == merge->right;
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
            at += l->vocabulary->bpe->lengths[l->slots[at].id];
        }
        done = at;
    }
}

static void learn_merge(Learner *l, const PairEntry *entry)
{
    Pair *pair = &l->pairs.pairs[entry->pair];
    BpeMerge merge = {.left = pair->left, .right = pair->right};
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
    bool *counts = memory_take(count, sizeof *counts, "the merges");
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
        bool good = size > 1 && bpe_find(vocabulary, list, size) == BPE_NONE;
        for (size_t i = 0; good && i < size; i++)
            good = list[i] > ' ' && list[i] <= '~';
        if (!good)
            return error_usage(error,
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
