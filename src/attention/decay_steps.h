/* Part of decay.c: kinds that add to the state by step sizes, such as Mamba's.
 *
 *   S_i = a_i S_(i-1) + own_i k_i^T v_i + before_i a_i k_(i-1)^T v_(i-1)
 *
 * All later positions see a pair k_i, v_i of the chunk with the weight own_i + before_(i+1), by
 * which keys are multiplied; only position i itself sees it with own_i, on the diagonal of the
 * scores. The pair before the chunk comes with the state and is added to it first. */
#ifndef LINNET_DECAY_STEPS_H
#define LINNET_DECAY_STEPS_H

#include "src/attention/decay.h"
#include "src/attention/fading.h"

typedef struct Steps {
    const DecaySteps *rule;
    size_t planes;
    real *own, *before, *weights; /* (rows) weights: of the keys */
    real *diagonal;               /* (rows) backward: the gradient of the scores' diagonal */
    real *keys;                   /* (rows, D) turned, without weights */
    real *angles;                 /* (rows, planes) in all, or backward their gradients */
    real *cosines, *sines;        /* (rows, planes) */
    real *state;                  /* (D, D) with the pair before the chunk */
} Steps;

Steps steps_lay_out(const DecaySteps *rule, Arena *arena, const Chunk *chunk);

/* Computes the decays and all else from the gates; g gets the logarithms. */
void steps_load(const Steps *s, const Chunk *chunk, real *g, real *decay);
/* Turns and weighs the chunk's keys, and adds the pair before it to a copy of its state. */
void steps_load_keys(const Steps *s, const Chunk *chunk);
/* Turns rows of D numbers. */
void steps_turn(const Steps *s, const Chunk *chunk, real *x, size_t stride, bool back);
/* Writes the last key, value and angles behind the (D, D) of the state at the chunk's end. */
void steps_end(const Steps *s, const Chunk *chunk, real *state);

/* From the gradients of weighted keys, of the scores' diagonal and of log decays to those of
 * the gates; dq and dk become those of queries and keys before they were turned. ds is that of
 * the state with the pair before the chunk, and becomes that of the state without. */
void steps_backward(const Steps *s, const Chunk *chunk, const real *dg, real *ds);

#endif
