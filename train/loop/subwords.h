/* Embeddings that share the character n-grams of their tokens while the model learns (as in
 * fastText, Bojanowski et al., arXiv:1607.04606). With the n n-grams g of token w:
 *
 *   E[w] = own[w] + (sum over g of shared[g]) / sqrt(n)
 *
 * A rare word learns from all words that are spelled alike. The n-grams have 3 to 5 characters,
 * the ends of the token among them; only those that several tokens have count. The model, and
 * every checkpoint to use, has E alone; own and shared, with their moments, are the trainer's,
 * which steps them in place of E:
 *
 *   down[w] = dE[w],   dshared[g] = sum over w with g of dE[w] / sqrt(n)
 *
 * E starts as it would without n-grams: shared starts at 0. */
#ifndef LINNET_SUBWORDS_H
#define LINNET_SUBWORDS_H

#include "data/tokenizers/vocabulary.h"
#include "src/base/memory.h"
#include "src/optim/adamw.h"

/* Lists of numbers, one after the other: those of list i are numbers[first[i]] up to
 * numbers[first[i + 1]]. */
typedef struct NumberLists {
    size_t *first; /* [lists + 1] */
    uint32_t *numbers;
} NumberLists;

typedef struct Subwords {
    size_t tokens, width, ngrams;
    NumberLists of_tokens, of_ngrams; /* the n-grams of each token, and back */
    real *state;                      /* (subwords_state_reals) own and shared, then m and v */
    const real *down; /* (tokens, width) the gradient of own, which is the embeddings' */
    real *dshared;    /* (ngrams, width) */
    double *sums;     /* of squares of both, for each tile */
} Subwords;

/* Finds the n-grams; false if no two tokens have one in common. */
bool subwords_find(Subwords *subwords, const Vocabulary *vocabulary, size_t width);
void subwords_free(Subwords *subwords);

/* The memory that these lists take. */
size_t subwords_lists_bytes(const Subwords *subwords);

/* Allocates state and gradient in an arena: called once to measure, once with its memory. */
void subwords_layout(Subwords *subwords, Arena *arena);
size_t subwords_state_reals(const Subwords *subwords);

/* Makes own the embeddings, (tokens, width), and shared 0. */
void subwords_start(Subwords *subwords, const real *embeddings);
/* Forgets the moments. */
void subwords_restart(Subwords *subwords);

/* Sets the gradients from that of the embeddings, (tokens, width), which the caller keeps;
 * returns the sum of their squares. */
double subwords_gradients(Subwords *subwords, const real *gradient);

/* Takes step t of AdamW (adamw.h) and computes the embeddings, (tokens, width). */
void subwords_step(Subwords *subwords, real *embeddings, AdamW adam, uint64_t t,
                   double learning_rate, double decay, double scale);

#endif
