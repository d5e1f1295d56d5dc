/* Files of token ids, as other programs write them:
 *
 *   nanoGPT  uint16, nothing else (train.bin, val.bin)
 *   llm.c    a header of 256 int32, of which three count: 20240520, 1, the number of tokens;
 *            then uint16. Or 20240801, 7, the number of tokens; then uint32
 *
 * All numbers are little-endian. Such a file is mapped, not read, so it may be larger than
 * memory. */
#ifndef LINNET_TOKEN_FILE_H
#define LINNET_TOKEN_FILE_H

#include "data/corpora/tokens.h"
#include "data/tokenizers/vocabulary.h"
#include "src/base/mapping.h"

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
