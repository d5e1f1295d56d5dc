/* The words of a text: GPT-2's splitter, by hand. Its regular expression, tried from left to
 * right:
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * So a word is a contraction, or a run of letters, of numbers or of other characters, each with
 * at most one blank before it; or white space, of which the last character is left to the next
 * word if one follows. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/unicode.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"
#include "src/math/team.h"

#include <stdlib.h>
#include <string.h>

static UnicodeClass class_of_several(const char *text, size_t size, size_t *length)
{
    size_t valid = utf8_length(text, size);
    *length = valid ? valid : 1;
    return valid ? unicode_class(utf8_decode(text, valid)) : UNICODE_OTHER;
}

/* The class of the first character, and its length. */
static inline UnicodeClass class_of(const char *text, size_t size, size_t *length)
{
    unsigned char c = (unsigned char)*text;
    if (c >= 0x80)
        return class_of_several(text, size, length);
    *length = 1;
    if ((unsigned)(c | 0x20) - 'a' < 26)
        return UNICODE_LETTER;
    if ((unsigned)c - '0' < 10)
        return UNICODE_NUMBER;
    return utf8_is_space((char)c) ? UNICODE_SPACE : UNICODE_OTHER;
}

/* The end of the run of a class; *last becomes where its last character begins. */
static size_t run(const char *text, size_t size, size_t at, UnicodeClass class, size_t *last)
{
    size_t length;
    while (at < size && class_of(text + at, size - at, &length) == class) {
        *last = at;
        at += length;
    }
    return at;
}

static size_t contraction(const char *text, size_t size)
{
    if (size < 2 || text[0] != '\'')
        return 0;
    char c = text[1], next = size > 2 ? text[2] : '\0';
    if (c == 's' || c == 't' || c == 'm' || c == 'd')
        return 2;
    bool two = ((c == 'r' || c == 'v') && next == 'e') || (c == 'l' && next == 'l');
    return two ? 3 : 0;
}

static size_t cut(const char *text, size_t size, size_t at)
{
    size_t short_word = contraction(text + at, size - at), length, last = at;
    if (short_word)
        return at + short_word;
    size_t start = at + (text[at] == ' ' && at + 1 < size);
    UnicodeClass class = class_of(text + start, size - start, &length);
    if (class != UNICODE_SPACE)
        return run(text, size, start + length, class, &last);
    size_t end = run(text, size, at, UNICODE_SPACE, &last);
    return end < size && last > at ? last : end;
}

size_t bpe_cut(const char *text, size_t size, size_t at)
{
    size_t end = cut(text, size, at);
    return end - at < BPE_LONGEST ? end : at + BPE_LONGEST;
}

/* Whether the character that ends at `at` is white space; decoding forwards finds it too, since
 * only the first byte of a character can begin one. */
static bool is_space_before(const char *text, size_t at)
{
    size_t length;
    for (size_t back = 1; back <= UTF8_LONGEST && back <= at; back++) {
        const char *from = text + at - back;
        if (!utf8_is_inner(*from))
            return class_of(from, back, &length) == UNICODE_SPACE && length == back;
    }
    return false;
}

size_t bpe_seam(const char *text, size_t size, size_t at)
{
    for (at += !at; at < size; at++)
        if (utf8_is_space(text[at]) && !is_space_before(text, at))
            return at;
    return size;
}

/* --- counting ---
 *
 * On the thread team. The text comes in parts, so it need not fit into memory; each different
 * word is kept once. Tiles of a part begin where words begin whatever is before them
 * (bpe_seam). Each thread has a table of its own; in the end they are added up. The result is
 * sorted by first occurrence, so it depends neither on the threads nor on the parts. */

typedef struct WordTable {
    HashTable table;
    BpeWord *words; /* an stb_ds array, which owns their bytes */
} WordTable;

struct BpeCounter {
    WordTable *tables;      /* (workers) */
    size_t workers, before; /* bytes of the parts so far */
};

static bool is_word(const void *words, uint32_t index, const void *key)
{
    const BpeWord *word = (const BpeWord *)words + index, *wanted = key;
    return word->size == wanted->size && memcmp(word->bytes, wanted->bytes, word->size) == 0;
}

/* Adds the occurrences of a word. */
static void count_word(WordTable *all, const BpeWord *more)
{
    uint32_t hash = hash_bytes(more->bytes, more->size);
    uint32_t index = hash_find(&all->table, hash, is_word, all->words, more);
    if (index == HASH_NONE) {
        char *bytes = memory_new(more->size, 1, "the words");
        BpeWord word = *more;
        word.bytes = memcpy(bytes, more->bytes, more->size);
        hash_add(&all->table, hash, (uint32_t)arrlenu(all->words));
        arrput(all->words, word);
        return;
    }
    BpeWord *word = &all->words[index];
    word->count += more->count;
    word->first = more->first < word->first ? more->first : word->first;
}

typedef struct Counting {
    BpeCounter *counter;
    const char *text;
    size_t *seams; /* where each tile begins, and the end */
} Counting;

static void count_tile(void *job, size_t tile, size_t worker)
{
    const Counting *c = job;
    size_t end = c->seams[tile + 1];
    for (size_t at = c->seams[tile], next; at < end; at = next) {
        next = bpe_cut(c->text, end, at);
        BpeWord word = {c->text + at, next - at, 1, c->counter->before + at};
        count_word(&c->counter->tables[worker], &word);
    }
}

/* In one pass: a seam that lies beyond the next tile's start is that tile's start too. */
static size_t *find_seams(const char *text, size_t size, size_t tiles, size_t extent)
{
    size_t *seams = memory_new(tiles + 1, sizeof *seams, "the words");
    for (size_t tile = 1; tile < tiles; tile++) {
        size_t before = seams[tile - 1], start = tile * extent;
        seams[tile] = before >= start ? before : bpe_seam(text, size, start);
    }
    seams[tiles] = size;
    return seams;
}

BpeCounter *bpe_counter_begin(void)
{
    BpeCounter *counter = memory_new(1, sizeof *counter, "the words");
    counter->workers = team_size();
    counter->tables = memory_new(counter->workers, sizeof *counter->tables, "the words");
    return counter;
}

void bpe_counter_add(BpeCounter *counter, const char *text, size_t size)
{
    enum { EXTENT = 1 << 20 };
    size_t tiles = team_tiles(size, EXTENT);
    Counting counting = {counter, text, find_seams(text, size, tiles, EXTENT)};
    team_run(tiles, count_tile, &counting);
    free(counting.seams);
    counter->before += size;
}

static int earlier_first(const void *a, const void *b)
{
    const BpeWord *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void table_free(WordTable *all)
{
    for (size_t i = 0; i < arrlenu(all->words); i++)
        free((void *)all->words[i].bytes);
    arrfree(all->words);
    hash_free(&all->table);
}

const BpeWord *bpe_counter_words(BpeCounter *counter)
{
    WordTable *all = &counter->tables[0];
    for (size_t w = 1; w < counter->workers; w++) {
        for (size_t i = 0; i < arrlenu(counter->tables[w].words); i++)
            count_word(all, &counter->tables[w].words[i]);
        table_free(&counter->tables[w]);
    }
    if (all->words)
        qsort(all->words, arrlenu(all->words), sizeof *all->words, earlier_first);
    hash_free(&all->table); /* their order has changed */
    return all->words;
}

void bpe_counter_end(BpeCounter *counter)
{
    for (size_t w = 0; w < counter->workers; w++)
        table_free(&counter->tables[w]);
    free(counter->tables);
    free(counter);
}
