/* Random numbers and vectorised elementary functions. */
#include "src/math/random.h"
#include "src/math/vector.h"
#include "tests/tests.h"

SUITE("numbers");

/* --- random numbers --- */

/* Golden values: changing the streams would break reproducibility of old runs. */
TEST(random_streams_match_golden_values)
{
    RandomKey key = random_key(1, RANDOM_TEST, 2);
    ck_assert_uint_eq(key.bits, 0xc6ad03effa6ce22u);
    ck_assert_uint_eq(random_subkey(key, 3).bits, 0xf4be8f642dcb5dcu);
    ck_assert_uint_eq(random_bits(key, 4), 0x5690a76d811eb2beu);
    ck_assert_uint_eq(random_word(key, 5), 0xa3cdb14eu);
}

TEST(every_purpose_seed_and_step_has_its_own_stream)
{
    enum { SEEDS = 3, STEPS = 3, KEYS = (RANDOM_TEST + 1) * SEEDS * STEPS };
    RandomKey keys[KEYS];
    size_t count = 0;
    for (RandomPurpose purpose = RANDOM_INIT; purpose <= RANDOM_TEST; purpose++)
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            for (uint64_t step = 0; step < STEPS; step++)
                keys[count++] = random_key(seed, purpose, step);
    for (size_t i = 0; i < KEYS; i++)
        for (size_t j = 0; j < i; j++) {
            ck_assert_uint_ne(keys[i].bits, keys[j].bits);
            ck_assert_uint_ne(random_bits(keys[i], 0), random_bits(keys[j], 0));
            ck_assert_uint_ne(random_subkey(keys[i], 0).bits, random_subkey(keys[j], 0).bits);
        }
    for (uint64_t i = 0; i < 1000; i++) /* the same index gives the same number */
        ck_assert(random_uniform(keys[0], i) ==
                  random_uniform(random_key(0, RANDOM_INIT, 0), i));
}

TEST(uniform_and_normal_numbers_have_their_moments)
{
    enum { N = 200000 };
    RandomKey key = random_key(7, RANDOM_TEST, 0);
    double uniform[2] = {0}, normal[4] = {0}, together = 0, before = 0;
    for (uint64_t i = 0; i < N; i++) {
        double u = random_uniform(key, i), z = random_normal(key, i), power = 1;
        if (!(u >= 0 && u < 1 && isfinite(z)))
            ck_abort_msg("number %zu is %g, or %g", (size_t)i, u, z);
        uniform[0] += u / N;
        uniform[1] += (u - 0.5) * (u - 0.5) / N;
        together += (u - 0.5) * (before - 0.5) / N;
        before = u;
        for (size_t m = 0; m < 4; m++)
            normal[m] += (power *= z) / N;
    }
    ck_assert_double_eq_tol(uniform[0], 0.5, 0.003);
    ck_assert_double_eq_tol(uniform[1], 1 / 12.0, 0.001);
    ck_assert_double_eq_tol(together, 0, 0.001);
    ck_assert_double_eq_tol(normal[0], 0, 0.01);
    ck_assert_double_eq_tol(normal[1], 1, 0.015);
    ck_assert_double_eq_tol(normal[2], 0, 0.03);
    ck_assert_double_eq_tol(normal[3], 3, 0.1);
}

/* Chi-squared statistic: sum of (observed - expected)^2 / expected. For uniform data about
 * `cells`, with standard deviation sqrt(2 cells). */
static double chi_square(const size_t *counts, size_t cells, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < cells; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}

static void check_fair(const size_t *counts, size_t cells, size_t drawn)
{
    double chi = chi_square(counts, cells, (double)drawn / (double)cells);
    double spread = sqrt(2.0 * (double)cells);
    ck_assert_msg(fabs(chi - (double)cells) < 6 * spread, "chi square %g of %zu cells", chi,
                  cells);
}

TEST(random_words_are_uniform_in_every_byte)
{
    enum { N = 1 << 16, CELLS = 256 };
    for (uint64_t step = 0; step < 20; step++) {
        RandomKey key = random_key(1, RANDOM_DROPOUT, step);
        if (step >= 10)
            key = random_subkey(key, step);
        for (unsigned shift = 0; shift < 32; shift += 8) {
            size_t counts[CELLS] = {0};
            for (uint32_t i = 0; i < N; i++)
                counts[random_word(key, i) >> shift & 0xff]++;
            check_fair(counts, CELLS, N);
        }
    }
}

/* Dropout masks of different steps, layers or neighbours must be uncorrelated. */
TEST(neighbouring_random_words_are_uncorrelated)
{
    enum { N = 1 << 16 };
    for (uint64_t step = 0; step < 20; step++) {
        RandomKey key = random_key(1, RANDOM_DROPOUT, step);
        RandomKey next = random_key(1, RANDOM_DROPOUT, step + 1), sub = random_subkey(key, 1);
        size_t agree[4] = {0};
        for (uint32_t i = 0; i < N; i++) {
            uint32_t word = random_word(key, i);
            agree[0] += (word ^ random_word(next, i)) >> 31;
            agree[1] += (word ^ random_word(sub, i)) >> 31;
            agree[2] += (word ^ random_word(key, i + 1)) >> 31;
            agree[3] += (word ^ random_word(key, i + 64)) >> 31;
        }
        for (size_t i = 0; i < COUNT(agree); i++)
            ck_assert_double_eq_tol((double)agree[i] / N, 0.5, 0.012);
    }
}

TEST(random_below_is_uniform)
{
    enum { N = 60000 };
    RandomKey key = random_key(1, RANDOM_TEST, 9);
    for (size_t below = 1; below <= 7; below++) {
        size_t counts[7] = {0};
        for (uint64_t i = 0; i < N; i++) {
            uint64_t number = random_below(key, i, below);
            if (number >= below)
                ck_abort_msg("%zu is not below %zu", (size_t)number, below);
            counts[number]++;
        }
        check_fair(counts, below, N);
    }
    for (uint64_t i = 0; i < 1000; i++)
        ck_assert_uint_lt(random_below(key, i, UINT64_MAX), UINT64_MAX);
}

TEST(permutations_are_valid_and_uniform)
{
    static const size_t sizes[] = {0, 1, 2, 3, 1000};
    uint32_t order[1000];
    for (size_t s = 0; s < COUNT(sizes); s++) {
        bool seen[1000] = {false};
        random_permutation(random_key(1, RANDOM_TEST, s), order, sizes[s]);
        for (size_t i = 0; i < sizes[s]; i++) {
            ck_assert(order[i] < sizes[s] && !seen[order[i]]);
            seen[order[i]] = true;
        }
    }
    enum { ORDERS = 24, N = 24000 };
    size_t counts[ORDERS] = {0};
    for (uint64_t i = 0; i < N; i++) { /* each of the 24 orders of four */
        random_permutation(random_key(2, RANDOM_TEST, i), order, 4);
        size_t below = order[2];
        below -= (size_t)(order[2] > order[0]) + (size_t)(order[2] > order[1]);
        size_t code = order[0] * 6 + (order[1] - (uint32_t)(order[1] > order[0])) * 2 + below;
        ck_assert_uint_lt(code, ORDERS);
        counts[code]++;
    }
    check_fair(counts, ORDERS, N);
}

/* --- elementary functions --- */

#ifdef LINNET_DOUBLE
#define EXP_ERROR 1e-15
#else
#define EXP_ERROR 2e-7
#endif

TEST(exp_is_accurate_to_seven_digits)
{
    enum { STEPS = 4000000 };
    long double worst = 0;
    double worst_at = 0;
    for (size_t i = 0; i <= STEPS; i++) {
        real x = (real)(-87 + 175.0 * (double)i / STEPS);
        long double exact = expl((long double)x);
        long double error = fabsl(((long double)vector_exp(x) - exact) / exact);
        if (error > worst) {
            worst = error;
            worst_at = (double)x;
        }
    }
    ck_assert_msg(worst < EXP_ERROR, "the relative error is %Lg at %.9g", worst, worst_at);
    ck_assert(vector_exp(0) == 1);
}

TEST(exp_clamps_extreme_arguments)
{
    ck_assert(isnan(vector_exp((real)NAN)));
    static const double low[] = {-87.5, -88, -100, -1000, -1e30, -INFINITY};
    for (size_t i = 0; i < COUNT(low); i++) {
        real value = vector_exp((real)low[i]);
        ck_assert_msg(value >= 0 && value < (real)1e-37, "exp(%g) is %g", low[i],
                      (double)value);
    }
    ck_assert((double)vector_exp((real)1000) > 1e38); /* large or infinite */
    real loop[37], in[37];                            /* vector and scalar versions agree */
    for (size_t i = 0; i < COUNT(in); i++)
        in[i] = i == 7 ? (real)NAN : (real)i * 6 - 110;
    for (size_t i = 0; i < COUNT(in); i++)
        loop[i] = vector_exp(in[i]);
    for (size_t i = 0; i < COUNT(in); i++) {
        volatile real one = in[i];
        real alone = vector_exp(one);
        ck_assert_msg(i == 7 ? isnan(loop[i])
                             : fabs((double)(loop[i] - alone)) <= EXP_ERROR * (double)alone,
                      "exp(%g)", (double)in[i]);
    }
}

TEST(sigmoid_goes_from_0_to_1)
{
    for (double x = -80; x <= 80; x += 0.37) {
        double exact = 1 / (1 + exp(-(double)(real)x)), value = (double)vector_sigmoid((real)x);
        ck_assert_msg(fabs(value - exact) <= 4 * EXP_ERROR * exact, "sigmoid(%g) is %.9g", x,
                      value);
    }
    ck_assert((double)vector_sigmoid((real)-1e30) < 1e-37);
    ck_assert((double)vector_sigmoid((real)1e30) == 1);
    ck_assert(isnan(vector_sigmoid((real)NAN)));
}

#ifdef LINNET_DOUBLE
#define NORMAL_ERROR    1e-15
#define NORMAL_RELATIVE 1e-13
#else
#define NORMAL_ERROR    5e-7
#define NORMAL_RELATIVE 3e-5 /* exp(-x^2 / 2) amplifies the rounding of its argument */
#endif

TEST(the_normal_distribution_is_accurate_to_six_digits)
{
    for (double at = -12; at <= 12; at += 1e-4) {
        real x = (real)at, density;
        double value = (double)vector_normal(x, &density),
               exact = erfc(-(double)x / sqrt(2)) / 2;
        double slope = exp(-(double)x * (double)x / 2) / sqrt(2 * acos(-1));
        ck_assert_msg(fabs(value - exact) < fmin(NORMAL_ERROR, NORMAL_RELATIVE * exact),
                      "the distribution at %.9g is %.9g, not %.9g", at, value, exact);
        ck_assert_msg(fabs((double)density - slope) < NORMAL_RELATIVE * slope,
                      "the density at %.9g is %.9g, not %.9g", at, (double)density, slope);
    }
    real density;
    ck_assert((double)vector_normal((real)-1e30, &density) < 1e-37 && density < (real)1e-37);
    ck_assert((double)vector_normal((real)1e30, &density) == 1);
    ck_assert(isnan(vector_normal((real)NAN, &density)));
}

TEST(sums_and_products_of_vectors_agree_with_plain_loops)
{
    enum { N = 1003 };
    static real x[N], y[N];
    double sum = 0, dot = 0, most = -10, size = 0;
    RandomKey key = random_key(3, RANDOM_TEST, 0);
    for (size_t i = 0; i < N; i++) {
        x[i] = (real)random_normal(key, i);
        y[i] = (real)random_normal(key, N + i);
        sum += (double)x[i];
        dot += (double)x[i] * (double)y[i];
        size += fabs((double)x[i]);
        most = (double)x[i] > most ? (double)x[i] : most;
    }
    ck_assert((double)vector_max(x, N) == most);
    ck_assert((double)vector_max(x, 1) == (double)x[0]);
    ck_assert_double_eq_tol((double)vector_sum(x, N), sum, REAL_EPSILON * 10 * size);
    ck_assert_double_eq_tol((double)vector_dot(x, y, N), dot, REAL_EPSILON * 10 * size);
    ck_assert(vector_sum(x, 0) == 0 && vector_dot(x, y, 0) == 0);
    real before = y[5];
    vector_add_scaled(y, x, 2, N);
    ck_assert_double_eq_tol((double)y[5], (double)before + 2 * (double)x[5], REAL_EPSILON * 10);
}
