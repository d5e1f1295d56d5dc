/* Generates a toy text sentence by sentence, for the program that streams it and the test that
 * compares the sentences' -log p with toy_entropy(). */
#ifndef LINNET_TOY_STORY_H
#define LINNET_TOY_STORY_H

#include "data/toy_grammar.h"

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

/* Appends one line to *text, an stb_ds array of bytes that the caller frees. */
void toy_story_tell(ToyStory *story, char **text);

#endif
