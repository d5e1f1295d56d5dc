/* N-grams with modified Kneser-Ney smoothing, interpolated (Chen and Goodman): what a model of
 * a text has to be better than.
 *
 * With c the count of an n-gram, h the words before w, and h' the same without the first,
 *
 *   p(w | h) = (c(hw) - D(c(hw))) / c(h) + g(h) p(w | h')
 *
 * where c(h) sums c(hw) over all w, D is one of three discounts of the n-gram's order, for
 * counts of 1, 2, and 3 or more, and g(h) gives back what they took. Below one word stands
 * 1 / V. Only the longest n-grams count how often they come; shorter ones count how many
 * different words come before them, for that is how likely they are where a longer one is not
 * known.
 *
 * Every sentence, up to and with its <eos>, stands for itself: <s> is put before it, which is a
 * word to be seen in n-grams but never to be predicted. As nothing comes before it, n-grams
 * that begin with it count how often they come at any length. No n-gram is left out for being
 * rare.
 *
 * In memory, an n-gram is a place in the table of its length. It is found by the place of its
 * first n-1 words in the table below, and its last word. */
#ifndef LINNET_KNESER_NEY_H
#define LINNET_KNESER_NEY_H

#include <stddef.h>
#include <stdint.h>

enum { NGRAM_LONGEST = 9, NGRAM_DISCOUNTS = 3 };

typedef struct Ngram {
    uint64_t key;   /* the place of what stands before the last word, and the last word */
    uint32_t count; /* as above */
    uint32_t
        after; /* the sum of the counts of those that begin with it and are a word longer */
    uint32_t kinds[NGRAM_DISCOUNTS]; /* how many of these have a count of 1, 2, 3 or more */
} Ngram;

typedef struct KneserNey {
    size_t order, vocabulary;
    int32_t eos;
    Ngram nothing;                    /* of no words */
    Ngram *tables[NGRAM_LONGEST + 1]; /* by their length, from 1; maps of stb_ds */
    double discounts[NGRAM_LONGEST + 1][NGRAM_DISCOUNTS];
} KneserNey;

/* Counts a text; the order is from 2 to NGRAM_LONGEST. */
void kneser_ney_make(KneserNey *model, size_t order, size_t vocabulary, int32_t eos,
                     const int32_t *ids, size_t count);
void kneser_ney_free(KneserNey *model);

/* Where the last words stand in the tables, by how many they are; -1: they never came. */
typedef struct NgramContext {
    ptrdiff_t at[NGRAM_LONGEST];
} NgramContext;

/* At the beginning of a sentence; and after one more word. */
NgramContext kneser_ney_begin(KneserNey *model);
void kneser_ney_read(KneserNey *model, NgramContext *context, int32_t word);
double kneser_ney_probability(KneserNey *model, const NgramContext *context, int32_t word);

/* The nats of a text, sentence by sentence. */
double kneser_ney_nats(KneserNey *model, const int32_t *ids, size_t count);

#endif
