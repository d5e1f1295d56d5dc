/* Token ids in as few bytes as the vocabulary allows: 1, 2 or 4 each. A text of a few hundred
 * megabytes is mostly its ids, and int32_t would take four bytes where one or two are enough.
 *
 * Tokens only points to ids; whoever has it knows their number and owns them. */
#ifndef LINNET_TOKENS_H
#define LINNET_TOKENS_H

#include "data/tokenizers/vocabulary.h"
#include "src/base/mapping.h"

typedef struct Tokens {
    const void *data; /* unsigned little-endian ids */
    unsigned width;   /* bytes of an id */
    uint32_t below;   /* in a mapped file: what every id is below; 0: in memory */
} Tokens;

/* Ids that are int32_t already. */
static inline Tokens tokens_plain(const int32_t *ids)
{
    return (Tokens){ids, sizeof *ids, 0};
}

/* Of ids in memory; mapped ones are read by the functions below, which check them. */
static inline int32_t tokens_at(Tokens tokens, size_t i)
{
    return tokens.width == 1   ? ((const uint8_t *)tokens.data)[i]
           : tokens.width == 2 ? ((const uint16_t *)tokens.data)[i]
                               : ((const int32_t *)tokens.data)[i];
}

static inline Tokens tokens_from(Tokens tokens, size_t first)
{
    tokens.data = (const char *)tokens.data + first * tokens.width;
    return tokens;
}

/* Copies `count` ids from the first-th on. In a mapped file that somebody has changed, they may
 * be others, but all are below the limit. */
void tokens_read(Tokens tokens, size_t first, size_t count, int32_t *to);

/* Reads ids one after another. */
typedef struct TokenReader {
    Tokens tokens;
    size_t next, count;                   /* of all */
    size_t next_in_block, count_in_block; /* of the block */
    int32_t block[1024];
} TokenReader;
void token_reader_begin(TokenReader *reader, Tokens tokens, size_t count);
bool token_reader_next(TokenReader *reader, int32_t *id); /* false after the last */

/* Adds to seen[id] how often each id occurs. */
void tokens_tally(Tokens tokens, size_t count, size_t *seen);

/* The CRC-32 of the ids as int32_t, whatever their width. */
uint32_t tokens_crc(Tokens tokens, size_t count);

/* Ids that are appended piece by piece. Zeros, except for the size of the vocabulary, make an
 * empty one. */
typedef struct TokenArray {
    size_t vocabulary;
    void *ids; /* of tokens_width(vocabulary) bytes; the caller frees */
    size_t count, room;
    uint32_t crc; /* as tokens_crc */
} TokenArray;

unsigned tokens_width(size_t vocabulary);
void token_array_append(TokenArray *array, const int32_t *ids, size_t count);
/* Gives back the memory that growing left over. */
void token_array_close(TokenArray *array);

/* Writes ids in `width` bytes each. */
void tokens_narrow(void *to, unsigned width, const int32_t *ids, size_t count);

/* Files of token ids, as other programs write them:
 *
 *   nanoGPT  uint16, nothing else (train.bin, val.bin)
 *   llm.c    a header of 256 int32, of which three count: 20240520, 1, the number of tokens;
 *            then uint16. Or 20240801, 7, the number of tokens; then uint32
 *
 * All numbers are little-endian. Such a file is mapped, not read, so it may be larger than
 * memory. */

#define TOKEN_FILE_ENDING ".bin"

typedef struct TokenFile {
    Mapping *mapping;
    Tokens ids; /* not checked yet */
    size_t count;
} TokenFile;

/* At least one token. On failure nothing is left to free. */
bool token_file_open(TokenFile *file, const char *path, Error *error);
void token_file_close(TokenFile *file);

/* What can be said of ids, or of a text and its ids. */
typedef struct TokenFacts {
    size_t count, unknown; /* tokens; of these, <unk> */
    size_t characters;     /* of the text, UTF-8 */
    size_t bytes;
    uint32_t crc; /* as tokens_crc */
} TokenFacts;

/* Reads `count` ids from the first-th on. Whether all are in the vocabulary. */
bool token_file_check(const TokenFile *file, size_t first, size_t count,
                      const Vocabulary *vocabulary, TokenFacts *facts, Error *error);

/* The bytes of an id in a file for a vocabulary. */
unsigned token_file_width(size_t vocabulary);
/* The header that a file for this vocabulary has: none, of size 0, while two bytes are enough
 * for an id; else llm.c's. */
enum { TOKEN_HEADER = 256 };
size_t token_file_header(int32_t header[TOKEN_HEADER], size_t vocabulary, size_t count);
/* The most tokens that the header can count; SIZE_MAX without one. */
size_t token_file_most(size_t vocabulary);

#endif
