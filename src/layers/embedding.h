/* Token embedding plus position embedding, with two dropouts.
 *
 *   x[r] = dropout(words(tokens[id[r]]) + positions[r mod T])
 *
 * `words` is embedding dropout by word type (AWD-LSTM's): it drops a word everywhere in the
 * batch, because the factor is a function of the token id. */
#ifndef LINNET_EMBEDDING_H
#define LINNET_EMBEDDING_H

#include "src/layers/dropout.h"

void embedding_forward(real *x,               /* (rows, width) */
                       const real *tokens,    /* (V, width) */
                       const real *positions, /* (T, width) or NULL */
                       const int32_t *ids,    /* (rows), rows a multiple of length */
                       Dropout words, Dropout dropout, size_t rows, size_t length,
                       size_t width);

/* Adds to dtokens and, if not NULL, to dpositions. */
void embedding_backward(real *dtokens, real *dpositions, const real *dx, const int32_t *ids,
                        Dropout words, Dropout dropout, size_t rows, size_t length,
                        size_t width);

/* Fills a position's row of the sinusoidal encoding of Vaswani et al. */
void embedding_sinusoids(real *row, size_t position, size_t width);

#endif
