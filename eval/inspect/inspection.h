/* What a trained model makes of a text: where each head looks, and what is expected to follow
 * each token. The programs' views of it, on the terminal, as a page and as JSON, print one
 * struct.
 *
 * The whole text is read; of its last tokens everything is kept to be shown. */
#ifndef LINNET_INSPECTION_H
#define LINNET_INSPECTION_H

#include "data/vocabulary.h"
#include "models/model.h"

typedef struct Guess {
    int32_t id;
    double probability;
} Guess;

/* What the model expects behind a token. */
typedef struct Prediction {
    Guess *best;        /* inspection->guesses of them, the likeliest first */
    double probability; /* of the token that really follows, */
    size_t rank;        /* which is the rank-th likeliest; 0: the text ends here */
} Prediction;

typedef struct HeadView {
    size_t layer, head; /* from 0 */
    const AttentionKind *kind;
    /* (shown, columns) from the shown tokens to themselves; where the text is longer, column 0
     * is the sum over all tokens before. */
    real *weights;
    double low, high;         /* the extremes of single tokens */
    double entropy, distance; /* means over the text, from the shares |w| of each row */
} HeadView;

typedef struct InspectionOptions {
    size_t layer, head; /* from 1; 0: all of them */
    size_t shown;       /* the most tokens to show */
    size_t guesses;     /* the most for each prediction */
} InspectionOptions;

typedef struct Inspection {
    const Model *model;
    const Vocabulary *vocabulary;
    const int32_t *ids; /* of the shown tokens */
    size_t read;        /* tokens */
    size_t shown, columns, guesses;
    HeadView *heads;
    size_t head_count;
    Prediction *predictions; /* (shown) */
} Inspection;

/* How many tokens a model can read here: its context, or more where it has no end. */
size_t inspection_limit(const Model *model);

/* The ids are kept by reference; count is from 1 to the limit. */
void inspection_make(Inspection *inspection, const Model *model, const Vocabulary *vocabulary,
                     const int32_t *ids, size_t count, const InspectionOptions *options);
void inspection_free(Inspection *inspection);

/* The number of a shown token in what is read, from 1. */
size_t inspection_number(const Inspection *inspection, size_t i);
/* Whether the first column stands for several tokens, and the shown token of another. */
bool inspection_has_rest(const Inspection *inspection);
size_t inspection_token(const Inspection *inspection, size_t column);
/* Where row i of a head ends: it sees no column from here on. */
size_t inspection_row_end(const Inspection *inspection, size_t i);

/* The largest size of a single token's weight; the sum over earlier ones may be larger. */
double inspection_full_weight(const HeadView *view);
/* The columns of row i with the largest weights by size, the largest first; returns how many,
 * `most` or what there is. */
size_t inspection_strongest(const Inspection *inspection, const HeadView *view, size_t i,
                            size_t *columns, size_t most);

/* How a token or a column is called: visible, on one line, of at most so many columns. The
 * caller frees. */
char *inspection_word(const Inspection *inspection, int32_t id, size_t width, bool utf8);
char *inspection_column(const Inspection *inspection, size_t column, size_t width, bool utf8);
/* With its number: "#3 word". */
char *inspection_place(const Inspection *inspection, size_t column, size_t width, bool utf8);

/* A weight or probability in a list: two decimals, or one digit of what these would hide. The
 * caller frees. */
char *inspection_value(double value);

#endif
