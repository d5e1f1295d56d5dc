#include "src/gemm.h"
#include "src/team.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- kernels --- */

#if defined(__x86_64__)
/* OpenBLAS knows processors by model, and takes slow generic kernels for one that is younger
 * than itself. What a kernel needs is instructions, so ask for those. */
static const char *best_kernels(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
    return NULL;
}

/* Kernel sets that are as good as the one asked for, or made for one particular processor. */
static bool needs_no_help(const char *loaded, const char *best)
{
    static const char *const made_for_avx512[] = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    for (size_t i = 0; i < sizeof made_for_avx512 / sizeof *made_for_avx512; i++)
        if (strcasecmp(loaded, made_for_avx512[i]) == 0)
            return true;
    return strcmp(best, "Haswell") == 0 &&
           (strcasecmp(loaded, "Haswell") == 0 || strcasecmp(loaded, "Zen") == 0);
}

void gemm_choose_kernels(char **argv)
{
    const char *best = best_kernels();
    if (!best || getenv("OPENBLAS_CORETYPE") || needs_no_help(gemm_kernels(), best))
        return;
    char path[PATH_MAX]; /* the link itself would give the process the name "exe" */
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0 || setenv("OPENBLAS_CORETYPE", best, 1) != 0)
        return;
    path[length] = '\0';
    execv(path, argv); /* if that fails, the slower kernels still serve */
}
#else
void gemm_choose_kernels(char **argv)
{
    (void)argv; /* elsewhere the library's own choice is good */
}
#endif

const char *gemm_kernels(void)
{
    return openblas_get_corename();
}

/* --- products --- */

void gemm(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, real beta, real *c,
          size_t c_stride)
{
    static _Thread_local bool single;
    if (!single) { /* the threads are ours: the library's own would change the bits */
        openblas_set_num_threads(1);
        single = true;
    }
    assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX);
#ifdef LINNET_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif
    cblas_gemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
               b.transposed ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a.at,
               (int)a.stride, b.at, (int)b.stride, beta, c, (int)c_stride);
}

typedef struct Product {
    size_t m, n, k;
    real alpha, beta;
    Factor a, b;
    real *c;
    size_t c_stride;
    void (*finish)(const GemmTile *tile, const void *context);
    const void *context;
    size_t tile_rows, tile_columns, across; /* across: tiles side by side */
} Product;

static void do_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Product *p = job;
    size_t down = index / p->across, right = index % p->across;
    GemmTile tile = {.c_stride = p->c_stride,
                     .row = down * p->tile_rows,
                     .rows = team_extent(p->m, p->tile_rows, down),
                     .column = right * p->tile_columns,
                     .columns = team_extent(p->n, p->tile_columns, right)};
    Factor a = p->a, b = p->b;
    a.at += a.transposed ? tile.row : tile.row * a.stride;
    b.at += b.transposed ? tile.column * b.stride : tile.column;
    tile.c = p->c + tile.row * p->c_stride + tile.column;
    gemm(tile.rows, tile.columns, p->k, p->alpha, a, b, p->beta, tile.c, p->c_stride);
    if (p->finish)
        p->finish(&tile, p->context);
}

/* About equal pieces, none above `most`. */
static size_t tile_extent(size_t whole, size_t most)
{
    size_t extent = team_tiles(whole, team_tiles(whole, most));
    return (extent + 15) / 16 * 16;
}

void gemm_team(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, real beta, real *c,
               size_t c_stride, void (*finish)(const GemmTile *tile, const void *context),
               const void *context)
{
    /* Large tiles cost little to pack; a small product needs small ones to be shared out. */
    enum { LARGE = 512, SMALL = 128 };
    bool tall = m >= 4 * LARGE;
    Product product = {m,
                       n,
                       k,
                       alpha,
                       beta,
                       a,
                       b,
                       c,
                       c_stride,
                       finish,
                       context,
                       tile_extent(m, tall ? LARGE : SMALL),
                       tile_extent(n, tall ? LARGE : 2 * SMALL),
                       0};
    product.across = team_tiles(n, product.tile_columns);
    team_run(team_tiles(m, product.tile_rows) * product.across, do_tile, &product);
}
