/* The attention weights and the next-token predictions of a trained model on a text. The
 * terminal, the page and the JSON output all print this struct.
 *
 * The model reads the whole text; weights and predictions are kept for the last tokens. */
#ifndef LINNET_INSPECTION_H
#define LINNET_INSPECTION_H

#include "data/tokenizers/vocabulary.h"
#include "models/pass.h"

typedef struct Guess {
    int32_t id;
    double probability;
} Guess;

/* The prediction of the token after this one. */
typedef struct Prediction {
    Guess *best;        /* inspection->guesses of them, most likely first */
    double probability; /* of the token that follows in the text */
    size_t rank;        /* of that token, from 1; 0: the text ends here */
} Prediction;

typedef struct HeadView {
    size_t layer, head; /* from 0 */
    const AttentionKind *kind;
    /* (shown, columns): from the shown tokens to themselves. In a longer text, column 0 is the
     * sum over all earlier tokens. */
    real *weights;
    double low, high; /* the extremes of single tokens, and 0 */
    double full; /* the larger of these in size; the sum over earlier tokens may exceed it */
    double entropy, distance; /* means over the text; each row's |w| normalised to 1 */
} HeadView;

typedef struct InspectionOptions {
    size_t layer, head; /* from 1; 0: all of them */
    size_t shown;       /* the most tokens to show */
    size_t guesses;     /* the most guesses per prediction */
} InspectionOptions;

typedef struct Inspection {
    const char *label; /* tells the model from the one beside it; NULL: it is alone */
    const Model *model;
    const Vocabulary *vocabulary;
    const int32_t *ids; /* of the shown tokens */
    size_t read, shown; /* tokens; the shown ones are the last */
    size_t rest;        /* 1 if the first column is the sum over earlier tokens, else 0 */
    size_t columns;     /* rest + shown */
    size_t guesses;
    HeadView *heads;
    size_t head_count;
    Prediction *predictions; /* (shown) */
} Inspection;

/* After pass_forward of one sequence with PASS_TRAIN: the attention weights of every head,
 * which each kind has. Does not change the saved activations, only the attention scratch
 * memory. */
void inspection_weights(const Pass *pass, size_t layer, real *weights /* (heads, T, T) */);

/* The most tokens that the model can read: its context length, or more for positions without a
 * limit. */
size_t inspection_limit(const Model *model);

/* Borrows the ids; count is from 1 to the limit. */
void inspection_make(Inspection *inspection, const Model *model, const Vocabulary *vocabulary,
                     const int32_t *ids, size_t count, const InspectionOptions *options);
void inspection_free(Inspection *inspection);

/* The position of a shown token in the text, from 1. */
static inline size_t inspection_number(const Inspection *inspection, size_t i)
{
    return inspection->read - inspection->shown + i + 1;
}

/* The end of row i: the first column that it cannot attend to. */
static inline size_t inspection_row_end(const Inspection *inspection, size_t i)
{
    return inspection->rest + i + 1;
}

/* The columns of row i with the largest |weights|, largest first; returns how many, at most
 * `most`. */
size_t inspection_strongest(const Inspection *inspection, const HeadView *view, size_t i,
                            size_t *columns, size_t most);

/* Why the head has negative weights, in a sentence; NULL: it has none. */
const char *inspection_why_negative(const Inspection *inspection, const HeadView *view);

/* "Layer 2, head 1: linear", after the label if there is one; printable; the caller frees. */
char *inspection_title(const Inspection *inspection, const HeadView *view, bool utf8);
/* A printable name of a token, of one at its place or of a column, on one line of at most
 * `width` columns. Bytes that are no character are escapes such as \xc3; a token at its place
 * that completes a character has it behind: "\xbc (ü)". The caller frees. */
char *inspection_word(const Inspection *inspection, int32_t id, size_t width, bool utf8);
char *inspection_token(const Inspection *inspection, size_t i, size_t width, bool utf8);
char *inspection_column(const Inspection *inspection, size_t column, size_t width, bool utf8);
/* With its number: "#3 word". */
char *inspection_place(const Inspection *inspection, size_t column, size_t width, bool utf8);

/* A weight or probability with two decimals, or one digit if it is smaller. The caller frees.
 */
char *inspection_value(double value);

#endif
