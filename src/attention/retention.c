/* Retention (RetNet, Sun et al. 2023): the state decays at a fixed rate, which differs by head,
 *
 *   S_i = (1 - 2^-(5+h)) S_(i-1) + k_i^T v_i,    o_i = q_i S_i / sqrt(D)
 *
 * a half-life of 22 positions in the first head, and twice that in each further one, as long as
 * floats tell the factor from 1: 20 heads fade. So slow a decay hardly encodes positions, so a
 * position encoding is on by default. */
#include "src/attention/decay.h"

#include <math.h>

static real decay(const AttentionHead *head)
{
    return (real)(1 - exp2(-5 - (double)head->index));
}

const AttentionKind attention_retention = {
    DECAY_KIND(.constant = decay),
    .name = "retention",
    .help = "RetNet retention: linear attention with a fixed decay per head",
    .wants_gate = true,
};
