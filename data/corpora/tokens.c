#include "data/corpora/tokens.h"
#include "src/base/mapping.h"
#include "src/base/memory.h"

#include <string.h>
#include <zlib.h>

/* How many ids are read at a time. */
enum { BLOCK = 4096 };

/* Somebody may have written other ids into the file since they were checked. */
static void end_mapped_read(Tokens tokens, int32_t *ids, size_t count)
{
    mapping_end_read(tokens.at, count * tokens.width);
    for (size_t i = 0; i < count; i++)
        if ((uint32_t)ids[i] >= tokens.below) {
            mapping_mark_changed(tokens.at);
            ids[i] = 0;
        }
}

void tokens_read(Tokens tokens, size_t first, size_t count, int32_t *to)
{
    tokens = tokens_from(tokens, first);
    const uint8_t *bytes = tokens.at;
    const uint16_t *pairs = tokens.at;
    if (tokens.width == sizeof *to)
        memcpy(to, tokens.at, count * sizeof *to);
    else if (tokens.width == sizeof *pairs)
        for (size_t i = 0; i < count; i++)
            to[i] = pairs[i];
    else
        for (size_t i = 0; i < count; i++)
            to[i] = bytes[i];
    if (tokens.below)
        end_mapped_read(tokens, to, count);
}

void token_reader_begin(TokenReader *reader, Tokens tokens, size_t count)
{
    reader->tokens = tokens;
    reader->next = reader->at = reader->held = 0;
    reader->count = count;
}

bool token_reader_next(TokenReader *reader, int32_t *id)
{
    enum { ROOM = sizeof reader->block / sizeof *reader->block };
    if (reader->at == reader->held) {
        size_t left = reader->count - reader->next;
        if (left == 0)
            return false;
        reader->at = 0;
        reader->held = left < ROOM ? left : ROOM;
        tokens_read(reader->tokens, reader->next, reader->held, reader->block);
        reader->next += reader->held;
    }
    *id = reader->block[reader->at++];
    return true;
}

void tokens_tally(Tokens tokens, size_t count, size_t *seen)
{
    int32_t block[BLOCK];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < BLOCK ? count - i : BLOCK;
        tokens_read(tokens, i, n, block);
        for (size_t k = 0; k < n; k++)
            seen[block[k]]++;
    }
}

static uint32_t crc_of(uint32_t crc, const int32_t *ids, size_t count)
{
    return (uint32_t)crc32_z(crc, (const Bytef *)ids, count * sizeof *ids);
}

uint32_t tokens_crc(Tokens tokens, size_t count)
{
    int32_t block[BLOCK];
    uint32_t crc = 0;
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < BLOCK ? count - i : BLOCK;
        tokens_read(tokens, i, n, block);
        crc = crc_of(crc, block, n);
    }
    return crc;
}

/* --- narrow ids --- */

unsigned tokens_width(size_t vocabulary)
{
    return vocabulary <= UINT8_MAX + 1 ? 1 : vocabulary <= UINT16_MAX + 1 ? 2 : 4;
}

void tokens_narrow(void *to, unsigned width, const int32_t *ids, size_t count)
{
    uint8_t *bytes = to;
    uint16_t *pairs = to;
    if (width == sizeof *ids)
        memcpy(to, ids, count * sizeof *ids);
    else if (width == sizeof *pairs)
        for (size_t i = 0; i < count; i++)
            pairs[i] = (uint16_t)ids[i];
    else
        for (size_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)ids[i];
}

void token_array_append(TokenArray *array, const int32_t *ids, size_t count)
{
    enum { FIRST_ROOM = 1 << 12 };
    unsigned width = tokens_width(array->vocabulary);
    if (array->room - array->count < count) {
        size_t least = array->count + count, doubled = 2 * array->room + FIRST_ROOM;
        array->room = doubled > least ? doubled : least;
        array->ids = memory_resize(array->ids, array->room, width, "token ids");
    }
    tokens_narrow((char *)array->ids + array->count * width, width, ids, count);
    array->count += count;
    array->crc = crc_of(array->crc, ids, count);
}

void token_array_close(TokenArray *array)
{
    array->room = array->count;
    if (array->ids)
        array->ids = memory_resize(array->ids, array->count ? array->count : 1,
                                   tokens_width(array->vocabulary), "token ids");
}
