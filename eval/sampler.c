#include "eval/sampler.h"

#include <math.h>
#include <stdlib.h>

static int32_t likeliest(const real *logits, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

/* Falling weight, then rising id: one order, whatever qsort does with equals. */
static int by_weight(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

int32_t sampler_pick(const real *logits, size_t count, const SamplerOptions *options,
                     double uniform, Candidate *candidates)
{
    int32_t best = likeliest(logits, count);
    if (options->temperature <= 0)
        return best;
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        double distance = ((double)logits[i] - (double)logits[best]) / options->temperature;
        candidates[i] = (Candidate){exp(distance), (int32_t)i};
        total += candidates[i].weight;
    }
    size_t kept = count;
    if (options->top_k > 0 || options->top_p < 1) {
        qsort(candidates, count, sizeof *candidates, by_weight);
        if (options->top_k > 0 && options->top_k < kept)
            kept = options->top_k;
        double all = total;
        total = candidates[0].weight;
        for (size_t i = 1; i < kept; i++) {
            if (total >= options->top_p * all)
                kept = i;
            else
                total += candidates[i].weight;
        }
    }
    double left = uniform * total;
    for (size_t i = 0; i < kept; i++) {
        left -= candidates[i].weight;
        if (left < 0)
            return candidates[i].id;
    }
    return best; /* rounding used up the last of it */
}
