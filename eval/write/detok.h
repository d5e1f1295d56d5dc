/* Tokens of words back to print: "mr. smith did n't pay $ N ." becomes "Mr. Smith didn't ...".
 *
 * Corpora in the manner of the Penn Treebank cut punctuation, brackets and clitics off their
 * words, and many of them write all in small letters. What print would have is said by tables
 * in detok.c: marks that stand close to their neighbours, words that are written in another
 * way, pairs that were one word. A new sentence begins at a line end and after . ? and !, and
 * its first letter (ASCII or Latin-1) becomes a capital. Names are a matter of the world and
 * not of rules: a few common ones are in a table. Tokens such as <unk> stay as they are.
 *
 * Whether a space belongs before a word depends on what came before it only, so that a word
 * can be written as soon as it is there. */
#ifndef LINNET_DETOK_H
#define LINNET_DETOK_H

#include <stdbool.h>

typedef struct Detok {
    bool sentence_start;    /* the next word gets a capital */
    bool line_start, close; /* the next word gets no space before it */
    bool quoting;           /* between two straight quotation marks */
    char previous[16];      /* the last word; empty at the start of a line, or if it is long */
} Detok;

void detok_begin(Detok *detok);
/* How the word is written next, without the space; says whether one belongs before it. The
 * caller frees. */
char *detok_word(Detok *detok, const char *word, bool *space);
/* The line ends, and with it a sentence. */
void detok_end_line(Detok *detok);

#endif
