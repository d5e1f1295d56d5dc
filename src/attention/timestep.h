/* Decays exp(-A softplus(gate)), as in Mamba-2 (Dao and Gu 2024): softplus(gate) acts as a step
 * size in time. A > 0 is a parameter of the head, stored as its logarithm. Biases of the gates
 * start such that step sizes are log-uniform between 0.001 and 0.1, and A uniform between 0 or
 * 1 and 16. */
#ifndef LINNET_TIMESTEP_H
#define LINNET_TIMESTEP_H

#include "src/attention/attention.h"
#include "src/math/random.h"
#include "src/math/vector.h"

/* The bias whose softplus lies at a share, from 0 to 1, of the way between the limits. */
static inline real timestep_bias(double share)
{
    return (real)log(expm1(1e-3 * pow(0.1 / 1e-3, share)));
}

static inline void timestep_start_params(real *params, const AttentionHead *head, RandomKey key)
{
    params[0] = (real)log(16 * (1 - random_uniform(random_subkey(key, head->index), 0)));
}

static inline void timestep_start_params_from_one(real *params, const AttentionHead *head,
                                                  RandomKey key)
{
    params[0] = (real)log(1 + 15 * random_uniform(random_subkey(key, head->index), 0));
}

/* The log decays of gates. */
static inline void timestep_logarithms(real *g, const real *raw, const real *params,
                                       size_t count)
{
    real a = (real)exp((double)params[0]);
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        g[i] = -a * vector_softplus(raw[i]);
}

/* Turns dg into the gradient of the gates. g is proportional to A, so dlog A is the sum of
 * dg g. */
static inline void timestep_logarithms_backward(real *dg, const real *raw, const real *params,
                                                real *dparams, size_t count)
{
    real a = (real)exp((double)params[0]), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) {
        sum -= dg[i] * a * vector_softplus(raw[i]);
        dg[i] *= -a * vector_sigmoid(raw[i]);
    }
    dparams[0] += sum;
}

#endif
