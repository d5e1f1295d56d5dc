/* The output projection to logits fused with the cross-entropy loss.
 *
 * Logits, loss and gradients are computed in place for one block of rows at a time, so the
 * (vocabulary, rows) matrix is never stored. The vocabulary is cut into slices; each slice is
 * one tile of work. A column of a slice belongs to a row of X, so that maxima, sums and
 * exponentials of many rows are computed as vectors, and W is read in place. For one block of
 * rows:
 *
 *   1. the block:    X^T
 *   2. every slice:  Z = W_slice X^T + b_slice, its column maxima m, e = exp(z - m), sums of e
 *   3. every row:    lse = log of the sum over slices, loss = lse - z_target
 *   4. every slice:  P = e exp(m - lse), minus one at the target: the gradient of the loss;
 *                    dW_slice += P X,  db_slice += sum of P,  dX_slice = P^T W_slice
 *   5. the block:    dX = sum over slices
 *
 * With a teacher (distillation), the gradient is that of (1 - share) loss + share KL(Q || P),
 * where Q are the teacher's probabilities, from steps 1 to 3 on its own X, W and b. Then step 4
 * subtracts 1 - share at the target and share Q everywhere. The loss returned is still the
 * cross-entropy.
 *
 * Soft-capping bounds the logits: z = cap tanh(z / cap).
 *
 * Rows with a negative target are ignored. Losses are in nats. Gradients are those of the SUM
 * of the losses, so batches and shards can be added; the optimizer divides by the number of
 * tokens. */
#ifndef LINNET_HEAD_H
#define LINNET_HEAD_H

#include "src/base/real.h"

typedef struct HeadSizes {
    size_t rows, width, vocabulary;
    real cap; /* soft cap of the logits; 0: none */
} HeadSizes;

/* The head of a teacher with the same vocabulary, and the final states of its layers. */
typedef struct HeadTeacher {
    const real *x; /* (rows, width) */
    const real *w; /* (vocabulary, width) */
    const real *b; /* (vocabulary) or NULL */
    size_t width;
    real cap, share; /* share: of KL(Q || P) in the loss */
} HeadTeacher;

/* Scratch memory, in reals, that the functions below need; teacher_width 0: no teacher. */
size_t head_scratch_reals(HeadSizes sizes, size_t teacher_width);

/* Computes the loss of each row (0 for ignored rows) and returns their sum. Sets *right to the
 * number of rows with a target whose logit is the largest, or one of several. */
double head_loss(size_t *right, real *loss,       /* (rows) */
                 const real *x,                   /* (rows, width) */
                 const real *w,                   /* (vocabulary, width) */
                 const real *b,                   /* (vocabulary) or NULL */
                 const int32_t *targets,          /* (rows) */
                 HeadSizes sizes, real *scratch); /* (head_scratch_reals) */

/* Computes loss and gradients: writes dx, adds to dw and, if not NULL, to db. The teacher may
 * be NULL. */
double head_gradients(real *loss,             /* (rows) */
                      real *dx,               /* (rows, width) */
                      real *dw, real *db,     /* (vocabulary, width), (vocabulary) or NULL */
                      const real *x,          /* (rows, width) */
                      const real *w,          /* (vocabulary, width) */
                      const real *b,          /* (vocabulary) or NULL */
                      const int32_t *targets, /* (rows) */
                      const HeadTeacher *teacher, HeadSizes sizes,
                      real *scratch); /* (head_scratch_reals) */

void head_logits(real *logits,                 /* (rows, vocabulary) */
                 const real *x,                /* (rows, width) */
                 const real *w, const real *b, /* (vocabulary, width), (vocabulary) or NULL */
                 HeadSizes sizes);

#endif
