/* Hash tables of numbers, such as the ids of tokens; what a number stands for is the caller's.
 *
 * A text could consist of words with equal hashes, and every look-up would search all of them.
 * So hashes depend on secret random numbers, new in every process. Results must not depend on
 * them. (stb_ds's maps are not used here: learning and encoding BPE take 1.5 and 1.2 times as
 * long with them.) */
#ifndef LINNET_HASH_H
#define LINNET_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t hash_bytes(const char *bytes, size_t size);
uint32_t hash_number(uint64_t number);

#define HASH_NONE UINT32_MAX

typedef struct HashSlot {
    uint32_t hash, number; /* the number is HASH_NONE in an empty slot */
} HashSlot;

/* Zeros are an empty table. */
typedef struct HashTable {
    HashSlot *slots; /* (size) */
    size_t size, count;
} HashTable;

/* Whether the number stands for this key. */
typedef bool HashSame(const void *context, uint32_t number, const void *key);

/* The number of a key, or HASH_NONE. Inline, so that the comparison is inline too. */
static inline uint32_t hash_find(const HashTable *table, uint32_t hash, HashSame *same,
                                 const void *context, const void *key)
{
    for (size_t at = hash; table->size; at++) {
        const HashSlot *slot = &table->slots[at & (table->size - 1)];
        if (slot->number == HASH_NONE ||
            (slot->hash == hash && same(context, slot->number, key)))
            return slot->number;
    }
    return HASH_NONE;
}

/* Adds the number of a key that has none yet. */
void hash_add(HashTable *table, uint32_t hash, uint32_t number);
void hash_free(HashTable *table);

#endif
