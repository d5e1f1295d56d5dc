/* Elementary functions in a form that compilers vectorise.
 *
 * In float, exp is a polynomial of degree 6 on [-ln 2 / 2, ln 2 / 2] scaled by a power of two;
 * its relative error is below 2e-7 (tests/test_core.c measures it). Arguments are held to the
 * range in which the result is a normal number, and NaN goes through. The double build takes
 * the C library's, as it wants digits and not speed. */
#ifndef LINNET_VECTOR_H
#define LINNET_VECTOR_H

#include "src/real.h"

#include <math.h>
#include <string.h>

#ifdef LINNET_DOUBLE
static inline real vector_exp(real x)
{
    return exp(x);
}
#else
static inline real vector_exp(real x)
{
    const float log2_e = 1.44269504f, ln_2_high = 0.693359375f, ln_2_low = -2.12194440e-4f;
    const float rounder = 12582912.0f; /* 1.5 * 2^23: adding it leaves a rounded integer */
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
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
    /* The low bits of `rounded` hold n; moved into the exponent they are 2^n. */
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits + 127u) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}
#endif

static inline real vector_sigmoid(real x)
{
    return 1 / (1 + vector_exp(-x));
}

/* The largest, the sum and the inner product of n numbers; the order of summation is fixed when
 * the program is compiled. */
static inline real vector_max(const real *x, size_t n)
{
    real most = x[0];
#pragma omp simd reduction(max : most)
    for (size_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

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

/* y += a x */
static inline void vector_add_scaled(real *restrict y, const real *restrict x, real a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static inline void vector_zero(real *x, size_t n)
{
    memset(x, 0, n * sizeof *x);
}

#endif
