/* Baselines for a corpus: unigrams, and Kneser-Ney n-grams. */
#ifndef LINNET_BASELINE_H
#define LINNET_BASELINE_H

#include "data/corpora/corpus.h"

typedef struct UnigramScore {
    double nats;       /* of the tokens that occur in the training text */
    size_t impossible; /* the others, whose unigram probability is zero */
} UnigramScore;

/* The maximum-likelihood unigram of the training text, line ends included. */
UnigramScore unigram_score(const Corpus *corpus, const CorpusSplit *split);

/* Scores a split and prints it. */
void baseline_print(const Corpus *corpus, const CorpusSplit *split, size_t order, bool json);

#endif
