/* What a corpus can be predicted by without any model of linnet's: the frequencies of its
 * words, and Kneser-Ney n-grams. */
#ifndef LINNET_BASELINE_H
#define LINNET_BASELINE_H

#include "data/corpus.h"

typedef struct UnigramScore {
    double nats;       /* of the tokens that come in the training text */
    size_t impossible; /* the others, to which the unigram gives no probability at all */
} UnigramScore;

/* By the most likely unigram of the training text, line ends among its words. */
UnigramScore unigram_score(const Corpus *corpus, const CorpusSplit *split);

/* Scores a split and prints it. */
void baseline_print(const Corpus *corpus, const CorpusSplit *split, size_t order, bool json);

#endif
