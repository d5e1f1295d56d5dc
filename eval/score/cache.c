#include "eval/score/cache.h"
#include "src/math/gemm.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <stdlib.h>

#define TILE ((size_t)32) /* tokens per product with the cache */

void cache_make(Cache *cache, const Pass *pass, size_t size, const CacheGrid *grid)
{
    size_t width = pass->model->config.dim, places = size + pass->rows;
    *cache = (Cache){.grid = *grid, .size = size, .width = width};
    cache->states = memory_new(memory_product(places, width, "the cache"),
                               sizeof *cache->states, "the cache");
    cache->tokens = memory_new(places, sizeof *cache->tokens, "the cache");
    cache->shares = memory_new(pass->rows, CACHE_THETAS * sizeof *cache->shares, "the cache");
    cache->dots = memory_new(team_size() * (size + TILE), TILE * sizeof *cache->dots,
                             "the cache");
}

void cache_free(Cache *cache)
{
    free(cache->states);
    free(cache->tokens);
    free(cache->shares);
    free(cache->dots);
}

/* --- p_cache --- */

static real share(const real *restrict dots, const int32_t *restrict tokens, size_t count,
                  int32_t token, real theta)
{
    real most = vector_max(dots, count), all = 0, same = 0;
#pragma omp simd reduction(+ : all, same)
    for (size_t i = 0; i < count; i++) {
        real weight = vector_exp(theta * (dots[i] - most));
        all += weight;
        same += tokens[i] == token ? weight : 0;
    }
    return same / all;
}

typedef struct Job {
    const Cache *cache;
    size_t count; /* tokens of the batch */
} Job;

/* p_cache of the tile's tokens. The n-th token of the batch has the held tokens and n tokens of
 * the batch before it; the last `size` of them count. */
static void share_tile(void *context, size_t tile, size_t worker)
{
    const Job *job = context;
    const Cache *cache = job->cache;
    size_t size = cache->size, width = cache->width, oldest = size - cache->count;
    size_t first = tile * TILE, rows = team_extent(job->count, TILE, tile);
    size_t from = first > oldest ? first : oldest, columns = size + first + rows - 1 - from;
    real *dots = cache->dots + worker * TILE * (size + TILE);
    if (columns == 0)
        return; /* the first token of the text */
    /* D = H S^T */
    gemm(rows, columns, width, 1, plain(cache->states + (size + first) * width, width),
         transposed(cache->states + from * width, width), GEMM_SET, dots, columns);
    for (size_t n = first; n < first + rows; n++) {
        size_t begin = n > oldest ? n : oldest, count = size + n - begin;
        const real *row = dots + (n - first) * columns + (begin - from);
        for (size_t i = 0; count > 0 && i < cache->grid.thetas; i++)
            cache->shares[n * CACHE_THETAS + i] = share(row, cache->tokens + begin, count,
                                                        cache->tokens[size + n],
                                                        (real)cache->grid.theta[i]);
    }
}

/* --- the sums --- */

/* -log((1 - lambda) exp(-loss) + lambda share) */
static double mixed(double loss, double share, double lambda)
{
    if (share == 0 || lambda == 0)
        return loss - log1p(-lambda); /* works for any loss */
    return -log((1 - lambda) * exp(-loss) + lambda * share);
}

/* The first token has no cache; only the model counts. */
static void add_nats(Cache *cache, const Pass *pass)
{
    CacheGrid *grid = &cache->grid;
    for (size_t n = 0; n < pass->scored.count; n++) {
        double loss = (double)pass->scored.losses[n];
        bool empty = cache->count + n == 0;
        for (size_t i = 0; i < grid->thetas; i++)
            for (size_t j = 0; j < grid->lambdas; j++)
                grid->nats[i][j] += empty ? loss
                                          : mixed(loss,
                                                  (double)cache->shares[n * CACHE_THETAS + i],
                                                  grid->lambda[j]);
    }
}

/* Moves the last `size` tokens to where the next batch begins. */
static void keep_last(Cache *cache, size_t count)
{
    size_t all = cache->count + count, left = all < cache->size ? all : cache->size;
    size_t from = cache->size + count - left, to = cache->size - left;
    memmove(cache->states + to * cache->width, cache->states + from * cache->width,
            left * cache->width * sizeof *cache->states);
    memmove(cache->tokens + to, cache->tokens + from, left * sizeof *cache->tokens);
    cache->count = left;
}

static void add_batch(void *context, Pass *pass)
{
    Cache *cache = context;
    const ScoredRows *scored = &pass->scored;
    Job job = {cache, scored->count};
    memcpy(cache->states + cache->size * cache->width, scored->u,
           scored->count * cache->width * sizeof *scored->u);
    memcpy(cache->tokens + cache->size, scored->targets,
           scored->count * sizeof *scored->targets);
    team_run(team_tiles(scored->count, TILE), share_tile, &job);
    add_nats(cache, pass);
    keep_last(cache, scored->count);
}

ScoreListener cache_listener(Cache *cache)
{
    return (ScoreListener){add_batch, cache};
}

/* --- the best settings --- */

CacheGrid cache_grid_of(CacheSettings settings)
{
    return (CacheGrid){
        .theta = {settings.theta}, .lambda = {settings.lambda}, .thetas = 1, .lambdas = 1};
}

CacheSettings cache_tune(Scorer *scorer, const CorpusSplit *split, size_t size)
{
    static const CacheGrid wide = {.theta = {0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5},
                                   .lambda = {0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4},
                                   .thetas = CACHE_THETAS,
                                   .lambdas = CACHE_LAMBDAS};
    Cache cache;
    cache_make(&cache, &scorer->pass, size, &wide);
    ScoreListener listener = cache_listener(&cache);
    scorer_score(scorer, split, &listener, 1);
    size_t best = 0;
    const double *nats = cache.grid.nats[0];
    for (size_t i = 1; i < (size_t)CACHE_THETAS * CACHE_LAMBDAS; i++)
        best = nats[i] < nats[best] ? i : best;
    cache_free(&cache);
    return (CacheSettings){wide.theta[best / CACHE_LAMBDAS], wide.lambda[best % CACHE_LAMBDAS]};
}
