/* A few tokens from a model, as a taste of how it writes: what `sample --no-unk` would begin
 * with for the same seed. */
#ifndef LINNET_EXCERPT_H
#define LINNET_EXCERPT_H

#include "data/vocabulary.h"
#include "models/model.h"

/* Text that anything may print: what terminals or pages would obey is spelled out. The caller
 * owns it. */
char *excerpt_make(const Model *model, const Vocabulary *vocabulary, size_t tokens,
                   uint64_t seed);

#endif
