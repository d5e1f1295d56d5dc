/* A BPE vocabulary: its tokens, its merges, and encoding by them.
 *
 * Words repeat, so a cache has the ids of recent ones. It keeps no copies: an entry says where
 * in the text the word occurred and where in the output its ids are. Its size is bounded; a new
 * word takes the place of another.
 *
 * A short word is merged by looking for the best pair again and again. For a long one, which
 * may be a whole text without blanks, that would be quadratic, so its pairs are in a heap. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/heap.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

void bpe_begin(Vocabulary *vocabulary)
{
    vocabulary_begin(vocabulary, &bpe_tokenizer);
    vocabulary->bpe = memory_new(1, sizeof(Bpe), "the vocabulary");
}

uint32_t bpe_join(Vocabulary *vocabulary, uint32_t left, uint32_t right, bool add)
{
    enum { USUAL = 256 };
    const uint32_t *lengths = vocabulary->lengths;
    size_t size = (size_t)lengths[left] + lengths[right];
    char usual[USUAL], *joined = size <= USUAL ? usual : memory_new(size, 1, "a token");
    memcpy(joined, vocabulary->words[left], lengths[left]);
    memcpy(joined + lengths[left], vocabulary->words[right], lengths[right]);
    int32_t id = vocabulary_find_bytes(vocabulary, joined, size);
    if (id == TOKEN_NONE && add)
        id = vocabulary_append(vocabulary, joined, size, true);
    if (joined != usual)
        free(joined);
    return (uint32_t)id; /* BPE_NONE is TOKEN_NONE */
}

/* --- merges and added tokens --- */

static bool is_merge(const void *merges, uint32_t rank, const void *pair)
{
    const BpeMerge *merge = (const BpeMerge *)merges + rank;
    return bpe_pair(merge->left, merge->right) == *(const uint64_t *)pair;
}

uint32_t bpe_rank(const Bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t pair = bpe_pair(left, right);
    return hash_find(&bpe->ranks, hash_number(pair), is_merge, bpe->merges, &pair);
}

/* Returns the rank of a merge whose pair has an earlier one, or BPE_NONE. */
static uint32_t rank_merges(Bpe *bpe)
{
    uint32_t twice = BPE_NONE;
    hash_free(&bpe->ranks);
    for (uint32_t rank = 0; rank < arrlenu(bpe->merges); rank++) {
        const BpeMerge *merge = &bpe->merges[rank];
        if (bpe_rank(bpe, merge->left, merge->right) == BPE_NONE)
            hash_add(&bpe->ranks, hash_number(bpe_pair(merge->left, merge->right)), rank);
        else if (twice == BPE_NONE)
            twice = rank;
    }
    return twice;
}

/* Bytes decide the order, then the length. */
static int compare_tokens(const Vocabulary *vocabulary, uint32_t a, uint32_t b)
{
    const uint32_t *lengths = vocabulary->lengths;
    size_t both = lengths[a] < lengths[b] ? lengths[a] : lengths[b];
    int order = memcmp(vocabulary->words[a], vocabulary->words[b], both);
    return order ? order : (lengths[a] > lengths[b]) - (lengths[a] < lengths[b]);
}

static int earlier_in_order(const void *a, const void *b, void *vocabulary)
{
    return compare_tokens(vocabulary, ((const BpeAdded *)a)->id, ((const BpeAdded *)b)->id);
}

static void index_added(Vocabulary *vocabulary)
{
    Bpe *bpe = vocabulary->bpe;
    if (!bpe->added)
        return;
    qsort_r(bpe->added, arrlenu(bpe->added), sizeof *bpe->added, earlier_in_order, vocabulary);
    arrsetlen(bpe->added_index, vocabulary->count);
    memset(bpe->added_index, 0xff, vocabulary->count * sizeof *bpe->added_index);
    for (uint32_t i = 0; i < arrlenu(bpe->added); i++)
        bpe->added_index[bpe->added[i].id] = i;
}

const BpeAdded *bpe_added(const Bpe *bpe, uint32_t id)
{
    bool added = bpe->added_index && bpe->added_index[id] != BPE_NONE;
    return added ? &bpe->added[bpe->added_index[id]] : NULL;
}

uint32_t bpe_finish(Vocabulary *vocabulary)
{
    Bpe *bpe = vocabulary->bpe;
    for (int byte = 0; byte < BPE_BYTES; byte++) {
        char one = (char)byte;
        bpe->bytes[byte] = (uint32_t)vocabulary_find_bytes(vocabulary, &one, 1);
    }
    vocabulary->eos = (int32_t)bpe->bytes['\n'];
    index_added(vocabulary);
    return rank_merges(bpe);
}

static void copy_merges(Vocabulary *copy, const Vocabulary *vocabulary)
{
    const Bpe *from = vocabulary->bpe;
    copy->bpe = memory_new(1, sizeof(Bpe), "the vocabulary");
    for (size_t i = 0; i < arrlenu(from->merges); i++)
        arrput(copy->bpe->merges, from->merges[i]);
    for (size_t i = 0; i < arrlenu(from->added); i++)
        arrput(copy->bpe->added, from->added[i]);
    bpe_finish(copy);
}

static void free_merges(Vocabulary *vocabulary)
{
    Bpe *bpe = vocabulary->bpe;
    arrfree(bpe->merges);
    arrfree(bpe->added);
    arrfree(bpe->added_index);
    hash_free(&bpe->ranks);
    free(bpe);
}

/* --- encoding short words --- */

enum { SHORT = 48 }; /* bytes of a word that needs no heap */

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

/* --- encoding long words --- */

/* A slot per byte, of which a token's first and last hold its id, as in learning. */
typedef struct LongWord {
    const Vocabulary *vocabulary;
    uint32_t *slots;
    size_t size;
    uint64_t *heap; /* rank and place of pairs, the lowest first; an stb_ds array */
} LongWord;

static bool is_lower(const void *a, const void *b)
{
    return *(const uint64_t *)a < *(const uint64_t *)b;
}

/* Adds the pair at a place to the heap, if it has a merge. */
static void consider(LongWord *word, size_t place, bool at_end)
{
    size_t next = place + word->vocabulary->lengths[word->slots[place]];
    if (next >= word->size)
        return;
    uint32_t rank = bpe_rank(word->vocabulary->bpe, word->slots[place], word->slots[next]);
    if (rank == BPE_NONE)
        return;
    arrput(word->heap, (uint64_t)rank << 32 | place);
    if (!at_end)
        heap_rise(word->heap, arrlenu(word->heap), sizeof *word->heap, is_lower);
}

/* Merges the pair of a heap entry, unless one of its tokens has been merged since. */
static void merge_entry(LongWord *word, uint64_t entry)
{
    const uint32_t *lengths = word->vocabulary->lengths;
    const BpeMerge *merge = &word->vocabulary->bpe->merges[entry >> 32];
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

static void encode_long(const Vocabulary *vocabulary, const char *text, size_t size,
                        int32_t **ids)
{
    LongWord word = {vocabulary, memory_new(size, sizeof *word.slots, "a long word"), size,
                     NULL};
    for (size_t i = 0; i < size; i++)
        word.slots[i] = vocabulary->bpe->bytes[(unsigned char)text[i]];
    for (size_t i = 0; i < size; i++)
        consider(&word, i, true);
    for (size_t i = arrlenu(word.heap) / 2; i > 0; i--)
        heap_sink(word.heap, arrlenu(word.heap), i - 1, sizeof *word.heap, is_lower);
    while (arrlenu(word.heap)) {
        heap_pop(word.heap, arrlenu(word.heap), sizeof *word.heap, is_lower);
        merge_entry(&word, arrpop(word.heap));
    }
    for (size_t i = 0; i < size; i += vocabulary->lengths[word.slots[i]])
        arrput(*ids, (int32_t)word.slots[i]);
    free(word.slots);
    arrfree(word.heap);
}

/* --- the cache of words --- */

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
    return (Cache){memory_new(slots, sizeof(CacheEntry), "the cache of words"), slots - 1};
}

static void encode_word(const Vocabulary *vocabulary, const char *text, size_t size,
                        int32_t **ids)
{
    const Bpe *bpe = vocabulary->bpe;
    if (size > SHORT) {
        encode_long(vocabulary, text, size, ids);
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
static void encode_part(const Vocabulary *vocabulary, const Cache *cache, const char *text,
                        size_t at, size_t end, int32_t **ids)
{
    while (at < end) {
        size_t size = bpe_cut(text, end, at) - at, before = arrlenu(*ids);
        CacheEntry *entry = &cache->entries[hash_bytes(text + at, size) & cache->mask];
        if (entry->size == size && memcmp(text + entry->at, text + at, size) == 0) {
            int32_t *next = arraddnptr(*ids, entry->count);
            for (size_t i = 0; i < entry->count; i++)
                next[i] = (*ids)[entry->ids + i];
        } else {
            encode_word(vocabulary, text + at, size, ids);
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
        if (vocabulary->lengths[bpe->added[low].id] == i) {
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
        encode_part(e->vocabulary, &e->cache, e->text, at, end, e->ids);
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
        at = i + e->vocabulary->lengths[token->id];
        i = at - 1;
    }
    encode_pass(e, pass + 1, at, end);
}

static size_t encode(const Vocabulary *vocabulary, const char *text, size_t size, int32_t **ids)
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

static const VocabularyForm form = {
    .copy = copy_merges, .free = free_merges, .write = bpe_write, .read = bpe_read};

const Tokenizer bpe_tokenizer = {
    .name = "bpe", .learn = bpe_learn, .encode = encode, .separator = "", .form = &form};
