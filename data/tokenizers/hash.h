/* Hashes of byte strings for hash tables.
 *
 * A text could consist of words with equal hashes, and every look-up would search all of them.
 * So hashes depend on secret random numbers, new in every process. Results must not depend on
 * them. */
#ifndef LINNET_HASH_H
#define LINNET_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const char *bytes, size_t size);
uint64_t hash_number(uint64_t number);

#endif
