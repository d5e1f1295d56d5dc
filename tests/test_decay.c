/* Building blocks of kinds with decay and the delta rule: triangular systems and logarithms.
 * test_attention.c tests the kinds. */
#include "src/attention/chunkwise.h"
#include "src/math/random.h"
#include "src/math/vector.h"
#include "tests/tests.h"

#include <math.h>

SUITE("decay");

enum { ROWS = 64, COLUMNS = 24, WIDER = COLUMNS + 1 };

/* Right-hand sides are random; the column after them must not change. */
static void check_solution(const real *l, const real *x, size_t rows, bool transpose,
                           RandomKey key)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t column = 0; column < WIDER; column++) {
            double sum = (double)x[i * WIDER + column];
            for (size_t j = 0; column < COLUMNS && j < rows; j++) {
                double other = (double)x[j * WIDER + column];
                if (transpose ? j > i : j < i)
                    sum += (double)l[transpose ? j * ROWS + i : i * ROWS + j] * other;
            }
            ck_assert_double_eq_tol(sum, random_normal(key, i * WIDER + column), 1e-4);
        }
}

TEST(triangular_systems_are_solved)
{
    static real l[ROWS * ROWS], x[ROWS * WIDER];
    RandomKey key = random_key(9, RANDOM_TEST, 0);
    for (size_t i = 0; i < ROWS * ROWS; i++) /* entries that must not be read are NaN */
        l[i] = i % ROWS < i / ROWS ? (real)(0.2 * random_normal(key, i)) : (real)NAN;
    for (size_t rows = 1; rows <= ROWS; rows += 7) {
        RandomKey sides = random_subkey(key, rows);
        for (int transpose = 0; transpose < 2; transpose++) {
            for (size_t i = 0; i < rows * WIDER; i++)
                x[i] = (real)random_normal(sides, i);
            Triangle triangle = {l, rows, ROWS};
            if (transpose)
                triangle_solve_transposed(triangle, x, WIDER, COLUMNS);
            else
                triangle_solve(triangle, x, WIDER, COLUMNS);
            check_solution(l, x, rows, transpose, sides);
        }
    }
}

static void check_close(double value, double exact)
{
    ck_assert_msg(fabs(value - exact) <= 3e-7 * fabs(exact), "%.9g, not %.9g", value, exact);
}

TEST(logarithms_are_accurate)
{
    for (double x = -80; x < 80; x += 1e-3) {
        real rounded = (real)x;
        double small = log1p(exp(-fabs((double)rounded)));
        check_close((double)vector_softplus(rounded), fmax((double)rounded, 0) + small);
        check_close((double)vector_log_sigmoid(rounded), fmin((double)rounded, 0) - small);
    }
    for (double x = 1; x > 1e-30; x *= 0.99)
        check_close((double)vector_log1p((real)x), log1p((double)(real)x));
    ck_assert(vector_log1p(0) == 0);
    for (double x = 1e-30; x < 1e30; x *= 1.37)
        check_close((double)vector_log((real)x), log((double)(real)x));
    ck_assert(vector_softplus((real)1e6) == (real)1e6);
    ck_assert(isnan(vector_softplus((real)NAN)));
}

/* Multiplying by powers of two is exact, on which gla depends. */
TEST(scaled_exponentials_have_the_same_digits)
{
    for (double x = -80; x < 80; x += 0.01)
        for (int32_t power = -40; power <= 40; power += 8) {
            double exponent = x / log(2) + power;
            real plain_one = vector_exp((real)x), scaled = vector_exp_scaled((real)x, power);
            if (fabs(exponent) < 120)
                ck_assert((double)scaled == ldexp((double)plain_one, power));
        }
    /* Where the plain one is no normal number in single precision. */
    for (double x = -180; x < -80; x += 0.37) {
        int32_t power = (int32_t)(-x / log(2));
        check_close((double)vector_exp_scaled((real)x, power),
                    ldexp(exp((double)(real)x), power));
    }
}
