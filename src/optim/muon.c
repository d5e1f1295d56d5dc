#include "src/optim/muon.h"
#include "src/gemm.h"
#include "src/memory.h"

#include <math.h>

enum { ITERATIONS = 5 };

/* X, transposed if it has more rows than columns; the next X; A and A A. */
typedef struct Work {
    size_t rows, columns;
    real *x, *next, *a, *aa;
} Work;

static Work work_of(Arena *arena, size_t rows, size_t columns)
{
    Work work = {.rows = rows < columns ? rows : columns,
                 .columns = rows < columns ? columns : rows};
    work.x = arena_reals(arena, rows * columns);
    work.next = arena_reals(arena, rows * columns);
    work.a = arena_reals(arena, work.rows * work.rows);
    work.aa = arena_reals(arena, work.rows * work.rows);
    return work;
}

size_t muon_scratch_reals(size_t rows, size_t columns)
{
    Arena nothing = {0};
    work_of(&nothing, rows, columns);
    return arena_used_reals(&nothing);
}

/* Updates M and sets X to U. Returns the norm of U. */
static double take_momentum(const Work *work, const MuonMatrix *matrix, real momentum,
                            real scale)
{
    double square = 0;
    for (size_t i = 0; i < matrix->rows; i++) {
        const real *gradient = matrix->gradient + i * matrix->stride;
        real *m = matrix->m + i * matrix->stride;
        for (size_t j = 0; j < matrix->columns; j++) {
            real share = (1 - momentum) * gradient[j] * scale;
            m[j] = momentum * m[j] + share;
            real u = share + momentum * m[j];
            bool turned = matrix->rows > matrix->columns;
            work->x[turned ? j * work->columns + i : i * work->columns + j] = u;
            square += (double)u * (double)u;
        }
    }
    return sqrt(square);
}

/* C = A B for a product that is symmetric, (n, n): bands of rows up to the diagonal, mirrored.
 */
static void multiply_symmetric(size_t n, size_t k, const real *a, size_t stride, Factor b,
                               real *c)
{
    enum { BAND = 64 };
    for (size_t row = 0; row < n; row += BAND) {
        size_t rows = n - row < BAND ? n - row : BAND;
        gemm_weights(rows, row + rows, k, plain(a + row * stride, stride), b, GEMM_SET,
                     c + row * n, n);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            c[j * n + i] = c[i * n + j];
}

static void iterate(Work *work)
{
    const real a = (real)3.4445, b = (real)-4.775, c = (real)2.0315;
    size_t rows = work->rows, columns = work->columns;
    /* A = X X^T */
    multiply_symmetric(rows, columns, work->x, columns, transposed(work->x, columns), work->a);
    /* AA = A A */
    multiply_symmetric(rows, rows, work->a, rows, plain(work->a, rows), work->aa);
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
    double length = take_momentum(&work, matrix, (real)momentum, (real)scale);
    real inverse = (real)(1 / (length + 1e-7));
    for (size_t i = 0; i < rows * columns; i++)
        work.x[i] *= inverse;
    for (size_t i = 0; i < ITERATIONS; i++)
        iterate(&work);
    real rate = (real)(learning_rate * 0.2 * sqrt((double)work.columns));
    real shrink = (real)(1 - learning_rate * decay);
    for (size_t i = 0; i < rows; i++) {
        real *w = matrix->w + i * matrix->stride;
        for (size_t j = 0; j < columns; j++) {
            size_t at = rows > columns ? j * work.columns + i : i * work.columns + j;
            w[j] = shrink * w[j] - rate * work.x[at];
        }
    }
}
