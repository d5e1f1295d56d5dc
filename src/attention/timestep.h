/* Decays exp(-A softplus(gate)), as in Mamba-2 (Dao and Gu 2024): softplus(gate) acts as a step
 * size in time. A > 0 is a parameter of the head, stored as its logarithm. Biases of the gates
 * start such that step sizes are log-uniform between 0.001 and 0.1, and A uniform up to 16. */
#ifndef LINNET_TIMESTEP_H
#define LINNET_TIMESTEP_H

#include "src/random.h"
#include "src/vector.h"

#define TIMESTEP_LEAST 1e-3
#define TIMESTEP_MOST  0.1

/* The bias whose softplus lies at a share, from 0 to 1, of the way between the limits. */
static inline real timestep_bias(double share)
{
    double length = TIMESTEP_LEAST * pow(TIMESTEP_MOST / TIMESTEP_LEAST, share);
    return (real)log(expm1(length));
}

/* log A for a random number of [0, 1). */
static inline real timestep_log_rate(double share)
{
    return (real)log(16 * (1 - share));
}

#endif
