/* Prints tokens as running text: with separators or detokenised, with probabilities if
 * requested, and escaped for terminals. */
#ifndef LINNET_WRITER_H
#define LINNET_WRITER_H

#include "data/utf8.h"
#include "data/vocabulary.h"
#include "eval/show/detok.h"
#include "eval/show/spacing.h"

#include <stdio.h>

typedef struct WriterStyle {
    bool detok;         /* for tokens that are words */
    bool safe;          /* escape control sequences */
    bool utf8;          /* safe: print characters beyond ASCII as they are */
    bool probabilities; /* beside each token, for people */
    bool colour;        /* of the token, instead of a number */
} WriterStyle;

typedef struct Writer {
    const Vocabulary *vocabulary;
    WriterStyle style;
    FILE *stream;
    bool line_start;
    Detok detok;
    bool guesses; /* the tokenizer drops blanks; spacing guesses them */
    Spacing spacing;
    char pending[UTF8_LONGEST + 1]; /* bytes of an incomplete character */
    size_t pending_size;
    double pending_probability;
} Writer;

void writer_begin(Writer *writer, const Vocabulary *vocabulary, WriterStyle style);
/* Sets the stream of the next tokens, which is borrowed. */
void writer_direct(Writer *writer, FILE *stream);
/* The probability is used only if the style asks for it. */
void writer_token(Writer *writer, int32_t id, double probability);
/* Ends the current line, if there is one; the text may continue on a new line. */
void writer_pause(Writer *writer);

/* The colour of a probability: one of a terminal's 256. From red (unlikely) over orange, olive
 * and green to blue (likely); all are about half as bright as white, so they are readable on
 * black and on white, and the ends are distinct for colour-blind readers too. */
int writer_colour(double probability);
/* One line that explains the colours, or the numbers in brackets. */
void writer_print_legend(FILE *stream, bool colour);

#endif
