/* Detokenisation: "mr. smith did n't pay $ N ." becomes "mr. smith didn't pay $N.".
 *
 * Corpora like the Penn Treebank split off punctuation, brackets and clitics. Tables in detok.c
 * list tokens that join their neighbours, other spellings, and pairs that were one word.
 * Letters stay as they are.
 *
 * The space before a word depends only on the words before it, so words can be printed at once.
 */
#ifndef LINNET_DETOK_H
#define LINNET_DETOK_H

#include <stdbool.h>

typedef struct Detok {
    bool line_start, close; /* the next word gets no space before it */
    bool quoting;           /* between two straight quotation marks */
    char previous[16];      /* the last word; empty at the start of a line, or if it was long */
} Detok;

/* Begins a text, or its next line. */
void detok_begin(Detok *detok);
/* The spelling of the next word, and whether a space precedes it. The caller frees. */
char *detok_word(Detok *detok, const char *word, bool *space);

#endif
