/* A BPE vocabulary: its tokens, and the tables that find tokens and merges. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/hash.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

/* --- finding tokens by their bytes --- */

/* The slot of the token, or the empty one where it would be. */
static size_t name_slot(const Vocabulary *vocabulary, const char *bytes, size_t size)
{
    const Bpe *bpe = vocabulary->bpe;
    size_t mask = bpe->name_slots - 1, slot = hash_bytes(bytes, size) & mask;
    for (; bpe->names[slot] != BPE_NONE; slot = (slot + 1) & mask) {
        uint32_t id = bpe->names[slot];
        if (bpe->lengths[id] == size && memcmp(vocabulary->words[id], bytes, size) == 0)
            break;
    }
    return slot;
}

static void grow_names(Vocabulary *vocabulary)
{
    enum { FIRST = 1024 };
    Bpe *bpe = vocabulary->bpe;
    uint32_t *old = bpe->names;
    size_t slots = bpe->name_slots;
    bpe->name_slots = slots ? 2 * slots : FIRST;
    bpe->names = memory_take(bpe->name_slots, sizeof *bpe->names, "the vocabulary");
    memset(bpe->names, 0xff, bpe->name_slots * sizeof *bpe->names);
    for (size_t i = 0; i < slots; i++)
        if (old[i] != BPE_NONE)
            bpe->names[name_slot(vocabulary, vocabulary->words[old[i]], bpe->lengths[old[i]])] =
                old[i];
    free(old);
}

uint32_t bpe_find(const Vocabulary *vocabulary, const char *bytes, size_t size)
{
    const Bpe *bpe = vocabulary->bpe;
    return bpe->name_slots ? bpe->names[name_slot(vocabulary, bytes, size)] : BPE_NONE;
}

/* --- building --- */

void bpe_begin(Vocabulary *vocabulary)
{
    *vocabulary = (Vocabulary){.tokenizer = tokenizer_find(TOKENIZER_BPE),
                               .eos = TOKEN_NONE,
                               .unk = TOKEN_NONE,
                               .start = TOKEN_NONE,
                               .bpe = memory_take(1, sizeof(Bpe), "the vocabulary")};
}

uint32_t bpe_add(Vocabulary *vocabulary, const char *bytes, size_t size, bool named)
{
    Bpe *bpe = vocabulary->bpe;
    uint32_t id = (uint32_t)vocabulary->count;
    char *word = memory_take(size + 1, 1, "a token");
    memcpy(word, bytes, size);
    arrput(vocabulary->words, word);
    arrput(bpe->lengths, size);
    vocabulary->count++;
    if (named) {
        if (2 * bpe->name_count >= bpe->name_slots)
            grow_names(vocabulary);
        bpe->names[name_slot(vocabulary, word, size)] = id;
        bpe->name_count++;
    }
    return id;
}

uint32_t bpe_join(Vocabulary *vocabulary, uint32_t left, uint32_t right, bool add)
{
    enum { USUAL = 256 };
    const size_t *lengths = vocabulary->bpe->lengths;
    size_t size = lengths[left] + lengths[right];
    char usual[USUAL], *joined = size <= USUAL ? usual : memory_take(size, 1, "a token");
    memcpy(joined, vocabulary->words[left], lengths[left]);
    memcpy(joined + lengths[left], vocabulary->words[right], lengths[right]);
    uint32_t id = bpe_find(vocabulary, joined, size);
    if (id == BPE_NONE && add)
        id = bpe_add(vocabulary, joined, size, true);
    if (joined != usual)
        free(joined);
    return id;
}

/* Bytes of visible Latin-1 characters stand for themselves, and come first in the order of the
 * characters; the stand-ins of the others follow in the order of the bytes. */
static bool is_visible(int byte)
{
    return (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
}

void bpe_add_bytes(Vocabulary *vocabulary)
{
    for (int visible = 1; visible >= 0; visible--)
        for (int byte = 0; byte < BPE_BYTES; byte++)
            if (is_visible(byte) == visible) {
                char one = (char)byte;
                bpe_add(vocabulary, &one, 1, true);
            }
}

static BpeRank *rank_slot(const Bpe *bpe, uint32_t left, uint32_t right)
{
    size_t mask = bpe->rank_slots - 1, slot = hash_number((uint64_t)left << 32 | right) & mask;
    for (;; slot = (slot + 1) & mask) {
        BpeRank *row = &bpe->ranks[slot];
        if (row->rank == BPE_NONE || (row->left == left && row->right == right))
            return row;
    }
}

uint32_t bpe_rank(const Bpe *bpe, uint32_t left, uint32_t right)
{
    return rank_slot(bpe, left, right)->rank;
}

/* Returns the rank of a merge whose pair has an earlier one, or BPE_NONE. */
static uint32_t rank_merges(Bpe *bpe)
{
    uint32_t count = (uint32_t)arrlenu(bpe->merges), twice = BPE_NONE;
    free(bpe->ranks);
    bpe->rank_slots = 1;
    while (bpe->rank_slots < 2 * (size_t)count + 1)
        bpe->rank_slots *= 2;
    bpe->ranks = memory_take(bpe->rank_slots, sizeof *bpe->ranks, "the merges");
    for (size_t i = 0; i < bpe->rank_slots; i++)
        bpe->ranks[i].rank = BPE_NONE;
    for (uint32_t rank = 0; rank < count; rank++) {
        const BpeMerge *merge = &bpe->merges[rank];
        BpeRank *row = rank_slot(bpe, merge->left, merge->right);
        if (row->rank != BPE_NONE && twice == BPE_NONE)
            twice = rank;
        *row = (BpeRank){merge->left, merge->right, rank};
    }
    return twice;
}

/* Bytes decide the order, then the length. */
static int compare_tokens(const Vocabulary *vocabulary, uint32_t a, uint32_t b)
{
    const size_t *lengths = vocabulary->bpe->lengths;
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
        bpe->bytes[byte] = bpe_find(vocabulary, &one, 1);
    }
    vocabulary->eos = (int32_t)bpe->bytes['\n'];
    index_added(vocabulary);
    return rank_merges(bpe);
}

static void copy_all(Vocabulary *copy, const Vocabulary *vocabulary)
{
    const Bpe *from = vocabulary->bpe;
    bpe_begin(copy);
    for (size_t i = 0; i < vocabulary->count; i++) {
        const char *word = vocabulary->words[i];
        bool named = bpe_find(vocabulary, word, from->lengths[i]) == i;
        bpe_add(copy, word, from->lengths[i], named);
    }
    for (size_t i = 0; i < arrlenu(from->merges); i++)
        arrput(copy->bpe->merges, from->merges[i]);
    for (size_t i = 0; i < arrlenu(from->added); i++)
        arrput(copy->bpe->added, from->added[i]);
    bpe_finish(copy);
}

static void free_tables(Vocabulary *vocabulary)
{
    Bpe *bpe = vocabulary->bpe;
    arrfree(bpe->lengths);
    arrfree(bpe->merges);
    arrfree(bpe->added);
    arrfree(bpe->added_index);
    free(bpe->names);
    free(bpe->ranks);
    free(bpe);
}

static int32_t find_word(const Vocabulary *vocabulary, const char *word)
{
    return (int32_t)bpe_find(vocabulary, word, strlen(word)); /* BPE_NONE is TOKEN_NONE */
}

static size_t length_of(const Vocabulary *vocabulary, int32_t id)
{
    return vocabulary->bpe->lengths[id];
}

const VocabularyForm bpe_form = {.copy = copy_all,
                                 .free = free_tables,
                                 .find = find_word,
                                 .length = length_of,
                                 .write = bpe_write,
                                 .read = bpe_read};

/* --- spelling --- */

enum { FIRST_STAND_IN = 0x100, SPELLINGS = 0x144 };

/* The byte that each character stands for, or -1; and the other way round. */
static int bytes_of[SPELLINGS], characters_of[BPE_BYTES];

__attribute__((constructor)) static void make_spellings(void)
{
    memset(bytes_of, 0xff, sizeof bytes_of);
    for (int byte = 0, stand_in = FIRST_STAND_IN; byte < BPE_BYTES; byte++) {
        characters_of[byte] = is_visible(byte) ? byte : stand_in++;
        bytes_of[characters_of[byte]] = byte;
    }
}

char *bpe_spell_bytes(const char *bytes, size_t size)
{
    char *spelling = memory_take(2 * size + 1, 1, "a token"), *to = spelling;
    for (size_t i = 0; i < size; i++)
        to += utf8_encode((uint32_t)characters_of[(unsigned char)bytes[i]], to);
    *to = '\0';
    return spelling;
}

char *bpe_spell(const Vocabulary *vocabulary, uint32_t id)
{
    const char *word = vocabulary->words[id];
    return bpe_added(vocabulary->bpe, id) ? memory_copy_text(word)
                                          : bpe_spell_bytes(word, vocabulary->bpe->lengths[id]);
}

size_t bpe_unspell(char *bytes, const char *text)
{
    size_t size = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        int character = *c;
        if (character >= 0x80) {
            if (character >= 0xe0 || !c[1])
                return 0;
            character = (character & 0x1f) << 6 | (*++c & 0x3f);
        }
        if (character >= SPELLINGS || bytes_of[character] < 0)
            return 0;
        bytes[size++] = (char)bytes_of[character];
    }
    return size;
}
