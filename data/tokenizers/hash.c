#include "data/tokenizers/hash.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t secret[2];

/* Runs before main, so that look-ups need not check for it. */
__attribute__((constructor)) static void make_secret(void)
{
    if (getentropy(secret, sizeof secret) != 0)
        secret[0] = secret[1] = (uint64_t)getpid(); /* a weak secret is better than none */
    secret[1] |= 1;
}

/* Both halves of the product, folded into one. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Multiplies eight bytes at a time by secret numbers. */
uint32_t hash_bytes(const char *bytes, size_t size)
{
    uint64_t hash = secret[0], block;
    size_t at = 0;
    for (; size - at >= sizeof block; at += sizeof block) {
        memcpy(&block, bytes + at, sizeof block);
        hash = multiply(hash ^ block, secret[1]);
    }
    block = 0;
    for (; at < size; at++)
        block = block << 8 | (unsigned char)bytes[at];
    return (uint32_t)multiply(multiply(hash ^ block, secret[1]) ^ size, secret[1]);
}

uint32_t hash_number(uint64_t number)
{
    return (uint32_t)multiply(number ^ secret[0], secret[1]);
}

static void put(HashTable *table, HashSlot slot)
{
    size_t at = slot.hash & (table->size - 1);
    while (table->slots[at].number != HASH_NONE)
        at = (at + 1) & (table->size - 1);
    table->slots[at] = slot;
}

void hash_add(HashTable *table, uint32_t hash, uint32_t number)
{
    enum { FIRST = 1 << 10 };
    if (2 * table->count >= table->size) {
        HashTable larger = {.size = table->size ? 2 * table->size : FIRST,
                            .count = table->count};
        larger.slots = memory_new(larger.size, sizeof *larger.slots, "a hash table");
        memset(larger.slots, 0xff, larger.size * sizeof *larger.slots);
        for (size_t i = 0; i < table->size; i++)
            if (table->slots[i].number != HASH_NONE)
                put(&larger, table->slots[i]);
        free(table->slots);
        *table = larger;
    }
    put(table, (HashSlot){hash, number});
    table->count++;
}

void hash_free(HashTable *table)
{
    free(table->slots);
    *table = (HashTable){0};
}
