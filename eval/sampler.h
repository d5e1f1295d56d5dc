/* Choosing the next token from its logits. */
#ifndef LINNET_SAMPLER_H
#define LINNET_SAMPLER_H

#include "src/real.h"

typedef struct SamplerOptions {
    double temperature; /* 0 takes the likeliest token */
    size_t top_k;       /* only the k likeliest; 0: all */
    double top_p;       /* only the likeliest that together have this probability */
} SamplerOptions;

typedef struct Candidate {
    double weight;
    int32_t id;
} Candidate;

/* The id for a uniform number in [0, 1). Logits of minus infinity are never chosen. The
 * candidates are work memory for `count` of them. */
int32_t sampler_pick(const real *logits, size_t count, const SamplerOptions *options,
                     double uniform, Candidate *candidates);

#endif
