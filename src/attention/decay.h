/* The engine of the unnormalised kinds whose state fades by one number per position, and of
 * those that follow the delta rule; decay.c has the mathematics. The engine_options of a kind's
 * row is its DecayRule. */
#ifndef LINNET_DECAY_H
#define LINNET_DECAY_H

#include "src/attention/chunkwise.h"

typedef struct DecayRule {
    /* The delta rule: the first gate is the logit of beta; queries and keys get the length 1.
     */
    bool delta;
    /* With the delta rule: the lookup is weaker than what is written and reads the state before
     * its decay, and queries are corrected by their key. The head's own parameters have the
     * logit of s, and d, from DECAY_FEEDBACK on. */
    bool feedback;
    /* The decay of every position, a number from 0 to 1; or NULL. */
    real (*constant)(const AttentionHead *head);
    /* Or its logarithm g from the gate: from raw numbers, the last gate of each position, and
     * the head's own parameters: g and raw (count), params (param_count). Backward turns the
     * gradient of g into that of the raw numbers, in place, and adds to that of the parameters.
     */
    void (*logarithms)(real *g, const real *raw, const real *params, size_t count);
    void (*logarithms_backward)(real *dg, const real *raw, const real *params, real *dparams,
                                size_t count);
    /* Or a step size per position, which sets its decay and its weight in the state; the value
     * times the own parameter DECAY_SKIP is added to the output. Without constant, logarithms
     * and steps the decay is 1. */
    bool steps;
    /* With steps: each position adds the pair of the position before, too; and queries and keys
     * are rotated in D/2 planes, by angles that accumulate over the positions. The recurrence
     * is then that of decay_trapezoid_engine. */
    bool trapezoid;
} DecayRule;

enum { DECAY_SKIP = 1 };
enum { DECAY_FEEDBACK = 1 }; /* the first own parameter of feedback, after that of the decay */

extern const AttentionEngine decay_engine;
/* For steps by the trapezoid rule: the state ends with the last key, the last value, and the
 * angles. */
extern const AttentionEngine decay_trapezoid_engine;
/* Several steps of the delta rule per position: delta.c. */
extern const AttentionEngine decay_product_engine;
extern const ChunkExpansion deltaproduct_expansion;

/* --- step sizes: mamba.c computes what they change in decay.c ---
 *
 *   S_i = a_i S_(i-1) + current_i k_i^T v_i + previous_i a_i k_(i-1)^T v_(i-1)
 *
 * All later positions see a pair k_i, v_i of the chunk with the weight current_i +
 * previous_(i+1), by which keys are multiplied; only position i itself sees it with current_i,
 * on the diagonal of the scores. The pair before the chunk comes with the state and is added to
 * it first. */

enum { DECAY_CHUNK = 64 }; /* the most rows of a chunk */

typedef struct Steps {
    bool trapezoid;
    size_t planes;            /* D/2 with the trapezoid rule, otherwise 0 */
    real *current, *previous; /* (rows) weights of the own pair and of the one before; */
    real *weights;            /* (rows) and of the keys */
    real *diagonal;           /* (rows) backward: the gradient of the scores' diagonal */
    real *keys;               /* (rows, D) rotated, without weights */
    real *angles;             /* (rows, planes) in all, or backward their gradients */
    real *cosines, *sines;    /* (rows, planes) */
    real *state;              /* (D, Dv) with the pair before the chunk; or NULL */
} Steps;

Steps steps_lay_out(Arena *arena, const Chunk *chunk, bool trapezoid);

/* Computes the decays and all else from the gates; g gets the logarithms. */
void steps_load(const Steps *s, const Chunk *chunk, real *g /* (rows) */,
                real *decay /* (rows) */);
/* Rotates and weighs the chunk's keys, and adds the pair before it to a copy of its state. */
void steps_load_keys(const Steps *s, const Chunk *chunk);
/* Rotates rows of D numbers. */
void steps_rotate(const Steps *s, const Chunk *chunk, real *x /* (rows, D) */, size_t stride,
                  bool back);
/* Writes the last key, value and angles behind the (D, Dv) of the state at the chunk's end. */
void steps_end(const Steps *s, const Chunk *chunk, real *state /* (D, Dv) and 3 rows */);

/* From the gradients of weighted keys, of the scores' diagonal and of log decays to those of
 * the gates; dq and dk become those of queries and keys before they were rotated. ds is that of
 * the state with the pair before the chunk, and becomes that of the state without. */
void steps_backward(const Steps *s, const Chunk *chunk, const real *dg /* (rows) */,
                    real *ds /* (D, Dv), and the rows behind it */);

#endif
