/* DeltaNet (Schlag et al. 2021; Yang et al. 2024) with the delta rule: before a position
 * writes, it looks up what the state stores under its key, and writes only the difference,
 *
 *   S_i = S_(i-1) + b_i k_i^T (v_i - k_i S_(i-1)),    o_i = q_i S_i,    b_i = sigmoid(gate)
 *
 * with normalised queries and keys. With b = 1, reading a key that is orthogonal to all others
 * returns exactly the last value written under it. No scale is needed.
 *
 * Gated DeltaNet (Yang et al. 2024b) also decays the state, as Mamba-2 does (Dao and Gu 2024):
 * S_(i-1) is multiplied by a_i = exp(-A softplus(gate')) in both places. A > 0 is a parameter
 * of the head, stored as its logarithm. softplus(gate') acts as a step size in time; the bias
 * of gate' starts such that step sizes lie between 0.001 and 0.1.
 *
 * Comba (Hu et al. 2025) sees this as a control loop, with two more parameters of each head.
 * The lookup is weaker than what is written, by s, and queries are corrected by the key:
 *
 *   S_i = a_i S_(i-1) + b_i k_i^T (v_i - s k_i a_i S_(i-1)),    o_i = (q_i - d s k_i) S_i
 *
 * With --negative-eigenvalues b_i is twice the sigmoid for all of these. */
#include "src/attention/decay.h"
#include "src/attention/timestep.h"

const AttentionKind attention_delta = {
    DECAY_KIND(.delta = true),
    .name = "delta",
    .help = "DeltaNet: the delta rule replaces the value stored under a key instead of adding",
    .uses = "negative-eigenvalues",
    .wants_convolution = true,
};

/* --- gated --- */

/* Beta starts at one half. */
static void start_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    double share = random_uniform(random_subkey(key, head->index), 1);
    bias[0] = 0;
    bias[1] = timestep_bias(share);
}

const AttentionKind attention_gated_delta = {
    DECAY_KIND(.delta = true, .logarithms = timestep_logarithms,
               .logarithms_backward = timestep_logarithms_backward),
    .name = "gated-delta",
    .help = "Gated DeltaNet: the delta rule with a data-dependent decay of the state",
    .uses = "negative-eigenvalues",
    .knows_positions = true,
    .wants_convolution = true,
    .wants_gate = true,
    .start_gates = start_gates,
    .param_count = timestep_param_count,
    .start_params = timestep_start_params,
};

/* --- comba --- */

static size_t three_parameters(const AttentionHead *head)
{
    (void)head;
    return DECAY_FEEDBACK + 2;
}

/* The logit of s, and d. */
static void start_comba(real *params, const AttentionHead *head, RandomKey key)
{
    timestep_start_params(params, head, key);
    params[DECAY_FEEDBACK] = 1;
    params[DECAY_FEEDBACK + 1] = (real)0.02;
}

const AttentionKind attention_comba = {
    DECAY_KIND(.delta = true, .feedback = true, .logarithms = timestep_logarithms,
               .logarithms_backward = timestep_logarithms_backward),
    .name = "comba",
    .help = "Comba: gated-delta with a weaker lookup, and queries corrected by the key",
    .uses = "negative-eigenvalues",
    .knows_positions = true,
    .wants_convolution = true,
    .wants_gate = true,
    .start_gates = start_gates,
    .param_count = three_parameters,
    .start_params = start_comba,
};
