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
 * With --negative-eigenvalues b_i is twice the sigmoid for all of these.
 *
 * DeltaProduct (Siems et al. 2025): several steps of the gated delta rule at each position,
 * under keys of their own. With n steps (--steps-per-token), a_i in front of the first:
 *
 *   S_i = a_i S_(i-1), then n times   S_i += b_ij k_ij^T (v_ij - k_ij S_i),    o_i = q_i S_i
 *
 * One step can only change what is stored under one key. Several make products of reflections
 * (with --negative-eigenvalues), that is rotations, which permutations need. The last step has
 * the key and the value of the position. Keys k_ij of the others come from gates, and their
 * values are the position's times a gate, m_ij v_i, so that outputs are linear in the values.
 *
 * The engine of gated-delta sees n rows for each position; only the first decays, and only the
 * last has a query. */
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

/* --- deltaproduct --- */

/* Gates of a position: the last step's rate, the decay; then for each further step a rate, m
 * and the key. Gates of a row: its rate and its decay. */
enum { RATE, DECAY, ROW_GATES };
enum { STEP_RATE, STEP_FACTOR, STEP_KEY };

static size_t steps_of(const AttentionHead *head)
{
    return head->options->steps;
}

static size_t gates_of_step(const AttentionHead *head)
{
    return STEP_KEY + head->width;
}

/* softplus of this is 0: a decay of 1 */
static const real never = -1000;

static void load_row(real *row, const AttentionData *from, size_t step,
                     const AttentionHead *head)
{
    size_t width = head->width, size = width * sizeof(real);
    const real *gates = from->gates + ROW_GATES + step * gates_of_step(head);
    real *k = row + width, *v = k + width, *of_row = v + width;
    bool last = step + 1 == steps_of(head);
    of_row[RATE] = last ? from->gates[RATE] : gates[STEP_RATE];
    of_row[DECAY] = step == 0 ? from->gates[DECAY] : never;
    memcpy(k, last ? from->k : gates + STEP_KEY, size);
    memcpy(v, from->v, size);
    vector_zero(row, width);
    if (last)
        memcpy(row, from->q, size);
    for (size_t j = 0; !last && j < width; j++)
        v[j] *= gates[STEP_FACTOR];
}

static void row_backward(const real *drow, const AttentionData *to, size_t step,
                         const AttentionHead *head)
{
    size_t width = head->width, size = width * sizeof(real);
    const real *dk = drow + width, *dv = dk + width, *of_row = dv + width;
    size_t first = ROW_GATES + step * gates_of_step(head);
    real *dgates = to->dgates + first;
    if (step == 0)
        to->dgates[DECAY] = of_row[DECAY];
    if (step + 1 == steps_of(head)) {
        to->dgates[RATE] = of_row[RATE];
        memcpy(to->dq, drow, size);
        memcpy(to->dk, dk, size);
        memcpy(to->dv, dv, size);
        return;
    }
    dgates[STEP_RATE] = of_row[RATE];
    dgates[STEP_FACTOR] = vector_dot(dv, to->v, width);
    memcpy(dgates + STEP_KEY, dk, size);
    vector_add_scaled(to->dv, dv, to->gates[first + STEP_FACTOR], width);
}

const ChunkExpansion deltaproduct_expansion = {
    .count = steps_of, .gates = ROW_GATES, .load = load_row, .backward = row_backward};

static size_t product_gates(const AttentionHead *head)
{
    return ROW_GATES + (steps_of(head) - 1) * gates_of_step(head);
}

static void start_product_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    for (size_t i = 0; i < product_gates(head); i++)
        bias[i] = i == DECAY ? timestep_bias(random_uniform(key, head->index)) : 0;
}

static double product_flop(const AttentionHead *head)
{
    return (double)steps_of(head) * decay_flop(head);
}

const AttentionKind attention_deltaproduct = {
    CHUNKWISE_KIND(decay_product_recurrence),
    .detail = &(const DecayRule){.delta = true,
                                 .logarithms = timestep_logarithms,
                                 .logarithms_backward = timestep_logarithms_backward},
    .name = "deltaproduct",
    .help = "DeltaProduct: several steps of gated-delta per token, for state tracking",
    .cost = "steps D^2",
    .uses = "steps-per-token negative-eigenvalues",
    .carry = CARRY_WHOLLY,
    .knows_positions = true,
    .wants_convolution = true,
    .wants_norm = true,
    .wants_gate = true,
    .gates = product_gates,
    .start_gates = start_product_gates,
    .param_count = timestep_param_count,
    .start_params = timestep_start_params,
    .flop = product_flop,
};
