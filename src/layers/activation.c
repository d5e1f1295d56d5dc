#include "src/layers/activation.h"

/* 2 sqrt(2 / pi): with it, 0.5 (1 + tanh(u)) is sigmoid(2u). */
#define GELU_SLOPE ((real)1.5957691216057308)
#define GELU_CUBIC ((real)0.044715)

static void gelu_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
    (void)up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++)
        y[i] = x[i] * vector_sigmoid(GELU_SLOPE * (x[i] + GELU_CUBIC * x[i] * x[i] * x[i]));
}

static void gelu_derive(real *restrict y, real *restrict x, size_t columns, size_t up)
{
    (void)up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++) {
        real square = x[i] * x[i];
        real s = vector_sigmoid(GELU_SLOPE * (x[i] + GELU_CUBIC * x[i] * x[i] * x[i]));
        real slope = GELU_SLOPE * (1 + 3 * GELU_CUBIC * square);
        y[i] = x[i] * s;
        x[i] = s + y[i] * (1 - s) * slope;
    }
}

static void gelu_erf_forward(real *restrict y, const real *restrict x, size_t columns,
                             size_t up)
{
    (void)up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++) {
        real density, share = vector_normal(x[i], &density);
        y[i] = x[i] * share;
    }
}

static void gelu_erf_derive(real *restrict y, real *restrict x, size_t columns, size_t up)
{
    (void)up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++) {
        real density, share = vector_normal(x[i], &density);
        y[i] = x[i] * share;
        x[i] = share + x[i] * density;
    }
}

static void relu_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
    (void)up;
    for (size_t i = 0; i < columns; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_derive(real *restrict y, real *restrict x, size_t columns, size_t up)
{
    (void)up;
    for (size_t i = 0; i < columns; i++) {
        y[i] = x[i] > 0 ? x[i] : 0;
        x[i] = x[i] > 0 ? 1 : 0;
    }
}

static void relu2_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
    (void)up;
    for (size_t i = 0; i < columns; i++)
        y[i] = x[i] > 0 ? x[i] * x[i] : 0;
}

static void relu2_derive(real *restrict y, real *restrict x, size_t columns, size_t up)
{
    (void)up;
    for (size_t i = 0; i < columns; i++) {
        real positive = x[i] > 0 ? x[i] : 0;
        y[i] = positive * positive;
        x[i] = 2 * positive;
    }
}

static void swiglu_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
#pragma omp simd
    for (size_t i = 0; i < columns; i++)
        y[i] = silu(x[i]) * x[i + up];
}

static void swiglu_derive(real *restrict y, real *restrict x, size_t columns, size_t up)
{
    real *restrict u = x + up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++) {
        real s = vector_sigmoid(x[i]), gate = x[i] * s;
        y[i] = gate * u[i];
        x[i] = u[i] * s * (1 + x[i] * (1 - s));
        u[i] = gate;
    }
}

static const Activation activations[] = {
    {"gelu", 1, gelu_forward, gelu_derive},
    {"gelu-erf", 1, gelu_erf_forward, gelu_erf_derive},
    {"relu", 1, relu_forward, relu_derive},
    {"relu2", 1, relu2_forward, relu2_derive},
    {"swiglu", 2, swiglu_forward, swiglu_derive},
};

const Activation *activation_find(size_t index)
{
    return index < sizeof activations / sizeof *activations ? &activations[index] : NULL;
}

const char *activation_name(size_t index)
{
    const Activation *activation = activation_find(index);
    return activation ? activation->name : NULL;
}
