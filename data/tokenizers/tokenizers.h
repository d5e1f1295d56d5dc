/* The table of tokenizers, and vocabularies as text and as files. */
#ifndef LINNET_TOKENIZERS_H
#define LINNET_TOKENIZERS_H

#include "data/tokenizers/vocabulary.h"

enum { TOKENIZER_WORD, TOKENIZER_WORDPUNCT, TOKENIZER_CHAR, TOKENIZER_BYTE, TOKENIZER_BPE };

const Tokenizer *tokenizer_find(size_t index); /* NULL after the last */
size_t tokenizer_index(const Tokenizer *tokenizer);
const char *tokenizer_name(size_t index); /* the same, for option rows */

/* The stored form in a checkpoint: one token per line (none for bytes), control characters as
 * \xNN, backslashes doubled; for bpe the text of tokenizer.json. The caller frees. Reading
 * refuses everything that learning cannot produce: raw control characters, duplicates, invalid
 * UTF-8; for bpe, everything that would be encoded differently. */
char *vocabulary_write(const Vocabulary *vocabulary, size_t *size);
bool vocabulary_read(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *text,
                     size_t size, Error *error);
/* After reading: texts are lower-cased. Fails if a token has a capital, which none can match.
 */
bool vocabulary_lower(Vocabulary *vocabulary, Error *error);

/* Tokenizers in files of their own, beside the token ids that they made.
 *
 * vocabulary.txt is linnet's form for all but bpe: a first line "# linnet tokenizer
 * word", then one token per line as in a checkpoint (none for byte). Subword tokenizers have
 * the form that other programs read, tokenizer.json. */

/* Loads one of these files, or the one that a directory has. On failure nothing is left to
 * free. */
bool vocabulary_load(Vocabulary *vocabulary, const char *path, Error *error);

/* Whether a directory has one. */
bool vocabulary_is_in(const char *folder);

/* Writes the vocabulary.txt of a tokenizer other than bpe. */
bool vocabulary_store_linnet(const Vocabulary *vocabulary, const char *path, Error *error);

/* Writes it into a directory. If that has one already, it must be equal: the token ids beside
 * it were made with it. */
bool vocabulary_store(const Vocabulary *vocabulary, const char *folder, Error *error);

/* Whether both give every text the same ids. */
bool vocabulary_equal(const Vocabulary *a, const Vocabulary *b);

/* CRC-32 of the tokenizer and the stored form, without whether it lower-cases. */
uint32_t vocabulary_crc(const Vocabulary *vocabulary);

#endif
