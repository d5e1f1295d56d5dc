/* "tokens encode": from a text of any size to a file of token ids. */
#ifndef LINNET_TOKENS_ENCODE_H
#define LINNET_TOKENS_ENCODE_H

#include "data/corpora/tokens.h"

/* Writes the file and puts the tokenizer beside it. Goes on with what an earlier call with the
 * same text and tokenizer left. Shows its progress if standard error is a terminal. If a signal
 * stops it, *signal says which one; the next call goes on. */
bool tokens_encode(const char *text, const char *path, const Vocabulary *vocabulary,
                   TokenFacts *facts, int *signal, Error *error);

#endif
