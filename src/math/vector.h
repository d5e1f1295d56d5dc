/* Elementary functions in a form that compilers vectorise.
 *
 * In float, exp is a degree-6 polynomial on [-ln 2 / 2, ln 2 / 2] scaled by a power of two,
 * with a relative error below 2e-7 (tests/test_core.c measures it). Arguments are clamped so
 * that the result is a normal number; NaN propagates. log(1 + x) is x times a degree-8
 * polynomial on [0, 1], with a relative error below 3e-7; log(x) splits x into exponent and
 * mantissa and uses it. The normal distribution function is 0.5 exp(-u^2) t times a degree-7
 * polynomial in t = 1 / (1 + 0.45 u), u = |x| / sqrt 2, with an absolute error below 5e-7. The
 * double build calls the C library, since it needs accuracy, not speed.
 *
 * Loops where time goes carry #pragma omp simd; "make lint" fails if one is not vectorised. */
#ifndef LINNET_VECTOR_H
#define LINNET_VECTOR_H

#include "src/base/real.h"

#include <math.h>
#include <string.h>

#ifdef LINNET_DOUBLE
/* exp(x) 2^power with the relative error of exp(x); the result must be a normal number. */
static inline real vector_exp_scaled(real x, int32_t power)
{
    return ldexp(exp(x), power);
}

/* log(1 + x) for x in [0, 1]. */
static inline real vector_log1p(real x)
{
    return log1p(x);
}

/* log(x) for positive normal numbers. */
static inline real vector_log(real x)
{
    return log(x);
}

/* The cumulative distribution function of the standard normal distribution, and its density. */
static inline real vector_normal(real x, real *density)
{
    *density = 0.39894228040143268 * exp(-x * x / 2);
    return erfc(-x * 0.70710678118654752) / 2;
}
#else
static inline real vector_exp_scaled(real x, int32_t power)
{
    const float log2_e = 1.44269504f, ln_2_high = 0.693359375f, ln_2_low = -2.12194440e-4f;
    const float rounder = 12582912.0f; /* 1.5 * 2^23: adding it leaves a rounded integer */
    const float shift = (float)power * 0.693147181f; /* x + shift in [-87, 88] */
    x = x < -87.0f - shift ? -87.0f - shift : x;
    x = x > 88.0f - shift ? 88.0f - shift : x;
    float rounded = x * log2_e + rounder;
    float n = rounded - rounder;
    float r = x - n * ln_2_high - n * ln_2_low;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    /* The low bits of `rounded` hold n; shifted into the exponent they give 2^n. */
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits + 127u + (uint32_t)power) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

static inline real vector_log1p(real x)
{
    float p = 5.651242206e-3f;
    p = p * x - 3.119071936e-2f;
    p = p * x + 8.099773785e-2f;
    p = p * x - 1.390243776e-1f;
    p = p * x + 1.922172864e-1f;
    p = p * x - 2.487398959e-1f;
    p = p * x + 3.332332638e-1f;
    p = p * x - 4.999973127e-1f;
    return x * (x * p) + x;
}

static inline real vector_log(real x)
{
    const float ln_2 = 0.693147181f;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    float power = (float)((int32_t)(bits >> 23) - 127);
    bits = (bits & 0x7fffffu) | 0x3f800000u;
    memcpy(&x, &bits, sizeof x);
    return power * ln_2 + vector_log1p(x - 1);
}

static inline real vector_normal(real x, real *density)
{
    float u = fabsf(x) * 0.707106781f, t = 1 / (1 + 0.45f * u);
    float tail = vector_exp_scaled(-u * u, 0), p = 6.68487037e-2f;
    p = p * t - 2.40164728e-1f;
    p = p * t + 2.08609044e-1f;
    p = p * t + 4.05444478e-2f;
    p = p * t + 1.88499918e-1f;
    p = p * t + 2.28124477e-1f;
    p = p * t + 2.53629071e-1f;
    p = p * t + 2.53909370e-1f;
    *density = 0.398942280f * tail;
    float below = 0.5f * tail * t * p;
    return x > 0 ? 1 - below : below;
}
#endif

static inline real vector_exp(real x)
{
    return vector_exp_scaled(x, 0);
}

/* x, or 0 where it is so small that products with it become denormal numbers, which are slow.
 * gcc vectorises the absolute value, but not a comparison of x < 0 ? -x : x. */
static inline real vector_clean(real x)
{
    return (real)fabs((double)x) < (real)1e-30 ? 0 : x;
}

static inline real vector_sigmoid(real x)
{
    return 1 / (1 + vector_exp(-x));
}

static inline real vector_tanh(real x)
{
    return 2 * vector_sigmoid(2 * x) - 1;
}

/* log(1 + exp(x)); its derivative is sigmoid(x). */
static inline real vector_softplus(real x)
{
    return (x > 0 ? x : 0) + vector_log1p(vector_exp(x > 0 ? -x : x));
}

/* log(sigmoid(x)); its derivative is sigmoid(-x). */
static inline real vector_log_sigmoid(real x)
{
    return -vector_softplus(-x);
}

#ifdef __clang__
/* clang does not vectorise a maximum of floating-point numbers, since one may be NaN, but does
 * vectorise that of integers. If the lower bits of negative numbers are inverted, the bits
 * compare as the numbers do. */
#ifdef LINNET_DOUBLE
typedef int64_t VectorBits;
#define VECTOR_LEAST INT64_MIN
#else
typedef int32_t VectorBits;
#define VECTOR_LEAST INT32_MIN
#endif

static inline VectorBits vector_in_order(VectorBits bits)
{
    return bits < 0 ? bits ^ ~VECTOR_LEAST : bits;
}

static inline real vector_max(const real *x, size_t n)
{
    VectorBits most = VECTOR_LEAST;
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; i++) {
        VectorBits bits;
        memcpy(&bits, x + i, sizeof bits);
        bits = vector_in_order(bits);
        most = bits > most ? bits : most;
    }
    most = vector_in_order(most);
    real number;
    memcpy(&number, &most, sizeof number);
    return number;
}
#else
static inline real vector_max(const real *x, size_t n)
{
    real most = x[0];
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}
#endif

/* Sum of x (n), and dot product of x and y (n); the summation order is fixed at compile time.
 */
static inline real vector_sum(const real *x, size_t n)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static inline real vector_dot(const real *x, const real *y, size_t n)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* y += a x, each (n). */
static inline void vector_add_scaled(real *restrict y, const real *restrict x, real a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

/* x = 0, (n). */
static inline void vector_zero(real *x, size_t n)
{
    memset(x, 0, n * sizeof *x);
}

/* Prefetches x (n), which the processor does not do by itself for rows with a large stride:
 * into L2, since L1 takes few requests at once and holds up the program beyond that. */
static inline void vector_fetch(const real *x, size_t n)
{
    enum { LINE = 64 / sizeof(real) };
    for (size_t i = 0; i < n; i += LINE)
        __builtin_prefetch(x + i, 0, 2);
}

#endif
