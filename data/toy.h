/* The toy corpus: English-looking news sentences from a seeded probabilistic grammar, with
 * structure at every range (agreement between subject and verb across nested clauses, a topic
 * that persists over a paragraph) and an entropy per token that is known exactly, so that a
 * loss curve can be held against the floor it cannot break. */
#ifndef LINNET_TOY_H
#define LINNET_TOY_H

#include "src/real.h"

/* At least `tokens` tokens (line ends counted), whole sentences, one a line; caller frees. */
char *toy_write(uint64_t seed, size_t tokens);

/* The entropy rate of the language in nats per token, <eos> counted, computed from the grammar.
 */
double toy_entropy(void);

#endif
