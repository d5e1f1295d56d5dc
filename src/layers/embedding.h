/* The first layer: the row of each token plus the row of its position, with two dropouts.
 *
 *   x[r] = dropout(words(tokens[id[r]]) + positions[r mod T])
 *
 * The dropout of words takes a word as a whole, wherever it stands in the batch: the factor is
 * a function of its id. */
#ifndef LINNET_EMBEDDING_H
#define LINNET_EMBEDDING_H

#include "src/layers/dropout.h"

void embedding_forward(real *x,               /* (rows, width) */
                       const real *tokens,    /* (V, width) */
                       const real *positions, /* (T, width) or NULL */
                       const int32_t *ids,    /* (rows), rows a multiple of length */
                       Dropout words, Dropout dropout, size_t rows, size_t length,
                       size_t width);

/* Adds to dtokens and, unless NULL, dpositions. */
void embedding_backward(real *dtokens, real *dpositions, const real *dx, const int32_t *ids,
                        Dropout words, Dropout dropout, size_t rows, size_t length,
                        size_t width);

/* The fixed table of Vaswani et al.: sines and cosines of geometrically spaced frequencies. */
void embedding_sinusoids(real *row, size_t position, size_t width);

#endif
