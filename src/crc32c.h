/* CRC-32C (Castagnoli), required by TensorBoard event files. zlib has only CRC-32. */
#ifndef LINNET_CRC32C_H
#define LINNET_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t size);

#endif
