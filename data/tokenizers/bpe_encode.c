/* Encodes texts by the merges of a BPE vocabulary.
 *
 * Words repeat, so a cache has the ids of recent ones. It keeps no copies: an entry says where
 * in the text the word occurred and where in the output its ids are. Its size is bounded; a new
 * word takes the place of another.
 *
 * A short word is merged by looking for the best pair again and again. For a long one, which
 * may be a whole text without blanks, that would be quadratic, so its pairs are in a heap. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/hash.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

enum { SHORT = 48 }; /* bytes of a word that needs no heap */

/* --- short words --- */

/* Merges ids[0..count), and returns how many are left. */
static size_t merge_short(const Bpe *bpe, uint32_t *ids, size_t count)
{
    uint32_t ranks[SHORT];
    for (size_t i = 0; i + 1 < count; i++)
        ranks[i] = bpe_rank(bpe, ids[i], ids[i + 1]);
    while (count > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < count; i++)
            best = ranks[i] < ranks[best] ? i : best;
        if (ranks[best] == BPE_NONE)
            break;
        ids[best] = bpe->merges[ranks[best]].result;
        count--;
        for (size_t i = best + 1; i < count; i++) {
            ids[i] = ids[i + 1];
            ranks[i - 1] = ranks[i];
        }
        if (best > 0)
            ranks[best - 1] = bpe_rank(bpe, ids[best - 1], ids[best]);
        if (best + 1 < count)
            ranks[best] = bpe_rank(bpe, ids[best], ids[best + 1]);
    }
    return count;
}

/* --- long words --- */

/* A slot per byte, of which a token's first and last hold its id, as in learning. */
typedef struct LongWord {
    const Bpe *bpe;
    uint32_t *slots;
    size_t size;
    uint64_t *heap; /* rank and place of pairs, the lowest first; an stb_ds array */
} LongWord;

static void sink(uint64_t *heap, size_t count, size_t at)
{
    uint64_t entry = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (entry <= heap[child])
            break;
        heap[at] = heap[child];
    }
    heap[at] = entry;
}

static void push(LongWord *word, uint64_t entry)
{
    arrput(word->heap, entry);
    uint64_t *heap = word->heap;
    size_t at = arrlenu(heap) - 1;
    for (size_t parent; at && entry < heap[parent = (at - 1) / 2]; at = parent)
        heap[at] = heap[parent];
    heap[at] = entry;
}

static uint64_t pop(LongWord *word)
{
    uint64_t top = word->heap[0], last = arrpop(word->heap);
    size_t count = arrlenu(word->heap);
    if (count) {
        word->heap[0] = last;
        sink(word->heap, count, 0);
    }
    return top;
}

/* Adds the pair at a place to the heap, if it has a merge. */
static void consider(LongWord *word, size_t place, bool at_end)
{
    size_t next = place + word->bpe->lengths[word->slots[place]];
    if (next >= word->size)
        return;
    uint32_t rank = bpe_rank(word->bpe, word->slots[place], word->slots[next]);
    if (rank == BPE_NONE)
        return;
    uint64_t entry = (uint64_t)rank << 32 | place;
    if (at_end)
        arrput(word->heap, entry);
    else
        push(word, entry);
}

/* Merges the pair of a heap entry, unless one of its tokens has been merged since. */
static void merge_entry(LongWord *word, uint64_t entry)
{
    const size_t *lengths = word->bpe->lengths;
    const BpeMerge *merge = &word->bpe->merges[entry >> 32];
    uint32_t *slots = word->slots;
    size_t place = (uint32_t)entry, middle = place + lengths[merge->left];
    if (slots[place] != merge->left || middle >= word->size || slots[middle] != merge->right)
        return;
    slots[middle] = BPE_NONE;
    slots[place] = slots[middle + lengths[merge->right] - 1] = merge->result;
    if (place)
        consider(word, place - lengths[slots[place - 1]], false);
    consider(word, place, false);
}

static void encode_long(const Bpe *bpe, const char *text, size_t size, int32_t **ids)
{
    LongWord word = {bpe, memory_take(size, sizeof *word.slots, "a long word"), size, NULL};
    for (size_t i = 0; i < size; i++)
        word.slots[i] = bpe->bytes[(unsigned char)text[i]];
    for (size_t i = 0; i < size; i++)
        consider(&word, i, true);
    for (size_t i = arrlenu(word.heap) / 2; i > 0; i--)
        sink(word.heap, arrlenu(word.heap), i - 1);
    while (arrlenu(word.heap))
        merge_entry(&word, pop(&word));
    for (size_t i = 0; i < size; i += bpe->lengths[word.slots[i]])
        arrput(*ids, (int32_t)word.slots[i]);
    free(word.slots);
    arrfree(word.heap);
}

/* --- the cache --- */

/* A word of the text and its ids in the output. */
typedef struct CacheEntry {
    size_t at, ids;
    uint32_t size, count; /* size 0: empty */
} CacheEntry;

typedef struct Cache {
    CacheEntry *entries;
    size_t mask;
} Cache;

/* A short text needs a small cache only. */
static Cache cache_make(size_t text_size)
{
    enum { LEAST = 1 << 6, MOST = 1 << 17 };
    size_t slots = LEAST;
    while (slots < MOST && slots < text_size / 8)
        slots *= 2;
    return (Cache){memory_take(slots, sizeof(CacheEntry), "the cache of words"), slots - 1};
}

/* --- encoding --- */

static void encode_word(const Bpe *bpe, const char *text, size_t size, int32_t **ids)
{
    if (size > SHORT) {
        encode_long(bpe, text, size, ids);
        return;
    }
    uint32_t short_ids[SHORT];
    for (size_t i = 0; i < size; i++)
        short_ids[i] = bpe->bytes[(unsigned char)text[i]];
    size_t count = merge_short(bpe, short_ids, size);
    int32_t *next = arraddnptr(*ids, count);
    for (size_t i = 0; i < count; i++)
        next[i] = (int32_t)short_ids[i];
}

/* Encodes a part of the text in which added tokens have no place. */
static void encode_part(const Bpe *bpe, const Cache *cache, const char *text, size_t at,
                        size_t end, int32_t **ids)
{
    while (at < end) {
        size_t size = bpe_cut(text, end, at) - at, before = arrlenu(*ids);
        CacheEntry *entry = &cache->entries[hash_bytes(text + at, size) & cache->mask];
        if (entry->size == size && memcmp(text + entry->at, text + at, size) == 0) {
            int32_t *next = arraddnptr(*ids, entry->count);
            for (size_t i = 0; i < entry->count; i++)
                next[i] = (*ids)[entry->ids + i];
        } else {
            encode_word(bpe, text + at, size, ids);
            *entry = (CacheEntry){at, before, (uint32_t)size,
                                  (uint32_t)(arrlenu(*ids) - before)};
        }
        at += size;
    }
}

/* --- added tokens --- */

/* "tokenizers" cuts a text at the added tokens that are not normalized, then what is left at
 * the others. */
enum { PASSES = 2 };

typedef struct Encoding {
    const Vocabulary *vocabulary;
    const char *text;
    int32_t **ids;
    Cache cache;
    bool begins[PASSES][BPE_BYTES]; /* whether an added token begins with this byte */
} Encoding;

/* The first of added[low..high), which are equal before this byte, where it is at least c. */
static size_t bound(const Vocabulary *vocabulary, size_t low, size_t high, size_t byte, int c)
{
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((unsigned char)vocabulary->words[vocabulary->bpe->added[middle].id][byte] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest added token of a pass at the start of a text, or NULL. */
static const BpeAdded *added_at(const Vocabulary *vocabulary, int pass, const char *text,
                                size_t size)
{
    const Bpe *bpe = vocabulary->bpe;
    const BpeAdded *longest = NULL;
    size_t low = 0, high = arrlenu(bpe->added);
    for (size_t i = 0; low < high; i++) { /* added[low..high) begin with i bytes of the text */
        if (bpe->lengths[bpe->added[low].id] == i) {
            longest = bpe->added[low].normalized == pass ? &bpe->added[low] : longest;
            low++;
        }
        if (i == size)
            break;
        low = bound(vocabulary, low, high, i, (unsigned char)text[i]);
        high = bound(vocabulary, low, high, i, (unsigned char)text[i] + 1);
    }
    return longest;
}

static void encode_pass(const Encoding *e, int pass, size_t at, size_t end)
{
    if (pass == PASSES) {
        encode_part(e->vocabulary->bpe, &e->cache, e->text, at, end, e->ids);
        return;
    }
    for (size_t i = at; i < end; i++) {
        const BpeAdded *token = NULL;
        if (e->begins[pass][(unsigned char)e->text[i]])
            token = added_at(e->vocabulary, pass, e->text + i, end - i);
        if (!token)
            continue;
        encode_pass(e, pass + 1, at, i);
        arrput(*e->ids, (int32_t)token->id);
        at = i + e->vocabulary->bpe->lengths[token->id];
        i = at - 1;
    }
    encode_pass(e, pass + 1, at, end);
}

size_t bpe_encode(const Vocabulary *vocabulary, const char *text, size_t size, int32_t **ids)
{
    const Bpe *bpe = vocabulary->bpe;
    Encoding encoding = {vocabulary, text, ids, cache_make(size), {{false}}};
    for (size_t i = 0; i < arrlenu(bpe->added); i++) {
        const char *word = vocabulary->words[bpe->added[i].id];
        encoding.begins[bpe->added[i].normalized][(unsigned char)word[0]] = true;
    }
    encode_pass(&encoding, arrlenu(bpe->added) ? 0 : PASSES, 0, size);
    free(encoding.cache.entries);
    return 0;
}
