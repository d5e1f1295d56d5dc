#include "data/corpora/tokens.h"
#include "src/base/mapping.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* How many ids are read at a time. */
enum { BLOCK = 4096 };

/* Somebody may have written other ids into the file since they were checked. */
static void end_mapped_read(Tokens tokens, int32_t *ids, size_t count)
{
    mapping_end_read(tokens.data, count * tokens.width);
    for (size_t i = 0; i < count; i++)
        if ((uint32_t)ids[i] >= tokens.below) {
            mapping_mark_changed(tokens.data);
            ids[i] = 0;
        }
}

void tokens_read(Tokens tokens, size_t first, size_t count, int32_t *to)
{
    tokens = tokens_from(tokens, first);
    const uint8_t *bytes = tokens.data;
    const uint16_t *pairs = tokens.data;
    if (tokens.width == sizeof *to)
        memcpy(to, tokens.data, count * sizeof *to);
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
    reader->next = reader->next_in_block = reader->count_in_block = 0;
    reader->count = count;
}

bool token_reader_next(TokenReader *reader, int32_t *id)
{
    enum { ROOM = sizeof reader->block / sizeof *reader->block };
    if (reader->next_in_block == reader->count_in_block) {
        size_t left = reader->count - reader->next;
        if (left == 0)
            return false;
        reader->next_in_block = 0;
        reader->count_in_block = left < ROOM ? left : ROOM;
        tokens_read(reader->tokens, reader->next, reader->count_in_block, reader->block);
        reader->next += reader->count_in_block;
    }
    *id = reader->block[reader->next_in_block++];
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

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ids are read as they lie");

/* --- headers --- */

static const struct {
    int32_t magic, version;
    unsigned width;
} forms[] = {{20240520, 1, 2}, {20240801, 7, 4}};
enum { FORMS = sizeof forms / sizeof *forms, QUESTIONS = 20240522 };

static bool read_header(TokenFile *file, size_t form, const char *path, Error *error)
{
    size_t size = file->mapping->size, header = TOKEN_HEADER * sizeof(int32_t);
    unsigned width = forms[form].width;
    const int32_t *numbers = file->mapping->data;
    if (size < header)
        return error_set(error, "%s: the header is cut: %zu bytes of %zu; make the file again",
                         path, size, header);
    if (numbers[1] != forms[form].version)
        return error_set(error, "%s: version %d of llm.c's form; linnet reads version %d", path,
                         numbers[1], forms[form].version);
    if (numbers[2] <= 0)
        return error_set(error, "%s: the header counts %d tokens; make the file again", path,
                         numbers[2]);
    file->count = (size_t)numbers[2];
    if (size != header + file->count * width)
        return error_set(error,
                         "%s: the header counts %zu tokens, which makes %zu bytes, but there "
                         "are %zu; the file is incomplete or damaged, make it again",
                         path, file->count, header + file->count * width, size);
    file->ids = (Tokens){(const char *)file->mapping->data + header, width, 0};
    return true;
}

static bool read_form(TokenFile *file, const char *path, Error *error)
{
    size_t size = file->mapping->size;
    int32_t magic = 0;
    if (size >= sizeof magic)
        memcpy(&magic, file->mapping->data, sizeof magic);
    for (size_t i = 0; i < FORMS; i++)
        if (magic == forms[i].magic)
            return read_header(file, i, path, error);
    if (magic == QUESTIONS)
        return error_set(
            error,
            "%s: llm.c's questions with answers to choose from (such as HellaSwag), not token "
            "ids; give a text or token ids",
            path);
    if (size % sizeof(uint16_t) != 0)
        return error_set(error,
                         "%s: an odd number of bytes, %zu; every token id should have two, as "
                         "nanoGPT writes them; make the file again",
                         path, size);
    file->ids = (Tokens){file->mapping->data, sizeof(uint16_t), 0};
    file->count = size / sizeof(uint16_t);
    return true;
}

bool token_file_open(TokenFile *file, const char *path, Error *error)
{
    *file = (TokenFile){.mapping = mapping_open(path, error)};
    if (file->mapping && read_form(file, path, error))
        return true;
    token_file_close(file);
    return false;
}

void token_file_close(TokenFile *file)
{
    mapping_close(file->mapping);
    *file = (TokenFile){0};
}

unsigned token_file_width(size_t vocabulary)
{
    unsigned width = tokens_width(vocabulary);
    return width > sizeof(uint16_t) ? width : sizeof(uint16_t);
}

static bool has_header(size_t vocabulary)
{
    return token_file_width(vocabulary) > sizeof(uint16_t);
}

size_t token_file_most(size_t vocabulary)
{
    return has_header(vocabulary) ? INT32_MAX : SIZE_MAX;
}

size_t token_file_header(int32_t header[TOKEN_HEADER], size_t vocabulary, size_t count)
{
    if (!has_header(vocabulary))
        return 0;
    memset(header, 0, TOKEN_HEADER * sizeof *header);
    header[0] = forms[FORMS - 1].magic;
    header[1] = forms[FORMS - 1].version;
    header[2] = (int32_t)count;
    return TOKEN_HEADER * sizeof *header;
}

/* --- checking --- */

/* A reading of ids, block by block. */
typedef struct Scan {
    const TokenFile *file;
    const Vocabulary *vocabulary;
    size_t *seen;   /* by id */
    size_t between; /* tokens that a separator precedes */
    int32_t last;
    uint32_t crc;
} Scan;

static bool scan_block(Scan *scan, const int32_t *ids, size_t first, size_t count, Error *error)
{
    const Vocabulary *vocabulary = scan->vocabulary;
    int32_t eos = vocabulary->eos, last = scan->last;
    for (size_t i = 0; i < count; i++) {
        if ((uint32_t)ids[i] >= vocabulary->count)
            return error_set(error,
                             "%s: token %zu has the id %u, and the tokenizer only ids below "
                             "%zu; another one must have made this file",
                             scan->file->mapping->path, first + i, (unsigned)ids[i],
                             vocabulary->count);
        scan->seen[ids[i]]++;
        scan->between += last != eos && ids[i] != eos;
        last = ids[i];
    }
    scan->last = last;
    scan->crc = crc_of(scan->crc, ids, count);
    return true;
}

/* The size of the text, from how often each token occurs. */
static void count_text(const Scan *scan, TokenFacts *facts)
{
    const Vocabulary *vocabulary = scan->vocabulary;
    facts->bytes = facts->characters = scan->between * strlen(vocabulary->tokenizer->separator);
    for (size_t id = 0; id < vocabulary->count; id++) {
        const char *piece;
        size_t length = vocabulary_piece(vocabulary, (int32_t)id, &piece), characters = 0;
        for (size_t i = 0; i < length; i++)
            characters += !utf8_is_inner(piece[i]);
        facts->bytes += scan->seen[id] * length;
        facts->characters += scan->seen[id] * characters;
    }
    if (vocabulary->unk != TOKEN_NONE)
        facts->unknown = scan->seen[vocabulary->unk];
}

bool token_file_check(const TokenFile *file, size_t first, size_t count,
                      const Vocabulary *vocabulary, TokenFacts *facts, Error *error)
{
    enum { STEP = 1 << 16 };
    int32_t *block = memory_new(STEP, sizeof *block, "checking token ids");
    Scan scan = {.file = file,
                 .vocabulary = vocabulary,
                 .seen = memory_new(vocabulary->count, sizeof *scan.seen, "the vocabulary"),
                 .last = vocabulary->eos};
    bool good = true;
    for (size_t at = first, end = first + count, n; good && at < end; at += n) {
        n = end - at < STEP ? end - at : STEP;
        tokens_read(file->ids, at, n, block);
        mapping_end_read(tokens_from(file->ids, at).data, n * file->ids.width);
        good = scan_block(&scan, block, at, n, error);
    }
    *facts = (TokenFacts){.count = count, .crc = scan.crc};
    good = good && mapping_check(file->mapping, error);
    if (good)
        count_text(&scan, facts);
    free(scan.seen);
    free(block);
    return good;
}
