/* Counts the words of a text on the thread team.
 *
 * The text comes in parts, so it need not fit into memory; each different word is kept once.
 * Tiles of a part begin where words begin whatever is before them (bpe_seam). Each thread has a
 * hash table of its own; in the end they are added up. The result is sorted by first
 * occurrence, so it depends neither on the threads nor on the parts. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/hash.h"
#include "src/base/containers.h"
#include "src/math/team.h"

#include <stdlib.h>
#include <string.h>

typedef struct WordTable {
    BpeWord *slots;
    size_t size, count;
    char **blocks; /* of the words' bytes, an stb_ds array */
    size_t room;   /* left in the last block */
} WordTable;

struct BpeCounter {
    WordTable *tables;      /* by worker */
    size_t workers, before; /* bytes of the parts so far */
};

static BpeWord *slot_of(const WordTable *table, const BpeWord *word)
{
    size_t mask = table->size - 1, slot = word->hash & mask;
    for (;; slot = (slot + 1) & mask) {
        BpeWord *there = &table->slots[slot];
        if (!there->bytes || (there->hash == word->hash && there->size == word->size &&
                              memcmp(there->bytes, word->bytes, word->size) == 0))
            return there;
    }
}

static void grow(WordTable *table)
{
    enum { FIRST = 4096 };
    WordTable old = *table;
    table->size = old.size ? 2 * old.size : FIRST;
    table->slots = memory_take(table->size, sizeof *table->slots, "the words");
    for (size_t i = 0; i < old.size; i++)
        if (old.slots[i].bytes)
            *slot_of(table, &old.slots[i]) = old.slots[i];
    free(old.slots);
}

/* The slot of an equal word; or an empty one, which the caller fills. */
static BpeWord *find_or_add(WordTable *table, const BpeWord *word)
{
    if (3 * table->count >= 2 * table->size)
        grow(table);
    BpeWord *slot = slot_of(table, word);
    table->count += !slot->bytes;
    return slot;
}

static const char *keep_bytes(WordTable *table, const BpeWord *word)
{
    enum { BLOCK = 1 << 18 };
    if (word->size > table->room) {
        table->room = word->size > BLOCK ? word->size : BLOCK;
        char *block = memory_take(table->room, 1, "the words");
        arrput(table->blocks, block);
    }
    char *bytes = arrlast(table->blocks);
    /* Blocks are filled from their ends. */
    table->room -= word->size;
    return memcpy(bytes + table->room, word->bytes, word->size);
}

typedef struct Counting {
    BpeCounter *counter;
    const char *text;
    size_t *seams; /* where each tile begins, and the end */
} Counting;

static void count_tile(void *job, size_t tile, size_t worker)
{
    const Counting *c = job;
    WordTable *table = &c->counter->tables[worker];
    size_t end = c->seams[tile + 1];
    for (size_t at = c->seams[tile]; at < end;) {
        size_t next = bpe_cut(c->text, end, at);
        BpeWord word = {.bytes = c->text + at,
                        .size = (uint32_t)(next - at),
                        .first = c->counter->before + at};
        word.hash = (uint32_t)hash_bytes(word.bytes, word.size);
        BpeWord *slot = find_or_add(table, &word);
        if (!slot->bytes) {
            *slot = word;
            slot->bytes = keep_bytes(table, &word);
        } else if (word.first < slot->first) {
            slot->first = word.first;
        }
        slot->count++;
        at = next;
    }
}

/* In one pass: a seam that lies beyond the next tile's start is that tile's start too. */
static size_t *find_seams(const char *text, size_t size, size_t tiles, size_t extent)
{
    size_t *seams = memory_take(tiles + 1, sizeof *seams, "the words");
    for (size_t tile = 1; tile < tiles; tile++) {
        size_t before = seams[tile - 1], start = tile * extent;
        seams[tile] = before >= start ? before : bpe_seam(text, size, start);
    }
    seams[tiles] = size;
    return seams;
}

BpeCounter *bpe_counter_begin(void)
{
    BpeCounter *counter = memory_take(1, sizeof *counter, "the words");
    counter->workers = team_size();
    counter->tables = memory_take(counter->workers, sizeof *counter->tables, "the words");
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

/* Adds the counts of a table, and takes its words' bytes. */
static void absorb(WordTable *all, WordTable *table)
{
    for (size_t i = 0; i < table->size; i++) {
        const BpeWord *word = &table->slots[i];
        if (!word->bytes)
            continue;
        BpeWord *slot = find_or_add(all, word);
        if (!slot->bytes) {
            *slot = *word;
            continue;
        }
        slot->count += word->count;
        if (word->first < slot->first)
            slot->first = word->first;
    }
    for (size_t i = 0; i < arrlenu(table->blocks); i++)
        arrput(all->blocks, table->blocks[i]);
    arrfree(table->blocks);
    free(table->slots);
    *table = (WordTable){0};
}

static int earlier_first(const void *a, const void *b)
{
    const BpeWord *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

BpeWord *bpe_counter_words(BpeCounter *counter)
{
    WordTable *all = &counter->tables[0];
    for (size_t w = 1; w < counter->workers; w++)
        absorb(all, &counter->tables[w]);
    BpeWord *words = NULL;
    arrsetcap(words, all->count);
    for (size_t i = 0; i < all->size; i++)
        if (all->slots[i].bytes)
            arrput(words, all->slots[i]);
    free(all->slots);
    all->slots = NULL;
    all->size = all->count = 0;
    if (words)
        qsort(words, arrlenu(words), sizeof *words, earlier_first);
    return words;
}

void bpe_counter_end(BpeCounter *counter)
{
    for (size_t w = 0; w < counter->workers; w++) {
        WordTable *table = &counter->tables[w];
        for (size_t i = 0; i < arrlenu(table->blocks); i++)
            free(table->blocks[i]);
        arrfree(table->blocks);
        free(table->slots);
    }
    free(counter->tables);
    free(counter);
}
