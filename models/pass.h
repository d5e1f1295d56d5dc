/* Forward and backward pass of one batch, and decoding one position at a time: the embedding,
 * the blocks (block.h, block.c), the output head. activations.h says what is kept in between.
 */
#ifndef LINNET_PASS_H
#define LINNET_PASS_H

#include "models/activations.h"
#include "models/model.h"
#include "src/layers/head.h"
#include "src/layers/mlp.h"

/* PASS_RECOMPUTE is gradient checkpointing. */
typedef enum PassUse { PASS_EVALUATE, PASS_TRAIN, PASS_RECOMPUTE } PassUse;

/* The rows of a batch that have a label, gathered: when evaluating, the head computes only
 * these. */
typedef struct ScoredRows {
    size_t count;
    size_t right;  /* whose label has the largest logit; from the last evaluation of the head */
    size_t *rows;  /* (count) row indexes in the batch */
    const real *u; /* (count, C) u[2L]: in act.u if these are all rows, or else gathered */
    real *gathered;   /* (count, C) in r[2L], which only the last norm reads */
    int32_t *targets; /* (count) */
    real *losses;     /* (count) from the last evaluation of the head */
} ScoredRows;

typedef struct Pass {
    const Model *model;
    size_t batch, length, rows;
    PassUse use;
    MlpSizes mlp;

    Activations act;
    Gradients grad;
    real *row_loss;    /* (rows) */
    ScoredRows scored; /* of the last pass_loss */
    real *cooled;      /* (rows, C) scored.u, divided by a temperature; in r[2L-1] */
    real *cooled_bias; /* (V) likewise the head's bias; evaluation only */
    real *scratch;     /* of attention, and lent to gemm in between */
    size_t scratch_reals;
    real *head_scratch;

    /* The ngrams - 1 tokens before each row of the batch, as embedding_find_ngrams takes them,
     * and the states of all layers: the recurrent state or KV cache. Decoding carries them from
     * position to position; stateful training carries them from batch to batch, where row b of
     * a batch continues row b of the previous one. */
    real *states, *states_before; /* (states_reals); before: of this batch, for backward */
    size_t states_reals;

    uint32_t *slots;     /* (rows, ngrams - 1) of n-gram embeddings */
    real *position_rows; /* (length, C) sinusoidal position encodings, or NULL */
    real *angles;        /* (length, D) RoPE angles, or NULL */

    size_t teacher_dim; /* of pass_train_loss; set before the memory is laid out */
    double margin;      /* of the output head in training (head.h) */

    bool decoding;
    bool carries;    /* carries states from batch to batch */
    size_t capacity; /* positions that the states (KV cache) have room for */
    size_t position; /* the next position; the first of the next batch */
    Arena memory;    /* the buffers, after pass_allocate */
} Pass;

/* Makes the tables of pointers; pass_allocate or pass_layout provides the memory. */
void pass_make(Pass *pass, const Model *model, size_t batch, size_t length, PassUse use);
/* The same for decoding `batch` sequences in lockstep, up to `capacity` positions. */
void pass_make_decoder(Pass *pass, const Model *model, size_t batch, size_t capacity);
void pass_free(Pass *pass);

/* Allocates the buffers, in memory of the pass's own. */
void pass_allocate(Pass *pass, const char *what);
/* Or takes them from an arena: called once to measure, once to allocate. */
void pass_layout(Pass *pass, Arena *arena);

/* Computes u[2L] of every row, without dropout; inputs (rows). */
const real *pass_forward(Pass *pass, const int32_t *inputs);

/* Returns the sum of the cross-entropy losses, in nats, over rows with a target (label) >= 0.
 * Per-row losses are in row_loss, the rows themselves in scored. */
double pass_loss(Pass *pass, const int32_t *inputs, const int32_t *targets);

/* The same loss with logits divided by a temperature; after pass_loss with PASS_EVALUATE. */
double pass_loss_at(Pass *pass, double temperature);

/* The logits, (rows, V), of some of the scored rows; after pass_loss. */
void pass_scored_logits(Pass *pass, real *logits, size_t first, size_t rows);

/* Training, in two halves that share the key, which is specific to the step. The first runs the
 * model with dropout and returns the loss as pass_loss does, but with all rows. It computes the
 * gradient of u[2L], grad.du, and adds those of the head. A teacher may be NULL (head.h). */
double pass_train_loss(Pass *pass, Params *dparams, const int32_t *inputs,
                       const int32_t *targets, RandomKey key, const HeadTeacher *teacher);
/* The second, from grad.du: adds to all other gradients. */
void pass_backward(Pass *pass, Params *dparams, const int32_t *inputs, RandomKey key);
/* Both, without a teacher. */
double pass_gradients(Pass *pass, Params *dparams, const int32_t *inputs,
                      const int32_t *targets, RandomKey key);

/* The first step of a forward pass: computes r[0]. No dropout if the key is NULL. */
void pass_embed(Pass *pass, const int32_t *inputs, const RandomKey *key);

/* Decoding: feeds one token per sequence; writes logits (batch, V). */
void pass_step(Pass *pass, real *logits, const int32_t *tokens);

/* For passes with states. Clears them and restarts at position 0. */
void pass_restart(Pass *pass);
/* Advances past the tokens just read; the functions above already call it. */
void pass_advance(Pass *pass);
/* Moves to a position; the caller sets the states. */
void pass_move(Pass *pass, size_t position);

#endif
