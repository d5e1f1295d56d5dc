/* DeltaNet (Schlag et al. 2021; Yang et al. 2024) with the delta rule: before a position
 * writes, it looks up what the state stores under its key, and writes only the difference,
 *
 *   S_i = S_(i-1) + b_i k_i^T (v_i - k_i S_(i-1)),    o_i = q_i S_i / sqrt(D)
 *   b_i = sigmoid(gate)
 *
 * with queries and keys of length 1, and outputs over sqrt(D), as its authors have it. With
 * b = 1, reading a key that is orthogonal to all others returns the last value written under
 * it.
 *
 * Gated DeltaNet (Yang et al. 2024b) also decays the state, as Mamba-2 does (Dao and Gu 2024):
 * S_(i-1) is multiplied by a_i = exp(-A softplus(gate')) in both places. A > 0 is a parameter
 * of the head, stored as its logarithm. softplus(gate') acts as a step size in time; the bias
 * of gate' starts such that step sizes lie between 0.001 and 0.1.
 *
 * Comba (Hu et al. 2025) sees this as a control loop, with two more parameters of each head.
 * The lookup is weaker than what is written, by s, and reads the state before its decay;
 * queries are corrected by the key before they get the length 1:
 *
 *   S_i = a_i S_(i-1) + b_i k_i^T (v_i - s k_i S_(i-1))
 *   o_i = unit(q_i - d s k_i) S_i / sqrt(D)
 *
 * The authors' code gives s k_i the length 1 again, so that s would change the correction
 * alone; the paper does not.
 *
 * With --negative-eigenvalues b_i is twice the sigmoid for all of these.
 *
 * DeltaProduct (Siems et al. 2025): several steps of the gated delta rule at each position,
 * each with a key, a value and a rate of its own. With n steps (--steps-per-token), a_i in
 * front of the first:
 *
 *   S_i = a_i S_(i-1), then n times  S_i += b_ij k_ij^T (v_ij - k_ij S_i)
 *   o_i = q_i S_i / sqrt(D)
 *
 * One step can only change what is stored under one key. Several make products of reflections
 * (with --negative-eigenvalues), that is rotations, which permutations need.
 *
 * The engine of gated-delta sees n rows for each position; only the first decays, and only the
 * last has a query. */
#include "src/attention/decay.h"
#include "src/attention/timestep.h"

const AttentionKind attention_delta = {
    .name = "delta",
    .source = "Yang et al. 2024, arXiv 2406.06484",
    .help = "DeltaNet: the delta rule replaces the value stored under a key instead of adding",
    .uses = "negative-eigenvalues",
    .parts = {.convolution = true, .norm = true, .keeps_lengths = true},
    .gates = {.count = {.fixed = 1}},
    .encodes_positions = true,
    .form = 1,
    .changed =
        "outputs are over the root of the head dimension, without QK-norm or RoPE (since 0.2)",
    .engine = &decay_engine,
    .engine_options = &(const DecayRule){.delta = true},
};

/* --- gated --- */

/* Comba and DeltaProduct have the layer and the decay of Gated DeltaNet. */
#define PARTS                                                                       \
    .convolution = true, .norm = true, .gate = true, .keys = {.parts = 3, .of = 4}, \
    .values = {.parts = 3, .of = 2}, .keeps_lengths = true
#define DECAYS \
    .logarithms = timestep_logarithms, .logarithms_backward = timestep_logarithms_backward

/* Beta starts at one half. */
static void start_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    double share = random_uniform(random_subkey(key, head->index), 1);
    bias[0] = 0;
    bias[1] = timestep_bias(share);
}

const AttentionKind attention_gated_delta = {
    .name = "gated-delta",
    .source = "Yang et al. 2024, arXiv 2412.06464",
    .help = "Gated DeltaNet: the delta rule with a data-dependent decay of the state",
    .uses = "negative-eigenvalues",
    .encodes_positions = true,
    .parts = {PARTS},
    .gates = {.count = {.fixed = 2}, .start = start_gates},
    .param_count = {.fixed = 1},
    .start_params = timestep_start_params,
    .form = 1,
    .changed =
        "queries and keys are 3/4 as wide as the head dimension, values twice as wide as "
        "keys, and there is no QK-norm (since 0.2)",
    .engine = &decay_engine,
    .engine_options = &(const DecayRule){.delta = true, DECAYS},
};

/* --- comba --- */

/* The logit of s, and d. */
static void start_comba(real *params, const AttentionHead *head, RandomKey key)
{
    timestep_start_params(params, head, key);
    params[DECAY_FEEDBACK] = 1;
    params[DECAY_FEEDBACK + 1] = (real)0.02;
}

const AttentionKind attention_comba = {
    .name = "comba",
    .source = "Hu et al. 2025, arXiv 2506.02475",
    .help = "Comba: gated-delta with a weaker lookup, and queries corrected by the key",
    .uses = "negative-eigenvalues",
    .encodes_positions = true,
    .parts = {PARTS, .out_gate = {.form = GATE_SIGMOID}},
    .gates = {.count = {.fixed = 2}, .start = start_gates},
    .param_count = {.fixed = DECAY_FEEDBACK + 2},
    .start_params = start_comba,
    .form = 1,
    .changed =
        "the lookup reads the state before its decay, and values are twice as wide as keys "
        "(since 0.2)",
    .engine = &decay_engine,
    .engine_options = &(const DecayRule){.delta = true, .feedback = true, DECAYS},
};

/* --- deltaproduct --- */

/* Gates of a position: the rates of all steps, then the decay. Those of a row: its rate and its
 * decay. */
enum { RATE, DECAY, ROW_GATES };

static size_t steps_of(const AttentionHead *head)
{
    return head->options->steps;
}

/* softplus of this is 0: a decay of 1 */
static const real never = -1000;

static void load_row(real *row, const AttentionData *from, size_t step,
                     const AttentionHead *head)
{
    const size_t width = head->width, of_values = head->value_width, steps = head->copies;
    real *k = row + width, *v = k + width, *of_row = v + of_values;
    of_row[RATE] = from->gates[step];
    of_row[DECAY] = step == 0 ? from->gates[steps] : never;
    memcpy(k, from->k + step * head->key_heads * width, width * sizeof *k);
    memcpy(v, from->v + step * head->heads * of_values, of_values * sizeof *v);
    if (step + 1 == steps)
        memcpy(row, from->q, width * sizeof *row);
    else
        vector_zero(row, width);
}

static void row_backward(const real *drow, const AttentionData *to, size_t step,
                         const AttentionHead *head)
{
    const size_t width = head->width, of_values = head->value_width, steps = head->copies;
    const real *dk = drow + width, *dv = dk + width, *of_row = dv + of_values;
    to->dgates[step] = of_row[RATE];
    if (step == 0)
        to->dgates[steps] = of_row[DECAY];
    memcpy(to->dk + step * head->key_heads * width, dk, width * sizeof *dk);
    memcpy(to->dv + step * head->heads * of_values, dv, of_values * sizeof *dv);
    if (step + 1 == steps)
        memcpy(to->dq, drow, width * sizeof *drow);
}

const ChunkExpansion deltaproduct_expansion = {
    .gates = ROW_GATES, .load = load_row, .backward = row_backward};

static size_t product_gates(const AttentionHead *head)
{
    return head->copies + 1;
}

static void start_product_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    for (size_t i = 0; i < product_gates(head); i++)
        bias[i] = i == head->copies ? timestep_bias(random_uniform(key, head->index)) : 0;
}

const AttentionKind attention_deltaproduct = {
    .name = "deltaproduct",
    .source = "Siems et al. 2025, arXiv 2502.10297",
    .help = "DeltaProduct: several steps of gated-delta per token, for state tracking",
    .cost = "steps D^2",
    .uses = "steps-per-token negative-eigenvalues",
    .encodes_positions = true,
    .parts = {PARTS},
    .copies = steps_of,
    .gates = {.count = {.more = product_gates}, .start = start_product_gates},
    .param_count = {.fixed = 1},
    .start_params = timestep_start_params,
    .form = 1,
    .changed =
        "keys and values of all steps are projected, and values are twice as wide as keys "
        "(since 0.2)",
    .engine = &decay_product_engine,
    .engine_options = &(const DecayRule){.delta = true, DECAYS},
};
