#include "src/attention/pseudoinverse.h"
#include "src/attention/rows.h"
#include "src/math/gemm.h"

#define STEPS PSEUDOINVERSE_STEPS

/* --- memory --- */

static Pseudoinverse lay_out(Arena *arena, size_t size)
{
    Pseudoinverse p = {.size = size};
    ROWS_TAKE(arena, size * size, &p.a, &p.dresult, &p.da, &p.y, &p.w, &p.u, &p.r, &p.dz, &p.dy,
              &p.du, &p.dr);
    for (size_t i = 0; i <= STEPS; i++)
        p.z[i] = arena_reals(arena, size * size);
    p.result = p.z[STEPS];
    p.column_sums = arena_reals(arena, size);
    return p;
}

size_t pseudoinverse_reals(size_t size)
{
    Arena arena = {0};
    lay_out(&arena, size);
    return arena_used_reals(&arena);
}

Pseudoinverse pseudoinverse_at(real *memory, size_t size)
{
    Arena arena = arena_over(memory);
    return lay_out(&arena, size);
}

/* --- forward --- */

/* Z = A^T / |A|_1; returns the column with that sum. */
static size_t first_guess(const Pseudoinverse *p)
{
    size_t size = p->size, largest = 0;
    real *sums = p->column_sums;
    vector_zero(sums, size);
    for (size_t i = 0; i < size; i++)
        vector_add_scaled(sums, p->a + i * size, 1, size);
    for (size_t j = 1; j < size; j++)
        largest = sums[j] > sums[largest] ? j : largest;
    real inverse = 1 / sums[largest];
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            p->z[0][i * size + j] = p->a[j * size + i] * inverse;
    return largest;
}

static void add_diagonal(real *x, real number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        x[i * size + i] += number;
}

/* Y, W, U and R of a step. */
static void step_factors(const Pseudoinverse *p, const real *z)
{
    size_t n = p->size;
    /* Y = A Z */
    gemm(n, n, n, 1, plain(p->a, n), plain(z, n), GEMM_SET, p->y, n);
    for (size_t i = 0; i < n * n; i++)
        p->w[i] = -p->y[i];
    add_diagonal(p->w, 7, n);
    /* U = 15 - Y W */
    gemm(n, n, n, -1, plain(p->y, n), plain(p->w, n), GEMM_SET, p->u, n);
    add_diagonal(p->u, 15, n);
    /* R = 13 - Y U */
    gemm(n, n, n, -1, plain(p->y, n), plain(p->u, n), GEMM_SET, p->r, n);
    add_diagonal(p->r, 13, n);
}

void pseudoinverse_forward(const Pseudoinverse *p)
{
    size_t n = p->size;
    first_guess(p);
    for (size_t i = 0; i < STEPS; i++) {
        step_factors(p, p->z[i]);
        /* Z' = Z R / 4 */
        gemm(n, n, n, (real)0.25, plain(p->z[i], n), plain(p->r, n), GEMM_SET, p->z[i + 1], n);
    }
}

/* --- backward --- */

/* From dZ' to dZ; adds to dA. */
static void step_backward(const Pseudoinverse *p, const real *z, const real *dz_next, real *dz)
{
    size_t n = p->size;
    Factor dz_after = plain(dz_next, n), y = transposed(p->y, n);
    step_factors(p, z);
    /* dR = Z^T dZ' / 4 */
    gemm(n, n, n, (real)0.25, transposed(z, n), dz_after, GEMM_SET, p->dr, n);
    /* dU = -Y^T dR */
    gemm(n, n, n, -1, y, plain(p->dr, n), GEMM_SET, p->du, n);
    /* dY = -dR U^T - dU W^T + Y^T dU */
    gemm(n, n, n, -1, plain(p->dr, n), transposed(p->u, n), GEMM_SET, p->dy, n);
    gemm(n, n, n, -1, plain(p->du, n), transposed(p->w, n), GEMM_ADD, p->dy, n);
    gemm(n, n, n, 1, y, plain(p->du, n), GEMM_ADD, p->dy, n);
    /* dA += dY Z^T */
    gemm(n, n, n, 1, plain(p->dy, n), transposed(z, n), GEMM_ADD, p->da, n);
    /* dZ = dZ' R^T / 4 + A^T dY */
    gemm(n, n, n, (real)0.25, dz_after, transposed(p->r, n), GEMM_SET, dz, n);
    gemm(n, n, n, 1, transposed(p->a, n), plain(p->dy, n), GEMM_ADD, dz, n);
}

/* Z = A^T / c, where c is the largest column sum: dA = dZ^T / c, and dc = -(dZ . Z) / c is
 * added to every entry of that column. */
static void first_guess_backward(const Pseudoinverse *p, const real *dz)
{
    size_t n = p->size, largest = first_guess(p);
    real inverse = 1 / p->column_sums[largest];
    real dsum = -vector_dot(dz, p->z[0], n * n) * inverse;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            p->da[i * n + j] += dz[j * n + i] * inverse;
        p->da[i * n + largest] += dsum;
    }
}

void pseudoinverse_backward(const Pseudoinverse *p)
{
    vector_zero(p->da, p->size * p->size);
    real *dz_next = p->dresult, *dz = p->dz;
    for (size_t i = STEPS; i-- > 0;) {
        step_backward(p, p->z[i], dz_next, dz);
        real *done = dz_next;
        dz_next = dz;
        dz = done;
    }
    first_guess_backward(p, dz_next);
}
