/* The engine of the unnormalised kinds whose state fades by one number per position, and of
 * those that follow the delta rule; decay.c has the mathematics. A kind's table row begins with
 * DECAY_KIND(the fields of its DecayRule). */
#ifndef LINNET_DECAY_H
#define LINNET_DECAY_H

#include "src/attention/chunkwise.h"

/* Of kinds with step sizes, what a position adds to the state a_i S_(i-1):
 *
 *   own k_i^T v_i + before a_i k_(i-1)^T v_(i-1)
 *
 * or the gradients of these numbers. */
typedef struct DecayStep {
    real g; /* log a */
    real own, before;
} DecayStep;

typedef struct DecaySteps {
    size_t gates; /* per position, besides one for each plane of a trapezoid */
    /* Each position adds the pair of the position before, too; and queries and keys are rotated
     * in D/2 planes, by angles that accumulate over the positions. */
    bool trapezoid;
    /* Computes the step of a position, and the angles, from its gates and the head's own
     * parameters. Backward turns the gradients into those of the gates, and adds to that of the
     * parameters. */
    DecayStep (*load)(real *angles, const real *gates, const real *params, size_t planes);
    void (*backward)(real *dgates, DecayStep d, const real *dangles, const real *gates,
                     const real *params, real *dparams, size_t planes);
} DecaySteps;

typedef struct DecayRule {
    /* The delta rule: the first gate is the logit of beta; queries and keys get the length 1.
     */
    bool delta;
    /* With the delta rule: the lookup is weaker than what is written, and queries are corrected
     * by their key. The head's own parameters have the logit of s, and d, from DECAY_FEEDBACK
     * on. */
    bool feedback;
    /* The decay of every position, a number from 0 to 1; or NULL. */
    real (*constant)(const AttentionHead *head);
    /* Or its logarithm g from the gate: from raw numbers, the last gate of each position, and
     * the head's own parameters. Backward turns the gradient of g into that of the raw numbers,
     * in place, and adds to that of the parameters. */
    void (*logarithms)(real *g, const real *raw, const real *params, size_t count);
    void (*logarithms_backward)(real *dg, const real *raw, const real *params, real *dparams,
                                size_t count);
    /* Or a step size per position, which sets its decay and its weight in the state; the value
     * times the own parameter DECAY_SKIP is added to the output. Without constant, logarithms
     * and steps the decay is 1. */
    const DecaySteps *steps;
} DecayRule;

enum { DECAY_SKIP = 1 };
enum { DECAY_FEEDBACK = 1 }; /* the first own parameter of feedback, after that of the decay */

extern const Recurrence decay_recurrence;
/* For steps by the trapezoid rule: the state ends with the last key, the last value, and the
 * angles. */
extern const Recurrence decay_trapezoid_recurrence;
/* Several steps of the delta rule per position: deltaproduct.c. */
extern const Recurrence decay_product_recurrence;
extern const ChunkExpansion deltaproduct_expansion;

/* One for the delta rule, and one for a decay that depends on the data, or those of the steps
 * with their angles. */
size_t decay_gates(const AttentionHead *head);
double decay_flop(const AttentionHead *head);

/* Takes the fields of a DecayRule. */
#define DECAY_KIND(...) DECAY_KIND_OF(decay_recurrence, __VA_ARGS__)
#define DECAY_KIND_OF(its_recurrence, ...)                                                    \
    CHUNKWISE_KIND(its_recurrence), .cost = "D^2", .carry = CARRY_WHOLLY, .wants_norm = true, \
                                    .gates = decay_gates, .flop = decay_flop,                 \
                                    .detail = &(const DecayRule)                              \
    {                                                                                         \
        __VA_ARGS__                                                                           \
    }

#endif
