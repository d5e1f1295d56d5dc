/* Retention (Sun et al. 2023): the state fades at a fixed rate, another in each head,
 *
 *   S_i = (1 - 2^-(5+h)) S_(i-1) + k_i^T v_i,    o_i = q_i S_i / sqrt(D)
 *
 * so that half of what was written is left after 22 positions in the first head, and after
 * twice as many in each further one. So slow a fading says little of what stands where:
 * positions are wanted, too. */
#include "src/attention/decay.h"

#include <math.h>

static real decay(const AttentionHead *head)
{
    return (real)(1 - exp2(-5 - (double)head->index));
}

static const DecayRule rule = {.constant = decay};

const AttentionKind attention_retention = {
    DECAY_KIND(rule),
    .name = "retention",
    .help = "RetNet retention: linear attention with a fixed decay per head",
    .wants_gate = true,
};
