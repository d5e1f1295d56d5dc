/* Prints tokens as running text: with separators or detokenised, with probabilities if
 * requested, and escaped for terminals.
 *
 * A character may be spread over several tokens, so bytes wait until it is whole; bytes that
 * make none are shown as U+FFFD. Bytes that may begin a stop text wait too. */
#ifndef LINNET_WRITER_H
#define LINNET_WRITER_H

#include "data/tokenizers/utf8.h"
#include "data/tokenizers/vocabulary.h"
#include "eval/show/detok.h"
#include "models/generator.h"
#include "models/stop.h"
#include "src/math/random.h"

#include <stdio.h>

typedef struct WriterStyle {
    bool detok;         /* for tokens that are words */
    bool safe;          /* escape control sequences */
    bool utf8;          /* safe: print characters beyond ASCII as they are */
    bool probabilities; /* beside each token, for people */
    bool colour;        /* of the token, instead of a number */
} WriterStyle;

/* A token whose text waits. */
typedef struct PendingToken {
    size_t end;         /* of its text in the pending bytes */
    double probability; /* negative: a separator, which has none */
} PendingToken;

typedef struct Writer {
    const Vocabulary *vocabulary;
    WriterStyle style;
    FILE *stream;
    bool line_start; /* the text so far ends with a line end, or is empty */
    bool at_margin;  /* the same for what is printed of it */
    Detok detok;
    bool guesses; /* the tokenizer drops blanks; spacing guesses them */
    Spacing spacing;
    char *pending;           /* bytes not printed yet, an stb_ds array */
    PendingToken *tokens;    /* the tokens in it, another, if the style shows probabilities */
    char part[UTF8_LONGEST]; /* of a character, shown as U+FFFD before a pause */
    size_t part_size;
    const Stops *stops;
    StopMatch match;
    bool stopped; /* at a stop text */
} Writer;

void writer_begin(Writer *writer, const Vocabulary *vocabulary, WriterStyle style);
/* Sets the stream of the next tokens, which is borrowed. */
void writer_direct(Writer *writer, FILE *stream);
/* The text of the next tokens ends before the first of these stop texts, which are borrowed;
 * NULL: none. */
void writer_stop_at(Writer *writer, const Stops *stops);
/* The probability is used only if the style asks for it. Nothing is printed of a token after
 * the text has stopped. */
void writer_token(Writer *writer, int32_t id, double probability);
/* Prints what waits, and frees it. */
void writer_finish(Writer *writer);
/* The same, and ends the current line, if there is one. The text may continue on a new line,
 * where a character that the pause interrupts is printed whole. */
void writer_pause(Writer *writer);

/* The colour of a probability: one of a terminal's 256. From red (unlikely) over orange, olive
 * and green to blue (likely); all are about half as bright as white, so they are readable on
 * black and on white, and the ends are distinct for colour-blind readers too. */
int writer_colour(double probability);
/* One line that explains the colours, or the numbers in brackets. */
void writer_print_legend(FILE *stream, bool colour);

/* A short sample from a model, the beginning of what `sample --no-unk` prints: a text of this
 * many tokens, or the reason why it ends before; the generator starts anew. It is escaped for
 * terminals and pages: UTF-8 without control characters but line ends, the last at its end.
 * Caller frees. */
char *excerpt_make(Generator *generator, const Vocabulary *vocabulary, size_t tokens,
                   RandomKey key);

#endif
