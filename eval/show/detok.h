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

#include "data/tokenizers/unicode.h"

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

/* Blanks between the tokens of wordpunct: "( see p . 5 ) , she said" reads "(see p. 5), she
 * said".
 *
 * wordpunct drops white space, so where it was must be guessed from the tokens. Most marks join
 * the token before or after them. Straight quotation marks and the underscores of emphasis open
 * and close in turn until a blank line. Ideographs and kana need no blanks. Whether a blank
 * precedes a token depends only on tokens before it, so that text can be printed at once. */
typedef struct Spacing {
    bool line_start; /* no token of this line yet */
    bool joins;      /* the last token joins the one after it */
    unsigned open;   /* which of the marks that come in pairs are open, a bit for each */
    LetterClass is;  /* of the last token */
    char last[8];    /* the last token if it is a mark, else only its last byte */
} Spacing;

/* Begins a text. */
void spacing_begin(Spacing *spacing);
/* The line ends. */
void spacing_end_line(Spacing *spacing);
/* Whether a blank precedes the next token. */
bool spacing_before(Spacing *spacing, const char *token);

#endif
