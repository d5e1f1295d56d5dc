/* Tokenizers in files of their own, beside the token ids that they made.
 *
 * vocabulary.txt is linnet's form for all but bpe: a first line "# linnet tokenizer
 * word", then one token per line as in a checkpoint (none for byte). Subword tokenizers have
 * the form that other programs read, tokenizer.json. */
#ifndef LINNET_VOCABULARY_FILES_H
#define LINNET_VOCABULARY_FILES_H

#include "data/tokenizers/vocabulary.h"

/* Loads one of these files, or the one that a directory has. On failure nothing is left to
 * free. */
bool vocabulary_load(Vocabulary *vocabulary, const char *path, Error *error);

/* Whether a directory has one. */
bool vocabulary_is_in(const char *folder);

/* Writes the vocabulary.txt of a tokenizer other than bpe. */
bool vocabulary_store_own(const Vocabulary *vocabulary, const char *path, Error *error);

/* Writes it into a directory. If that has one already, it must be equal: the token ids beside
 * it were made with it. */
bool vocabulary_store(const Vocabulary *vocabulary, const char *folder, Error *error);

/* Whether both give every text the same ids. */
bool vocabulary_equal(const Vocabulary *a, const Vocabulary *b);

/* CRC-32 of the tokenizer and the stored form, without whether it lower-cases. */
uint32_t vocabulary_crc(const Vocabulary *vocabulary);

#endif
