/* A short sample from a model: the beginning of what `sample --no-unk` prints. */
#ifndef LINNET_EXCERPT_H
#define LINNET_EXCERPT_H

#include "data/tokenizers/vocabulary.h"
#include "models/generator.h"
#include "src/math/random.h"

/* A text of this many tokens, or the reason why it ends before; the generator starts anew. It
 * is escaped for terminals and pages: UTF-8 without control characters but line ends, the last
 * at its end. The caller frees. */
char *excerpt_make(Generator *generator, const Vocabulary *vocabulary, size_t tokens,
                   RandomKey key);

#endif
