/* Tokens on their way out, as running text: with separators or detokenised, with their
 * probabilities if these are wanted, and made safe where a terminal reads them. */
#ifndef LINNET_WRITER_H
#define LINNET_WRITER_H

#include "data/utf8.h"
#include "data/vocabulary.h"
#include "eval/write/detok.h"

#include <stdio.h>

typedef struct WriterStyle {
    bool detok;         /* for tokens that are words */
    bool safe;          /* nothing that a terminal obeys */
    bool utf8;          /* safe: characters beyond ASCII are shown as they are */
    bool probabilities; /* beside each token, for people */
    bool colour;        /* of the token, instead of a number */
} WriterStyle;

typedef struct Writer {
    const Vocabulary *vocabulary;
    WriterStyle style;
    FILE *stream;
    bool line_start;
    Detok detok;
    char pending[UTF8_LONGEST + 1]; /* bytes of a character that is not complete yet */
    size_t pending_size;
    double pending_probability;
} Writer;

void writer_begin(Writer *writer, const Vocabulary *vocabulary, WriterStyle style);
/* Where the next tokens go; before the first, and after each pause. Borrowed. */
void writer_direct(Writer *writer, FILE *stream);
/* The probability is read only if the style wants it. */
void writer_token(Writer *writer, int32_t id, double probability);
/* Ends the line, if one has begun. The text may go on afterwards, on a new line. */
void writer_pause(Writer *writer);

#endif
