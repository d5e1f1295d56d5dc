/* The engine of the unnormalised kinds whose state fades by one number per position, and of
 * those that follow the delta rule; decay.c says the mathematics. A kind's
 * table row begins with DECAY_KIND(its DecayRule). */
#ifndef LINNET_DECAY_H
#define LINNET_DECAY_H

#include "src/attention/attention.h"

typedef struct DecayRule {
    /* The delta rule: the first gate is the logit of beta; queries and keys get the length 1.
     */
    bool delta;
    /* The decay of every position, a number from 0 to 1; or NULL. */
    real (*constant)(const AttentionHead *head);
    /* Or its logarithm g from the gate: from raw numbers, the last gate of each position, and
     * the head's own parameters. Backward turns the gradient of g into that of the raw numbers,
     * in place, and adds to that of the parameters. With neither function nothing fades. */
    void (*logarithms)(real *g, const real *raw, const real *own, size_t count);
    void (*logarithms_backward)(real *dg, const real *raw, const real *own, real *down,
                                size_t count);
} DecayRule;

#define DECAY_KIND(rule)                                                            \
    .cost = "D^2", .finite_state = true, .carry = CARRY_WHOLLY, .wants_norm = true, \
    .saved_reals = decay_saved_reals, .scratch_reals = decay_scratch_reals,         \
    .state_reals = decay_state_reals, .flop = decay_flop, .forward = decay_forward, \
    .backward = decay_backward, .step = decay_step, .detail = &(rule)

size_t decay_saved_reals(const AttentionHead *head);
size_t decay_scratch_reals(const AttentionHead *head);
size_t decay_state_reals(const AttentionHead *head);
size_t decay_one_gate(const AttentionHead *head); /* a number of gates of its own: 1 */
double decay_flop(const AttentionHead *head);
void decay_forward(const AttentionData *data, const AttentionHead *head);
void decay_backward(const AttentionData *data, const AttentionHead *head);
void decay_step(const AttentionData *data, real *state, size_t position,
                const AttentionHead *head);

#endif
