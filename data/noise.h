/* Data noising as smoothing (Xie et al. 2017), in the form of bigram Kneser-Ney.
 *
 * A position with the input x gets, with probability
 *
 *   share N1+(x, .) / count(x)
 *
 * another input and another target, both drawn in proportion to N1+(., w). N1+(x, .) is the
 * number of different tokens that follow x in the text, N1+(., w) of those that precede w. So
 * what is replaced are words that predict little, by words that can follow much: a network
 * trained on this interpolates as a smoothed n-gram does. */
#ifndef LINNET_NOISE_H
#define LINNET_NOISE_H

#include "data/tokens.h"
#include "src/random.h"

typedef struct Noise {
    double *rate;   /* (vocabulary) the probability of each input; NULL: no noise */
    uint64_t *upto; /* (vocabulary) the sum of N1+(., w) up to this token */
    size_t vocabulary;
} Noise;

/* Counts a text, at most its first four million tokens. A share of 0 is no noise. */
void noise_learn(Noise *noise, double share, Tokens ids, size_t count, size_t vocabulary);
void noise_free(Noise *noise);

/* Replaces some of the inputs and targets, `count` each, of one sequence. */
void noise_apply(const Noise *noise, RandomKey key, int32_t *inputs, int32_t *targets,
                 size_t count);

#endif
