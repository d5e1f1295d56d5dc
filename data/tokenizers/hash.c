#include "data/tokenizers/hash.h"

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
uint64_t hash_bytes(const char *bytes, size_t size)
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
    return multiply(multiply(hash ^ block, secret[1]) ^ size, secret[1]);
}

uint64_t hash_number(uint64_t number)
{
    return multiply(number ^ secret[0], secret[1]);
}
