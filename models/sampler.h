/* Samples the next token from its logits: temperature, top-k and nucleus (top-p) sampling.
 *
 * For large vocabularies the weights exp((logit - largest) / temperature) are vectorised and
 * summed in blocks of a fixed size; only the block that the uniform number falls into is
 * searched. --top-k and --top-p sort only the tokens they keep. The choice is a function of the
 * logits and the uniform number. A repetition penalty changes the logits beforehand. */
#ifndef LINNET_SAMPLER_H
#define LINNET_SAMPLER_H

#include "src/base/real.h"

typedef struct SamplerOptions {
    double temperature; /* 0: the likeliest token */
    size_t top_k;       /* only the k likeliest; 0: all */
    double top_p;       /* only the likeliest tokens with this total probability */
    double penalty;     /* repetition penalty, applied by sampler_penalise; 0 or 1: none */
} SamplerOptions;

/* What the options may be; top_p is a probability. */
#define SAMPLER_MOST_TEMPERATURE 100.0
#define SAMPLER_LEAST_PENALTY    0.01
#define SAMPLER_MOST_PENALTY     100.0

typedef struct Candidate {
    real weight;
    int32_t id;
} Candidate;

typedef struct SamplerMemory {
    real *weights;         /* (V) scratch */
    Candidate *candidates; /* (V) */
} SamplerMemory;

/* Repetition penalty (CTRL, Keskar et al. 2019; Hugging Face's rule): divides the logits
 * (count) of seen tokens (count) by the penalty if they are positive, and multiplies them if
 * they are not. */
void sampler_penalise(real *logits, size_t count, const bool *seen, double penalty);

/* The token for a uniform number in [0, 1) by its logits (count); never one with a logit of
 * minus infinity. */
int32_t sampler_pick(const real *logits, size_t count, const SamplerOptions *options,
                     double uniform, SamplerMemory memory);

/* The loss of a token in nats: -log of its probability at temperature 1 among all tokens, by
 * their logits (count). */
double sampler_loss(const real *logits, size_t count, int32_t id);

/* The rank of a token among all, by their logits (count), from 1 for the likeliest; ties go to
 * the smaller id. */
size_t sampler_rank(const real *logits, size_t count, int32_t id);

#endif
