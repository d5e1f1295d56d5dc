/* What a teacher predicts for one token, as a record: the ids of the most likely tokens, then
 * their probabilities in units of 1 / SOFT_UNIT. What is left belongs to all other tokens, in
 * proportion to their shares of a text (unigram). */
#ifndef LINNET_SOFT_RECORD_H
#define LINNET_SOFT_RECORD_H

#include "src/base/real.h"

enum { SOFT_UNIT = 65535 };

/* The factor from the share of a token that is not listed to its probability. */
static inline real soft_record_rest(const uint16_t *record, size_t listed, const real *unigram)
{
    const double least = 1e-6; /* every token of the text may be listed */
    uint32_t sum = 0;
    double others = 1;
    for (size_t k = 0; k < listed; k++) {
        sum += record[listed + k];
        others -= (double)unigram[record[k]];
    }
    double rest = sum < SOFT_UNIT ? SOFT_UNIT - sum : 0; /* the file may change under way */
    return others > least ? (real)(rest / (SOFT_UNIT * others)) : 0;
}

#endif
