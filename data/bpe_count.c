/* Counts the words of a text on the thread team.
 *
 * Tiles begin where words begin whatever is before them (bpe_seam). Each thread has a hash
 * table of its own; afterwards they are added up. The result is sorted by first occurrence, so
 * it does not depend on the threads. */
#include "data/bpe.h"
#include "data/hash.h"
#include "src/containers.h"
#include "src/team.h"

#include <stdlib.h>
#include <string.h>

typedef struct WordTable {
    BpeWord *slots;
    size_t size, count;
} WordTable;

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

static void add(WordTable *table, const BpeWord *word)
{
    if (3 * table->count >= 2 * table->size)
        grow(table);
    BpeWord *slot = slot_of(table, word);
    if (!slot->bytes) {
        *slot = *word;
        table->count++;
        return;
    }
    slot->count += word->count;
    if (word->bytes < slot->bytes)
        slot->bytes = word->bytes;
}

typedef struct Counting {
    const char *text;
    size_t *seams;     /* where each tile begins, and the end */
    WordTable *tables; /* by worker */
} Counting;

static void count_tile(void *job, size_t tile, size_t worker)
{
    const Counting *c = job;
    size_t end = c->seams[tile + 1];
    for (size_t at = c->seams[tile]; at < end;) {
        size_t next = bpe_cut(c->text, end, at);
        BpeWord word = {.bytes = c->text + at, .size = (uint32_t)(next - at), .count = 1};
        word.hash = (uint32_t)hash_bytes(word.bytes, word.size);
        add(&c->tables[worker], &word);
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

static int earlier_first(const void *a, const void *b)
{
    const BpeWord *x = a, *y = b;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

BpeWord *bpe_count(const char *text, size_t size)
{
    enum { EXTENT = 1 << 20 };
    size_t tiles = team_tiles(size, EXTENT), workers = team_size();
    Counting counting = {
        .text = text,
        .seams = find_seams(text, size, tiles, EXTENT),
        .tables = memory_take(workers, sizeof *counting.tables, "the words"),
    };
    team_run(tiles, count_tile, &counting);
    WordTable *all = &counting.tables[0];
    for (size_t w = 1; w < workers; w++) {
        const WordTable *table = &counting.tables[w];
        for (size_t i = 0; i < table->size; i++)
            if (table->slots[i].bytes)
                add(all, &table->slots[i]);
        free(table->slots);
    }
    BpeWord *words = NULL;
    arrsetcap(words, all->count);
    for (size_t i = 0; i < all->size; i++)
        if (all->slots[i].bytes)
            arrput(words, all->slots[i]);
    free(all->slots);
    free(counting.tables);
    free(counting.seams);
    if (words)
        qsort(words, arrlenu(words), sizeof *words, earlier_first);
    return words;
}
