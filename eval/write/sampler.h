/* Choosing the next token from its logits.
 *
 * A vocabulary is ten thousand words, so the weights exp((logit - largest) / temperature) are
 * computed in `real` and vectorised, and summed in blocks of a fixed size; only the block that
 * the uniform number falls into is walked token by token. Where --top-k or --top-p want the
 * likeliest, only as many as are kept are put in order. The choice is a function of the logits
 * and of the uniform number. */
#ifndef LINNET_SAMPLER_H
#define LINNET_SAMPLER_H

#include "src/real.h"

typedef struct SamplerOptions {
    double temperature; /* 0 takes the likeliest token */
    size_t top_k;       /* only the k likeliest; 0: all */
    double top_p;       /* only the likeliest that together have this probability */
} SamplerOptions;

typedef struct Candidate {
    real weight;
    int32_t id;
} Candidate;

/* Work memory, for `count` tokens each. */
typedef struct SamplerMemory {
    real *weights;
    Candidate *candidates;
} SamplerMemory;

/* The id for a uniform number in [0, 1). Logits of minus infinity are never chosen. */
int32_t sampler_pick(const real *logits, size_t count, const SamplerOptions *options,
                     double uniform, SamplerMemory memory);

/* The loss of a token in nats: minus the logarithm of its probability, at temperature 1 and
 * among all tokens. */
double sampler_loss(const real *logits, size_t count, int32_t id);

#endif
