/* Vocabularies for tests. */
#ifndef LINNET_VOCABULARIES_H
#define LINNET_VOCABULARIES_H

#include "data/tokenizers/tokenizers.h"

/* Learned from a valid text, with at most `size` tokens (0: all). */
Vocabulary vocabulary_of(size_t tokenizer, const char *text, size_t size, size_t min_count);

/* Its tokens, in order and each followed by a space, must be these. */
void vocabulary_expect_words(size_t tokenizer, const char *text, size_t size, size_t min_count,
                             const char *expected);

/* Writing, reading and copying must preserve the vocabulary. */
void vocabulary_expect_round_trip(const Vocabulary *vocabulary);

#endif
