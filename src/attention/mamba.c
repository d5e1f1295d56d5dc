/* Mamba-2 (Dao and Gu 2024): each position chooses a step size, by which the state decays and
 * by which the position is written,
 *
 *   S_i = a_i S_(i-1) + t_i k_i^T v_i,    o_i = q_i S_i / sqrt(D) + d v_i
 *   t_i = softplus(gate),    a_i = exp(-A t_i)
 *
 * where A > 0 and d are parameters of the head. A step of t is what the differential equation
 * S' = -A S + k^T v does in the time t, if k^T v is taken at its end.
 *
 * Mamba-3 (2025) takes it from both ends, as the trapezoid rule does, with shares l and 1 - l,
 * and the state is a complex number: queries and keys are turned by angles that add up from
 * position to position, like RoPE at a speed that the data choose,
 *
 *   S_i = a_i S_(i-1) + l_i t_i k_i^T v_i + (1 - l_i) t_i a_i k_(i-1)^T v_(i-1)
 *   l_i = sigmoid(gate'),    angle_i = angle_(i-1) + t_i pi tanh(gates'')
 *
 * with q and k turned in D/2 planes. Two values of a state can so take turns, which a decay
 * alone cannot do. A head has a single input and output (SISO), unlike Mamba-3's MIMO form. */
#include "src/attention/decay.h"
#include "src/attention/timestep.h"

static DecayStep mamba2_load(real *angles, const real *gates, const real *params, size_t planes)
{
    (void)angles, (void)planes;
    real t = vector_softplus(gates[0]);
    return (DecayStep){.g = -vector_exp(params[0]) * t, .own = t};
}

/* From the gradient of t in steps; dlog A is dg g. */
static void time_backward(real *dgates, real dt, real dg, const real *gates, const real *params,
                          real *dparams)
{
    real rate = vector_exp(params[0]);
    dgates[0] = (dt - rate * dg) * vector_sigmoid(gates[0]);
    dparams[0] -= dg * rate * vector_softplus(gates[0]);
}

static void mamba2_backward(real *dgates, DecayStep d, const real *dangles, const real *gates,
                            const real *params, real *dparams, size_t planes)
{
    (void)dangles, (void)planes;
    time_backward(dgates, d.own, d.g, gates, params, dparams);
}

static void start_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    size_t count = head->kind->gates(head);
    for (size_t i = 0; i < count; i++)
        bias[i] = i == 0 ? timestep_bias(random_uniform(key, head->index)) : 0;
}

static size_t two_parameters(const AttentionHead *head)
{
    (void)head;
    return DECAY_SKIP + 1;
}

static void start_params(real *params, const AttentionHead *head, RandomKey key)
{
    timestep_start_params(params, head, key);
    params[DECAY_SKIP] = 1;
}

static const DecaySteps mamba2 = {.gates = 1, .load = mamba2_load, .backward = mamba2_backward};

const AttentionKind attention_mamba2 = {
    DECAY_KIND(.steps = &mamba2),
    .name = "mamba2",
    .help = "Mamba-2: a data-dependent step size sets both the decay and the weight of a write",
    .knows_positions = true,
    .wants_convolution = true,
    .wants_gate = true,
    .start_gates = start_gates,
    .param_count = two_parameters,
    .start_params = start_params,
};

/* --- mamba3 --- */

#define PI ((real)3.141592653589793)

static DecayStep mamba3_load(real *angles, const real *gates, const real *params, size_t planes)
{
    DecayStep step = mamba2_load(angles, gates, params, planes);
    real t = step.own, share = vector_sigmoid(gates[1]);
    for (size_t p = 0; p < planes; p++)
        angles[p] = t * PI * vector_tanh(gates[2 + p]);
    step.own = share * t;
    step.before = (1 - share) * t;
    return step;
}

static void mamba3_backward(real *dgates, DecayStep d, const real *dangles, const real *gates,
                            const real *params, real *dparams, size_t planes)
{
    real t = vector_softplus(gates[0]), share = vector_sigmoid(gates[1]), dt = 0;
    for (size_t p = 0; p < planes; p++) {
        real speed = vector_tanh(gates[2 + p]);
        dt += dangles[p] * PI * speed;
        dgates[2 + p] = dangles[p] * t * PI * (1 - speed * speed);
    }
    dgates[1] = (d.own - d.before) * t * share * (1 - share);
    time_backward(dgates, dt + d.own * share + d.before * (1 - share), d.g, gates, params,
                  dparams);
}

static const DecaySteps mamba3 = {
    .gates = 2, .trapezoid = true, .load = mamba3_load, .backward = mamba3_backward};

const AttentionKind attention_mamba3 = {
    DECAY_KIND_OF(decay_trapezoid_recurrence, .steps = &mamba3),
    .name = "mamba3",
    .help = "Mamba-3: mamba2 with the trapezoid rule and data-dependent RoPE",
    .knows_positions = true,
    .wants_gate = true,
    .gate_rank = 32,
    .start_gates = start_gates,
    .param_count = two_parameters,
    .start_params = start_params,
};
