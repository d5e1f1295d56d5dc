/* The engine of the unnormalised kinds whose state fades by one number per position, and of
 * those that follow the delta rule; decay.c has the mathematics. A kind's table row begins with
 * DECAY_KIND(the fields of its DecayRule). */
#ifndef LINNET_DECAY_H
#define LINNET_DECAY_H

#include "src/attention/chunkwise.h"

typedef struct DecayRule {
    /* The delta rule: the first gate is the logit of beta; queries and keys get the length 1.
     */
    bool delta;
    /* With the delta rule: the lookup is weaker than what is written, and queries are corrected
     * by their key. The head's own parameters have the logit of s, and d, from FEEDBACK on. */
    bool feedback;
    /* The decay of every position, a number from 0 to 1; or NULL. */
    real (*constant)(const AttentionHead *head);
    /* Or its logarithm g from the gate: from raw numbers, the last gate of each position, and
     * the head's own parameters. Backward turns the gradient of g into that of the raw numbers,
     * in place, and adds to that of the parameters. With neither function nothing fades. */
    void (*logarithms)(real *g, const real *raw, const real *own, size_t count);
    void (*logarithms_backward)(real *dg, const real *raw, const real *own, real *down,
                                size_t count);
} DecayRule;

enum { DECAY_FEEDBACK = 1 }; /* the first own parameter of feedback, after that of the decay */

extern const Recurrence decay_recurrence;

/* One for the delta rule, and one for a decay that depends on the data. */
size_t decay_gates(const AttentionHead *head);
double decay_flop(const AttentionHead *head);

/* Takes the fields of a DecayRule. */
#define DECAY_KIND(...)                                                                \
    CHUNKWISE_KIND(decay_recurrence), .cost = "D^2", .carry = CARRY_WHOLLY,            \
                                      .wants_norm = true, .gates = decay_gates,        \
                                      .flop = decay_flop, .detail = &(const DecayRule) \
    {                                                                                  \
        __VA_ARGS__                                                                    \
    }

#endif
