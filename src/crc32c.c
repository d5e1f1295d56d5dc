#include "src/crc32c.h"

/* Bitwise, without a table: records are a few hundred bytes. */
uint32_t crc32c(const void *bytes, size_t size)
{
    const uint32_t polynomial = 0x82f63b78; /* bit-reversed */
    const unsigned char *next = bytes;
    uint32_t remainder = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        remainder ^= next[i];
        for (int bit = 0; bit < 8; bit++)
            remainder = remainder >> 1 ^ (remainder & 1 ? polynomial : 0);
    }
    return ~remainder;
}
