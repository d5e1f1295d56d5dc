/* Samples the next token from its logits: temperature, top-k and nucleus (top-p) sampling.
 *
 * For large vocabularies the weights exp((logit - largest) / temperature) are vectorised and
 * summed in blocks of a fixed size; only the block that the uniform number falls into is
 * searched. --top-k and --top-p sort only the tokens they keep. The choice is a function of the
 * logits and the uniform number. */
#ifndef LINNET_SAMPLER_H
#define LINNET_SAMPLER_H

#include "src/real.h"

typedef struct SamplerOptions {
    double temperature; /* 0: the likeliest token */
    size_t top_k;       /* only the k likeliest; 0: all */
    double top_p;       /* only the likeliest tokens with this total probability */
} SamplerOptions;

typedef struct Candidate {
    real weight;
    int32_t id;
} Candidate;

/* Scratch for `count` tokens. */
typedef struct SamplerMemory {
    real *weights;
    Candidate *candidates;
} SamplerMemory;

/* The token for a uniform number in [0, 1); never one with a logit of minus infinity. */
int32_t sampler_pick(const real *logits, size_t count, const SamplerOptions *options,
                     double uniform, SamplerMemory memory);

/* The loss of a token in nats: -log of its probability at temperature 1 among all tokens. */
double sampler_loss(const real *logits, size_t count, int32_t id);

/* The rank of a token among all, from 1 for the likeliest; ties go to the smaller id. */
size_t sampler_rank(const real *logits, size_t count, int32_t id);

#endif
