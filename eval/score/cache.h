/* Scores with the neural cache (the continuous cache of Grave, Joulin and Usunier).
 *
 * Recent words are likely to come again. For every scored token w the cache keeps the hidden
 * state h that predicted it, the input of the head. The last N of them give the distribution
 *
 *   p_cache(w) = sum over i with w_i = w of exp(theta h.h_i)  /  sum over all i
 *
 * and the result is (1 - lambda) p_model + lambda p_cache. A token enters the cache after it
 * has been scored, so the cache sees no more than the model. Nothing is trained; theta and
 * lambda must be tuned on another text than the one scored. */
#ifndef LINNET_CACHE_H
#define LINNET_CACHE_H

#include "models/score.h"

enum { CACHE_THETAS = 8, CACHE_LAMBDAS = 8 };

/* A grid of settings, all evaluated in one reading. */
typedef struct CacheGrid {
    double theta[CACHE_THETAS], lambda[CACHE_LAMBDAS];
    size_t thetas, lambdas;
    double nats[CACHE_THETAS][CACHE_LAMBDAS];
} CacheGrid;

typedef struct Cache {
    CacheGrid grid;
    size_t size, width;
    size_t count;    /* tokens in the cache, up to size */
    real *states;    /* (size + rows of a batch, C); the held ones end where the batch begins */
    int32_t *tokens; /* (size + rows of a batch) likewise */
    real *shares;    /* (rows of a batch, CACHE_THETAS) p_cache of each token */
    real *dots;      /* for each worker */
} Cache;

/* For texts read by this pass. Sets the grid's nats to zero. */
void cache_make(Cache *cache, const Pass *pass, size_t size, const CacheGrid *grid);
void cache_free(Cache *cache);
/* Fills the cache, and adds the nats to its grid, while one text is scored. */
ScoreListener cache_listener(Cache *cache);

typedef struct CacheSettings {
    double theta, lambda;
} CacheSettings;

/* Grid search for the lowest loss of a text: theta in 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
 * 0.5 and lambda in 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4. */
CacheSettings cache_tune(Scorer *scorer, const CorpusSplit *split, size_t size);

/* A grid of this one setting. */
CacheGrid cache_grid_of(CacheSettings settings);

#endif
