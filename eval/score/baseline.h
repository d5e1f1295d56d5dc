/* Baselines for a language model: unigrams, and interpolated n-grams with modified Kneser-Ney
 * smoothing (Chen and Goodman).
 *
 * With c the count of an n-gram, h the words before w, and h' the same without the first,
 *
 *   p(w | h) = (c(hw) - D(c(hw))) / c(h) + g(h) p(w | h')
 *
 * where c(h) sums c(hw) over all w, D is one of three discounts of the n-gram's order, for
 * counts of 1, 2, and 3 or more, and g(h) is the mass that they free. The order below unigrams
 * is 1 / V. Only the longest n-grams have plain counts; shorter ones count the different words
 * before them (continuation counts).
 *
 * Sentences are independent, up to their <eos>. Each starts with <s>, which occurs in n-grams
 * but is never predicted. Nothing comes before it, so n-grams that begin with it have plain
 * counts at any length. There is no count cutoff.
 *
 * In memory, an n-gram is a place in the table of its length. Its key is the place of its first
 * n-1 words in the table below, and its last word. */
#ifndef LINNET_BASELINE_H
#define LINNET_BASELINE_H

#include "data/corpora/corpus.h"

enum { NGRAM_LONGEST = 9, NGRAM_DISCOUNTS = 3 };

typedef struct Ngram {
    uint64_t key;                    /* the place of its history, and its last word */
    uint32_t count;                  /* as above */
    uint32_t after;                  /* the sum of the counts of its one-word extensions */
    uint32_t kinds[NGRAM_DISCOUNTS]; /* how many of these have counts of 1, 2, 3 or more */
} Ngram;

typedef struct KneserNey {
    size_t order, vocabulary;
    int32_t eos;
    Ngram nothing;                    /* of no words */
    Ngram *tables[NGRAM_LONGEST + 1]; /* by length, from 1; stb_ds maps */
    double discounts[NGRAM_LONGEST + 1][NGRAM_DISCOUNTS];
} KneserNey;

/* Counts a text; the order is from 2 to NGRAM_LONGEST. */
void kneser_ney_make(KneserNey *model, size_t order, size_t vocabulary, int32_t eos, Tokens ids,
                     size_t count);
void kneser_ney_free(KneserNey *model);

/* The places of the last n words in the tables, by n; -1: they never occurred. */
typedef struct NgramContext {
    ptrdiff_t place[NGRAM_LONGEST];
} NgramContext;

/* Starts a sentence; and adds a word. */
NgramContext kneser_ney_begin(KneserNey *model);
void kneser_ney_read(KneserNey *model, NgramContext *context, int32_t word);
double kneser_ney_probability(KneserNey *model, const NgramContext *context, int32_t word);

/* The nats of a text, sentence by sentence. */
double kneser_ney_nats(KneserNey *model, Tokens ids, size_t count);

typedef struct UnigramScore {
    double nats;       /* of the tokens that occur in the training text */
    size_t impossible; /* the others, whose unigram probability is zero */
} UnigramScore;

/* The maximum-likelihood unigram of the training text, line ends included. */
UnigramScore unigram_score(const Corpus *corpus, const CorpusSplit *split);

/* Scores a split and prints it. */
void baseline_print(const Corpus *corpus, const CorpusSplit *split, size_t order, bool json);

#endif
