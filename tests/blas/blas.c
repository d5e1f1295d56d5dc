/* The matrix products against OpenBLAS, an implementation of its own: products of all shapes
 * and layouts, from one number to several blocks of the kernels, within rounding. */
#include "src/math/gemm.h"
#include "src/math/random.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef LINNET_DOUBLE
#define BLAS_GEMM cblas_dgemm
#else
#define BLAS_GEMM cblas_sgemm
#endif

enum { GAP = 3 /* unused numbers between rows: strides exceed widths */ };

static real *matrix(size_t rows, size_t columns, uint64_t seed, size_t *stride)
{
    RandomKey key = random_key(seed, RANDOM_TEST, rows);
    *stride = columns + GAP;
    size_t count = rows * *stride;
    real *at = calloc(count, sizeof *at);
    for (size_t i = 0; at && i < count; i++)
        at[i] = (real)(2 * random_uniform(key, i) - 1);
    if (!at)
        abort();
    return at;
}

/* Whether a product differs from OpenBLAS by rounding alone: each sum has k terms below 1. */
static bool agrees(size_t m, size_t n, size_t k, unsigned layout)
{
    const bool a_turned = layout & 1, b_turned = layout & 2, add = layout & 4;
    const real alpha = layout & 8 ? (real)0.5 : 1;
    size_t a_stride, b_stride, c_stride;
    real *a = a_turned ? matrix(k, m, 1, &a_stride) : matrix(m, k, 1, &a_stride),
         *b = b_turned ? matrix(n, k, 2, &b_stride) : matrix(k, n, 2, &b_stride),
         *c = matrix(m, n, 3, &c_stride), *expected = matrix(m, n, 3, &c_stride);
    gemm(m, n, k, alpha, a_turned ? transposed(a, a_stride) : plain(a, a_stride),
         b_turned ? transposed(b, b_stride) : plain(b, b_stride), add ? GEMM_ADD : GEMM_SET, c,
         c_stride);
    BLAS_GEMM(CblasRowMajor, a_turned ? CblasTrans : CblasNoTrans,
              b_turned ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a,
              (int)a_stride, b, (int)b_stride, add ? 1 : 0, expected, (int)c_stride);
    double most = 0, bound = (double)REAL_EPSILON * ((double)k + 8);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            most = fmax(most, fabs((double)(c[i * c_stride + j] - expected[i * c_stride + j])));
    free(a);
    free(b);
    free(c);
    free(expected);
    if (most > bound)
        printf("(%zu, %zu) by (%zu, %zu), layout %u: differs by %g, at most %g expected\n", m,
               k, k, n, layout, most, bound);
    return most <= bound;
}

int main(void)
{
    static const size_t sizes[] = {1, 2, 7, 16, 33, 64, 129, 300};
    enum { COUNT = sizeof sizes / sizeof *sizes, LAYOUTS = 16 };
    size_t passed = 0, failed = 0;
    openblas_set_num_threads(1);
    for (size_t i = 0; i < (size_t)COUNT * COUNT * COUNT; i++)
        for (unsigned layout = 0; layout < LAYOUTS; layout++)
            if (agrees(sizes[i % COUNT], sizes[i / COUNT % COUNT], sizes[i / COUNT / COUNT],
                       layout))
                passed++;
            else
                failed++;
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
