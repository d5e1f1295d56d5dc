/* A short sample from a model: the beginning of what `sample --no-unk` prints for the same
 * seed. */
#ifndef LINNET_EXCERPT_H
#define LINNET_EXCERPT_H

#include "data/vocabulary.h"
#include "models/model.h"

/* The text is escaped for terminals and pages. The caller frees. */
char *excerpt_make(const Model *model, const Vocabulary *vocabulary, size_t tokens,
                   uint64_t seed);

#endif
