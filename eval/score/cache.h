/* Scores with a cache of what was read (the continuous cache of Grave, Joulin and Usunier).
 *
 * Words that have come are likely to come again. For every token that has been scored, the
 * cache keeps the state h before it, which is what the head was given, and the token w itself.
 * Of the last N of them, those whose state is like the one at hand make up a distribution
 *
 *   p_cache(w) = sum over i with w_i = w of exp(theta h.h_i)  /  sum over all i
 *
 * and what counts is (1 - lambda) p_model + lambda p_cache. A token enters the cache after it
 * has been scored, not before: the cache sees nothing that the model had not seen too. Nothing
 * is learned; theta and lambda are to be found on another text than the one that is scored. */
#ifndef LINNET_CACHE_H
#define LINNET_CACHE_H

#include "eval/score/scorer.h"

enum { CACHE_THETAS = 8, CACHE_LAMBDAS = 8 };

/* The settings that are tried in one reading, and what each comes to. */
typedef struct CacheGrid {
    double theta[CACHE_THETAS], lambda[CACHE_LAMBDAS];
    size_t thetas, lambdas;
    double nats[CACHE_THETAS][CACHE_LAMBDAS];
} CacheGrid;

typedef struct Cache {
    CacheGrid grid;
    size_t size, width;
    size_t held;     /* of the size, once so many tokens have been scored */
    real *states;    /* (size + rows of a batch, C); the held ones end where the batch begins */
    int32_t *tokens; /* (size + rows of a batch) likewise */
    real *shares;    /* (rows of a batch, CACHE_THETAS) p_cache of each token */
    real *dots;      /* for each worker */
} Cache;

/* For texts that this pass reads. The grid's nats are zeros. */
void cache_make(Cache *cache, const Pass *pass, size_t size, const CacheGrid *grid);
void cache_free(Cache *cache);
/* What fills the cache, and sums the nats into its grid, while one text is scored. */
ScoreListener cache_listener(Cache *cache);

typedef struct CacheSettings {
    double theta, lambda;
} CacheSettings;

/* Of theta 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2 and 0.5 and of lambda 0.02, 0.05, 0.1,
 * 0.15, 0.2, 0.25, 0.3 and 0.4 those with which a text has the lowest loss. */
CacheSettings cache_tune(Scorer *scorer, const CorpusSplit *split, size_t size);

/* To score a text with these alone. */
CacheGrid cache_grid_of(CacheSettings settings);

#endif
