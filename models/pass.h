/* Forward and backward pass of one batch, and decoding one position at a time: the embedding,
 * the blocks (block.h, block.c), the output head. activations.h says what is kept in between.
 */
#ifndef LINNET_PASS_H
#define LINNET_PASS_H

#include "models/activations.h"
#include "src/layers/head.h"

/* Computes u[2L] of every row, (rows, C); inputs (rows). No dropout if the key is NULL. */
const real *pass_forward(Pass *pass, const int32_t *inputs, const RandomKey *key);

/* Returns the sum of the cross-entropy losses, in nats, over rows with a target (label) >= 0.
 * These rows and their losses are in scored. */
double pass_loss(Pass *pass, const int32_t *inputs, const int32_t *targets); /* (rows) each */

/* The same loss with logits divided by a temperature; after pass_loss with PASS_EVALUATE. */
double pass_loss_at(Pass *pass, double temperature);

/* Training: runs the model forward, with dropout by the key, which is specific to the step, and
 * backward, and adds to all gradients. Returns the loss as pass_loss does, but with all rows. A
 * teacher may be NULL (head.h). */
double pass_gradients(Pass *pass, Params *dparams, const int32_t *inputs, /* (rows) */
                      const int32_t *targets,                             /* (rows) */
                      RandomKey key, const HeadTeacher *teacher);
/* The middle of it, after pass_forward with the key: the loss, the gradient of u[2L], grad.du,
 * and those of the head. */
double pass_head_gradients(Pass *pass, Params *dparams, const int32_t *targets, /* (rows) */
                           const RandomKey *key, const HeadTeacher *teacher);

/* The first step of a forward pass: computes r[0]; inputs (rows). No dropout if the key is
 * NULL. */
void pass_embed(Pass *pass, const int32_t *inputs, const RandomKey *key);

/* Decoding: feeds one token per sequence, (batch); writes logits, (batch, V). */
void pass_step(Pass *pass, real *logits, const int32_t *tokens);

#endif
