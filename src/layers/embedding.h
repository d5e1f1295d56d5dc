/* The embedding: a token's, its position's and those of the n-grams that end in it, with three
 * dropouts D.
 *
 *   x[r] = D_inputs(D_words(tokens[id[r]]) + positions[r mod T]
 *                   + sum over n D_ngrams(ngrams[slot]))
 *   slot = hash(id[r], id[r-1] .. id[r-n+1]) mod the rows of ngrams      n = 2 .. order
 *
 * n-grams share the rows of one table, in which several can have the same (hash embeddings).
 * D_words is embedding dropout by word type (AWD-LSTM's): it drops a word everywhere in the
 * batch, because the factor is a function of the token id. D_ngrams drops a row of the table in
 * the same way, so that the model learns to do without the n-grams that it knows too well. */
#ifndef LINNET_EMBEDDING_H
#define LINNET_EMBEDDING_H

#include "src/layers/dropout.h"

/* Sizes of a batch; rows is a multiple of length. */
typedef struct EmbeddingSizes {
    size_t rows, length, width, vocabulary;
    size_t order, slots; /* of n-grams: 1 for none; rows of their table */
} EmbeddingSizes;

/* The weights, or their gradients. */
typedef struct EmbeddingTables {
    real *tokens;    /* (V, width) */
    real *positions; /* (T, width) or NULL */
    real *ngrams;    /* (slots, width), or NULL if order is 1 */
} EmbeddingTables;

/* The slot of no n-gram, at the start of a text. */
#define NGRAM_NONE UINT32_MAX

/* Finds the slots of a batch. `before` has the order - 1 tokens before each sequence, newest
 * first, as id + 1, or 0 before the start of the text; they are replaced by the last ones of
 * the sequence. NULL: every sequence is a text. */
void embedding_find_ngrams(uint32_t *slots,    /* (rows, order - 1) */
                           real *before,       /* (rows / length, order - 1) or NULL */
                           const int32_t *ids, /* (rows) */
                           EmbeddingSizes sizes);

typedef struct EmbeddingDropouts {
    Dropout words, ngrams, inputs;
} EmbeddingDropouts;

void embedding_forward(real *x,               /* (rows, width) */
                       EmbeddingTables from,  /* the weights */
                       const int32_t *ids,    /* (rows) */
                       const uint32_t *slots, /* (rows, order - 1) */
                       EmbeddingDropouts dropouts, EmbeddingSizes sizes);

/* Adds to the gradients of the tables. */
void embedding_backward(EmbeddingTables to,    /* the gradients */
                        const real *dx,        /* (rows, width) */
                        const int32_t *ids,    /* (rows) */
                        const uint32_t *slots, /* (rows, order - 1) */
                        EmbeddingDropouts dropouts, EmbeddingSizes sizes);

/* Fills a position's row of the sinusoidal encoding of Vaswani et al. */
void embedding_sinusoids(real *row, /* (width) */
                         size_t position, size_t width);

#endif
