/* Derivations in a toy grammar: a proof that no text has two, and a count for one text. */
#ifndef LINNET_TOY_AMBIGUITY_H
#define LINNET_TOY_AMBIGUITY_H

#include "data/corpora/toy.h"

/* Whether some text has two derivations: from one root, if a pair names it twice, or from the
 * two roots of a pair. */
bool toy_is_ambiguous(const ToyGrammar *grammar, const uint32_t (*roots)[2], size_t count);

/* The number of derivations of a sequence of word ids from the root. */
size_t toy_count_derivations(const ToyGrammar *grammar, uint32_t root, const uint32_t *words,
                             size_t count);

#endif
