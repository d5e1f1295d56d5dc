/* The toy corpus: English-looking news sentences from a seeded probabilistic grammar, with
 * structure at every range (agreement between subject and verb across nested clauses, a topic
 * that persists over a paragraph) and an entropy per token that is known exactly, so that a
 * loss curve can be held against the floor it cannot break. */
#ifndef LINNET_TOY_H
#define LINNET_TOY_H

#include "data/corpora/toy_grammar.h"

#include <stdio.h>

/* At least `tokens` tokens (line ends counted), whole sentences, one a line; caller frees. */
char *toy_write(uint64_t seed, size_t tokens);

/* The entropy rate of the language in nats per token, <eos> counted, computed from the grammar.
 */
double toy_entropy(void);

/* A text told sentence by sentence. */
typedef struct ToyStory {
    ToyGrammar grammar;
    uint64_t seed, sentences; /* sentences so far */
    uint32_t topic;           /* of the latest one */
    uint32_t *memory;         /* the latest choices, such as the person introduced last */
    uint32_t fresh[TOY_TOPICS], sequel[TOY_TOPICS]; /* the roots */
    size_t tokens;                                  /* so far, line ends counted */
    double surprise;                                /* -log p of the text so far, in nats */
} ToyStory;

void toy_story_begin(ToyStory *story, uint64_t seed);
void toy_story_free(ToyStory *story);

/* Prints one sentence, a line. */
void toy_story_tell(ToyStory *story, FILE *stream);

#endif
