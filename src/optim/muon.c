#include "src/optim/muon.h"
#include "src/math/gemm.h"
#include "src/base/memory.h"
#include "src/math/vector.h"

#include <math.h>

enum { ITERATIONS = 5 };

typedef struct Work {
    size_t rows, columns; /* of X */
    bool transposed;      /* the matrix has more rows than columns: X is its transpose */
    real *x;              /* (rows, columns) */
    real *next;           /* (rows, columns) the next X, also U as the matrix lies */
    real *a, *aa;         /* (rows, rows) A and A A */
    real *packed;         /* a factor of several products */
} Work;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static Work work_of(Arena *arena, size_t rows, size_t columns)
{
    Work work = {.rows = rows < columns ? rows : columns,
                 .columns = larger(rows, columns),
                 .transposed = rows > columns};
    work.x = arena_reals(arena, rows * columns);
    work.next = arena_reals(arena, rows * columns);
    work.a = arena_reals(arena, work.rows * work.rows);
    work.aa = arena_reals(arena, work.rows * work.rows);
    work.packed = arena_reals(arena,
                              larger(gemm_prepack_reals(GEMM_B, true, work.columns, work.rows),
                                     gemm_prepack_reals(GEMM_B, false, work.rows, work.rows)));
    return work;
}

size_t muon_scratch_reals(size_t rows, size_t columns)
{
    Arena nothing = {0};
    work_of(&nothing, rows, columns);
    return arena_used_reals(&nothing);
}

/* Updates M and sets X to U / |U|. */
static void update_momentum(const Work *work, const MuonMatrix *matrix, real momentum,
                            real scale)
{
    size_t rows = matrix->rows, columns = matrix->columns;
    double square = 0;
    real *u = work->transposed ? work->next : work->x;
    for (size_t i = 0; i < rows; i++) {
        const real *restrict gradient = matrix->gradient + i * matrix->stride;
        real *restrict m = matrix->m + i * matrix->stride, *restrict row = u + i * columns;
#pragma omp simd
        for (size_t j = 0; j < columns; j++) {
            real share = (1 - momentum) * gradient[j] * scale;
            m[j] = vector_clean(momentum * m[j] + share);
            row[j] = share + momentum * m[j];
        }
        square += (double)vector_dot(row, row, columns);
    }
    if (work->transposed)
        kernel_transpose(work->x, work->columns, u, columns, rows, columns);
    real inverse = (real)(1 / (sqrt(square) + 1e-7));
    for (size_t i = 0; i < rows * columns; i++)
        work->x[i] *= inverse;
}

/* C = A B for a product that is symmetric, (n, n): bands of rows up to the diagonal, mirrored.
 */
static void multiply_symmetric(size_t n, size_t k, Factor a, Factor b, real *memory, real *c)
{
    enum { BAND = 32 };
    b = gemm_prepack(memory, b, GEMM_B, k, n);
    for (size_t row = 0; row < n; row += BAND) {
        size_t rows = n - row < BAND ? n - row : BAND;
        real *band = c + row * n;
        gemm_weights(rows, row + rows, k, plain(a.data + row * a.stride, a.stride), b, GEMM_SET,
                     band, n);
        kernel_transpose(c + row, n, band, n, rows, row);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < i; j++)
                band[j * n + row + i] = band[i * n + row + j];
    }
}

static void iterate(Work *work)
{
    const real a = (real)3.4445, b = (real)-4.775, c = (real)2.0315;
    size_t rows = work->rows, columns = work->columns;
    /* A = X X^T */
    multiply_symmetric(rows, columns, plain(work->x, columns), transposed(work->x, columns),
                       work->packed, work->a);
    /* AA = A A */
    multiply_symmetric(rows, rows, plain(work->a, rows), plain(work->a, rows), work->packed,
                       work->aa);
    for (size_t i = 0; i < rows * rows; i++)
        work->a[i] = b * work->a[i] + c * work->aa[i];
    for (size_t i = 0; i < rows * columns; i++)
        work->next[i] = a * work->x[i];
    /* X = a X + (b A + c A A) X */
    gemm_weights(rows, columns, rows, plain(work->a, rows), plain(work->x, columns), GEMM_ADD,
                 work->next, columns);
    real *x = work->x;
    work->x = work->next;
    work->next = x;
}

void muon_step(const MuonMatrix *matrix, double momentum, double learning_rate, double decay,
               double scale, real *scratch)
{
    size_t rows = matrix->rows, columns = matrix->columns;
    Arena arena = arena_over(scratch);
    Work work = work_of(&arena, rows, columns);
    update_momentum(&work, matrix, (real)momentum, (real)scale);
    for (size_t i = 0; i < ITERATIONS; i++)
        iterate(&work);
    const real *update = work.x;
    if (work.transposed) {
        kernel_transpose(work.next, columns, work.x, rows, columns, rows);
        update = work.next;
    }
    real rate = (real)(learning_rate * 0.2 * sqrt((double)work.columns));
    real shrink = (real)(1 - learning_rate * decay);
    for (size_t i = 0; i < rows; i++) {
        real *restrict w = matrix->w + i * matrix->stride;
        for (size_t j = 0; j < columns; j++)
            w[j] = shrink * w[j] - rate * update[i * columns + j];
    }
}
