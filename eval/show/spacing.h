/* Blanks between the tokens of wordpunct: "( see p . 5 ) , she said" reads "(see p. 5), she
 * said".
 *
 * wordpunct drops white space, so where it was must be guessed from the tokens. Most marks join
 * the token before or after them. Straight quotation marks and the underscores of emphasis open
 * and close in turn until a blank line. Ideographs and kana need no blanks. Whether a blank
 * precedes a token depends only on tokens before it, so that text can be printed at once. */
#ifndef LINNET_SPACING_H
#define LINNET_SPACING_H

#include "data/tokenizers/letters.h"

#include <stdbool.h>

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
