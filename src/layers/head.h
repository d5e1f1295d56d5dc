/* The vocabulary head and the loss, fused.
 *
 * Logits, loss and their gradient are computed for a block of rows at a time, in place, so that
 * the (rows x vocabulary) matrix never exists. The vocabulary is cut into slices; a slice is a
 * tile. For one block of rows:
 *
 *   1. every slice:  z = X W_slice^T + b_slice, its row maxima m and sums of e = exp(z - m)
 *   2. every row:    lse = log of the sum over slices, loss = lse - z_target
 *   3. every slice:  p = e exp(m - lse), minus one at the target: the gradient of the loss;
 *                    dW_slice += p^T X,  db_slice += sum of p
 *   4. the block:    dX = p W
 *
 * Logits may be held to a cap, z = cap tanh(z / cap), which flattens what is far out.
 *
 * Rows whose target is negative do not count. Losses are in nats; gradients are those of the
 * SUM of the losses, so that steps made of several parts need not know each other's sizes. */
#ifndef LINNET_HEAD_H
#define LINNET_HEAD_H

#include "src/real.h"

typedef struct HeadSizes {
    size_t rows, width, vocabulary;
    real cap; /* of the logits; 0: none */
} HeadSizes;

/* Scratch memory that the functions below need, in reals. */
size_t head_scratch_reals(HeadSizes sizes);

/* The loss of each row, 0 where it does not count. Returns their sum. */
double head_loss(real *loss,             /* (rows) */
                 const real *x,          /* (rows, width) */
                 const real *w,          /* (vocabulary, width) */
                 const real *b,          /* (vocabulary) or NULL */
                 const int32_t *targets, /* (rows) */
                 HeadSizes sizes, real *scratch);

/* The same with gradients: writes dx, adds to dw and, unless NULL, db. */
double head_gradients(real *loss, real *dx, real *dw, real *db, const real *x, const real *w,
                      const real *b, const int32_t *targets, HeadSizes sizes, real *scratch);

/* The logits themselves, for few rows: (rows, vocabulary). */
void head_logits(real *logits, const real *x, const real *w, const real *b, HeadSizes sizes);

#endif
