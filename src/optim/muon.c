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

/* The matrices of a step. Rows of those that are factors have strides that suit the caches. */
typedef struct Work {
    real *u;      /* (rows, columns) */
    real *u_t;    /* (columns, rows) its transpose */
    real *gram;   /* (side, side) G; side is the smaller of rows and columns */
    real *p, *q;  /* (side, side) */
    real *result; /* (side, side) of a product that needs its factors until it is complete */
    size_t side, u_stride, u_t_stride, stride;
} Work;

static Work work_of(Arena *arena, size_t rows, size_t columns)
{
    size_t side = rows < columns ? rows : columns;
    Work work = {.side = side,
                 .u_stride = gemm_stride(columns),
                 .u_t_stride = gemm_stride(rows),
                 .stride = gemm_stride(side)};
    work.u = arena_reals(arena, rows * work.u_stride);
    work.u_t = arena_reals(arena, columns * work.u_t_stride);
    real **squares[] = {&work.gram, &work.p, &work.q, &work.result};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        *squares[i] = arena_reals(arena, side * work.stride);
    return work;
}

size_t muon_scratch_reals(size_t rows, size_t columns)
{
    Arena nothing = {0};
    work_of(&nothing, rows, columns);
    return arena_used_reals(&nothing);
}

/* Updates M and sets U, of length 1, and its transpose. */
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
    kernel_transpose(work->u_t, work->u_t_stride, work->u, work->u_stride, rows, columns);
}

/* C = alpha A B, or C += alpha A B, for symmetric results: bands of rows up to the diagonal,
 * which are then mirrored. A is (side, k). */
static void multiply_symmetric(const Work *work, size_t k, real alpha, Factor a, Factor b,
                               GemmInto into, real *c)
{
    enum { BAND = 4 * KERNEL_ROWS };
    size_t stride = work->stride;
    for (size_t row = 0; row < work->side; row += BAND) {
        size_t rows = work->side - row < BAND ? work->side - row : BAND;
        real *band = c + row * stride;
        gemm(rows, row + rows, k, alpha, plain(a.data + row * a.stride, a.stride), b, into,
             band, stride);
        kernel_transpose(c + row, stride, band, stride, rows, row);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < i; j++)
                band[j * stride + row + i] = band[i * stride + row + j];
    }
}

/* Sets a matrix to the product of two that commute. */
static void multiply(Work *work, const real *a, const real *b, real **c)
{
    multiply_symmetric(work, work->side, 1, plain(a, work->stride), plain(b, work->stride),
                       GEMM_SET, work->result);
    real *before = *c;
    *c = work->result;
    work->result = before;
}

/* G = X X^T, scaled by its own length, which is at least its largest eigenvalue. Returns the
 * factor by which X is longer then. */
static real begin(Work *work, bool is_wide, size_t longer)
{
    size_t side = work->side, stride = work->stride;
    Factor u = plain(work->u, work->u_stride), u_t = plain(work->u_t, work->u_t_stride);
    multiply_symmetric(work, longer, 1, is_wide ? u : u_t, is_wide ? u_t : u, GEMM_SET,
                       work->gram);
    double square = 0;
    for (size_t i = 0; i < side; i++)
        square += (double)vector_dot(work->gram + i * stride, work->gram + i * stride, side);
    double inverse = 1 / (sqrt(square) + 1e-14);
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j < side; j++)
            work->gram[i * stride + j] *= (real)inverse;
    return (real)sqrt(inverse);
}

/* P = a + b G + c G G,  Q = P Q,  G = P G P, in an order of its own, since all commute. */
static void iterate(Work *work, size_t iteration)
{
    size_t side = work->side, stride = work->stride;
    const real a = polynomials[iteration].a, b = polynomials[iteration].b;
    for (size_t i = 0; i < side; i++) {
        for (size_t j = 0; j < side; j++)
            work->p[i * stride + j] = b * work->gram[i * stride + j];
        work->p[i * stride + i] += a;
    }
    Factor gram = plain(work->gram, stride);
    multiply_symmetric(work, side, polynomials[iteration].c, gram, gram, GEMM_ADD, work->p);
    if (iteration + 1 < ITERATIONS) {
        multiply(work, work->p, work->gram, &work->gram);
        multiply(work, work->p, work->gram, &work->gram);
    }
    if (iteration > 0) {
        multiply(work, work->p, work->q, &work->q);
        return;
    }
    real *first = work->p;
    work->p = work->q;
    work->q = first;
}

void muon_step(const MuonMatrix *matrix, double momentum, double learning_rate, double decay,
               double scale, real *scratch)
{
    size_t rows = matrix->rows, columns = matrix->columns, stride = matrix->stride;
    bool is_wide = rows <= columns;
    size_t longer = is_wide ? columns : rows;
    Arena arena = arena_over(scratch);
    Work work = work_of(&arena, rows, columns);
    update_momentum(&work, matrix, (real)momentum, (real)scale);
    real rate = begin(&work, is_wide, longer) *
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
    gemm_weights(rows, columns, work.side, is_wide ? q : u, is_wide ? u : q, GEMM_ADD,
                 matrix->w, stride);
}
