#include "train/loop/average.h"

const char *average_name(size_t index)
{
    static const char *const names[] = {"none", "tail", "ema"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* The share of the old average that is kept. */
static double kept(const Average *average, AverageKind kind, double decay)
{
    double taken = (double)average->taken;
    double equal = taken / (taken + 1), young = (1 + taken) / (10 + taken);
    if (kind == AVERAGE_TAIL || average->taken == 0)
        return equal;
    return young < decay ? young : decay;
}

void average_take(Average *average, const real *weights, AverageKind kind, double decay)
{
    real old = (real)kept(average, kind, decay);
    for (size_t i = 0; i < average->count; i++)
        average->weights[i] = weights[i] + old * (average->weights[i] - weights[i]);
    average->taken++;
}

void average_swap(Average *average, real *weights)
{
    for (size_t i = 0; average->taken > 0 && i < average->count; i++) {
        real held = weights[i];
        weights[i] = average->weights[i];
        average->weights[i] = held;
    }
}
