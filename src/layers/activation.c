#include "src/layers/activation.h"

/* 2 sqrt(2 / pi): with it, 0.5 (1 + tanh(u)) is sigmoid(2u). */
#define GELU_SLOPE ((real)1.5957691216057308)
#define GELU_CUBIC ((real)0.044715)

static void gelu_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
    (void)up;
    for (size_t i = 0; i < columns; i++)
        y[i] = x[i] * vector_sigmoid(GELU_SLOPE * (x[i] + GELU_CUBIC * x[i] * x[i] * x[i]));
}

static void gelu_backward(real *dx, const real *dy, const real *x, size_t columns, size_t up)
{
    (void)up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++) {
        real square = x[i] * x[i];
        real s = vector_sigmoid(GELU_SLOPE * x[i] * (1 + GELU_CUBIC * square));
        real slope = GELU_SLOPE * (1 + 3 * GELU_CUBIC * square);
        dx[i] = dy[i] * (s + x[i] * s * (1 - s) * slope);
    }
}

static void relu_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
    (void)up;
    for (size_t i = 0; i < columns; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_backward(real *dx, const real *dy, const real *x, size_t columns, size_t up)
{
    (void)up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++)
        dx[i] = x[i] > 0 ? dy[i] : 0;
}

static void relu2_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
    (void)up;
    for (size_t i = 0; i < columns; i++)
        y[i] = x[i] > 0 ? x[i] * x[i] : 0;
}

static void relu2_backward(real *dx, const real *dy, const real *x, size_t columns, size_t up)
{
    (void)up;
#pragma omp simd
    for (size_t i = 0; i < columns; i++)
        dx[i] = x[i] > 0 ? 2 * x[i] * dy[i] : 0;
}

static void swiglu_forward(real *restrict y, const real *restrict x, size_t columns, size_t up)
{
    for (size_t i = 0; i < columns; i++)
        y[i] = silu(x[i]) * x[i + up];
}

static void swiglu_backward(real *dx, const real *dy, const real *x, size_t columns, size_t up)
{
#pragma omp simd
    for (size_t i = 0; i < columns; i++) {
        real s = vector_sigmoid(x[i]);
        real dgate = dy[i] * x[i + up] * s * (1 + x[i] * (1 - s));
        dx[i + up] = dy[i] * x[i] * s;
        dx[i] = dgate;
    }
}

static const Activation activations[] = {
    {"gelu", 1, gelu_forward, gelu_backward},
    {"relu", 1, relu_forward, relu_backward},
    {"relu2", 1, relu2_forward, relu2_backward},
    {"swiglu", 2, swiglu_forward, swiglu_backward},
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
