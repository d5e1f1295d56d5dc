/* CRC-32C, Castagnoli's checksum, which event files use; zlib's CRC-32 has another polynomial.
 */
#ifndef LINNET_CRC32C_H
#define LINNET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t size);

#endif
