#include "src/optim/muon.h"
#include "src/base/memory.h"
#include "src/math/gemm.h"
#include "src/math/vector.h"

#include <math.h>

/* Odd polynomials a x + b x^3 + c x^5 of the singular values, one after another. Each has the
 * least maximum of |1 - p(x)| over what the one before it makes of the range from 0.01 to 1. */
static const struct {
    real a, b, c;
} polynomials[] = {
    {(real)8.093369, (real)-23.620432, (real)17.446152},
    {(real)3.636586, (real)-2.721927, (real)0.536546},
    {(real)2.661300, (real)-1.977155, (real)0.452616},
};
enum { ITERATIONS = sizeof polynomials / sizeof *polynomials };

/* The matrices of a step. Their rows have strides that suit the caches. */
typedef struct Work {
    real *u;      /* (rows, columns) */
    real *gram;   /* (side, side) G; side is the smaller of rows and columns */
    real *p, *q;  /* (side, side) */
    real *result; /* (side, side) of a product that needs its factors until it is complete */
    real *left, *right; /* copies of two factors in the order of the kernels (gemm_prepack) */
    size_t side, u_stride, stride;
} Work;

/* U as the factors of the smaller of U U^T and U^T U. */
static Factor u_as(const Work *work, GemmSide at, size_t rows, size_t columns)
{
    Factor u = plain(work->u, work->u_stride);
    u.transposed = (at == GEMM_A) != (rows <= columns);
    return u;
}

static Work work_of(Arena *arena, size_t rows, size_t columns)
{
    size_t side = rows < columns ? rows : columns, longer = rows < columns ? columns : rows;
    Work work = {.side = side, .u_stride = gemm_stride(columns), .stride = gemm_stride(side)};
    work.u = arena_reals(arena, rows * work.u_stride);
    real **squares[] = {&work.gram, &work.p, &work.q, &work.result};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        *squares[i] = arena_reals(arena, side * work.stride);
    work.left = arena_reals(arena, gemm_prepack_reals(GEMM_A, true, side, longer));
    work.right = arena_reals(arena, gemm_prepack_reals(GEMM_B, true, longer, side));
    return work;
}

size_t muon_scratch_reals(size_t rows, size_t columns)
{
    Arena nothing = {0};
    work_of(&nothing, rows, columns);
    return arena_used_reals(&nothing);
}

/* A symmetric product counts half: G of U U^T, those of the iterations (two or three with G,
 * one with Q), and the whole product with U at the end. */
double muon_flop(size_t rows, size_t columns)
{
    enum { SQUARES = 4 * ITERATIONS - 3 };
    double side = (double)(rows < columns ? rows : columns);
    return side * (3 * (double)rows * (double)columns + SQUARES * side * side);
}

/* Updates M and sets U, of length 1. */
static void update_momentum(const Work *work, const MuonMatrix *matrix, real momentum,
                            real scale)
{
    size_t rows = matrix->rows, columns = matrix->columns;
    double square = 0;
    for (size_t i = 0; i < rows; i++) {
        const real *restrict gradient = matrix->gradient + i * matrix->stride;
        real *restrict m = matrix->m + i * matrix->stride;
        real *restrict u = work->u + i * work->u_stride;
#pragma omp simd
        for (size_t j = 0; j < columns; j++) {
            real share = (1 - momentum) * gradient[j] * scale;
            m[j] = vector_clean(momentum * m[j] + share);
            u[j] = share + momentum * m[j];
        }
        square += (double)vector_dot(u, u, columns);
    }
    real inverse = (real)(1 / (sqrt(square) + 1e-7));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            work->u[i * work->u_stride + j] *= inverse;
}

/* G = X X^T, scaled by its own length, which is at least its largest eigenvalue. Returns the
 * factor by which X is longer then. */
static real begin(Work *work, size_t rows, size_t columns)
{
    size_t side = work->side, stride = work->stride, longer = rows + columns - side;
    Factor left = gemm_prepack(work->left, u_as(work, GEMM_A, rows, columns), GEMM_A, side,
                               longer);
    Factor right = gemm_prepack(work->right, u_as(work, GEMM_B, rows, columns), GEMM_B, longer,
                                side);
    gemm_symmetric(false, side, longer, left, right, work->gram, stride);
    double square = 0;
    for (size_t i = 0; i < side; i++)
        square += (double)vector_dot(work->gram + i * stride, work->gram + i * stride, side);
    double inverse = 1 / (sqrt(square) + 1e-14);
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++)
            work->gram[i * stride + j] *= (real)inverse;
    return (real)sqrt(inverse);
}

static Factor left_of(const Work *work, const real *square)
{
    return gemm_prepack(work->left, plain(square, work->stride), GEMM_A, work->side,
                        work->side);
}

static Factor right_of(const Work *work, const real *square)
{
    return gemm_prepack(work->right, plain(square, work->stride), GEMM_B, work->side,
                        work->side);
}

static void swap(real **a, real **b)
{
    real *c = *a;
    *a = *b;
    *b = c;
}

/* Sets a matrix to a product with one that commutes with it. */
static void multiply(Work *work, Factor left, real **matrix)
{
    gemm_symmetric(false, work->side, work->side, left, right_of(work, *matrix), work->result,
                   work->stride);
    swap(matrix, &work->result);
}

/* P = a + b G + c G G,  Q = P Q,  G = P P G. In bf16 the first P G is computed in single
 * precision: rounded, the largest of G would drown the smallest, which P enlarges the most. */
static void iterate(Work *work, size_t iteration)
{
    const real a = polynomials[iteration].a, b = polynomials[iteration].b,
               c = polynomials[iteration].c;
    size_t side = work->side, stride = work->stride;
    gemm_symmetric(false, side, side, left_of(work, work->gram), right_of(work, work->gram),
                   work->p, stride);
    for (size_t i = 0; i < side; i++) {
        for (size_t j = 0; j < side; j++)
            work->p[i * stride + j] = b * work->gram[i * stride + j] +
                                      c * work->p[i * stride + j];
        work->p[i * stride + i] += a;
    }
    Factor left = left_of(work, work->p);
    if (iteration == 0) {
        gemm_symmetric(true, side, side, plain(work->p, stride), plain(work->gram, stride),
                       work->result, stride);
        swap(&work->gram, &work->result);
    } else if (iteration + 1 < ITERATIONS)
        multiply(work, left, &work->gram);
    if (iteration + 1 < ITERATIONS)
        multiply(work, left, &work->gram);
    if (iteration > 0)
        multiply(work, left, &work->q);
    else
        swap(&work->p, &work->q);
}

void muon_step(const MuonMatrix *matrix, double momentum, double learning_rate, double decay,
               double scale, real *scratch)
{
    size_t rows = matrix->rows, columns = matrix->columns, stride = matrix->stride;
    Arena arena = arena_over(scratch);
    Work work = work_of(&arena, rows, columns);
    update_momentum(&work, matrix, (real)momentum, (real)scale);
    size_t longer = rows + columns - work.side;
    real rate = begin(&work, rows, columns) *
                (real)(learning_rate * MUON_STEP * sqrt((double)longer));
    for (size_t i = 0; i < ITERATIONS; i++)
        iterate(&work, i);
    for (size_t i = 0; i < work.side; i++)
        for (size_t j = 0; j < work.side; j++)
            work.q[i * work.stride + j] *= -rate;
    real shrink = (real)(1 - learning_rate * decay);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            matrix->w[i * stride + j] *= shrink;
    Factor u = plain(work.u, work.u_stride), q = plain(work.q, work.stride);
    bool is_wide = rows <= columns;
    gemm_weights(rows, columns, work.side, is_wide ? q : u, is_wide ? u : q, GEMM_ADD,
                 matrix->w, stride);
}
