#include "src/layers/activation.h"
#include "src/layers/rows.h"

#define TILE_ROWS ((size_t)32)

/* 2 sqrt(2 / pi): with it, 0.5 (1 + tanh(u)) is sigmoid(2u). */
#define GELU_SLOPE ((real)1.5957691216057308)
#define GELU_CUBIC ((real)0.044715)

static void gelu_forward(real *restrict y, const real *restrict x, size_t width)
{
    for (size_t i = 0; i < width; i++)
        y[i] = x[i] * vector_sigmoid(GELU_SLOPE * (x[i] + GELU_CUBIC * x[i] * x[i] * x[i]));
}

static void gelu_backward(real *dx, const real *dy, const real *x, size_t width)
{
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        real square = x[i] * x[i];
        real s = vector_sigmoid(GELU_SLOPE * x[i] * (1 + GELU_CUBIC * square));
        real slope = GELU_SLOPE * (1 + 3 * GELU_CUBIC * square);
        dx[i] = dy[i] * (s + x[i] * s * (1 - s) * slope);
    }
}

static void relu_forward(real *restrict y, const real *restrict x, size_t width)
{
    for (size_t i = 0; i < width; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static void relu_backward(real *dx, const real *dy, const real *x, size_t width)
{
#pragma omp simd
    for (size_t i = 0; i < width; i++)
        dx[i] = x[i] > 0 ? dy[i] : 0;
}

static void relu2_forward(real *restrict y, const real *restrict x, size_t width)
{
    for (size_t i = 0; i < width; i++)
        y[i] = x[i] > 0 ? x[i] * x[i] : 0;
}

static void relu2_backward(real *dx, const real *dy, const real *x, size_t width)
{
#pragma omp simd
    for (size_t i = 0; i < width; i++)
        dx[i] = x[i] > 0 ? 2 * x[i] * dy[i] : 0;
}

static void swiglu_forward(real *restrict y, const real *restrict x, size_t width)
{
    const real *up = x + width;
    for (size_t i = 0; i < width; i++)
        y[i] = silu(x[i]) * up[i];
}

static void swiglu_backward(real *dx, const real *dy, const real *x, size_t width)
{
    const real *up = x + width;
    real *dup = dx + width;
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        real s = vector_sigmoid(x[i]);
        real dgate = dy[i] * up[i] * s * (1 + x[i] * (1 - s));
        dup[i] = dy[i] * x[i] * s;
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

typedef struct Job {
    const Activation *activation;
    real *out;
    const real *dy, *x; /* dy is NULL in the forward pass */
    size_t width;
} Job;

static void do_row(const void *context, size_t row)
{
    const Job *job = context;
    size_t width = job->width, wide = width * job->activation->inputs;
    const real *x = job->x + row * wide;
    if (job->dy)
        job->activation->backward(job->out + row * wide, job->dy + row * width, x, width);
    else
        job->activation->forward(job->out + row * width, x, width);
}

void activation_forward(const Activation *activation, real *y, const real *x, size_t rows,
                        size_t width)
{
    const Job job = {activation, y, NULL, x, width};
    rows_run(rows, TILE_ROWS, do_row, &job);
}

void activation_backward(const Activation *activation, real *dx, const real *dy, const real *x,
                         size_t rows, size_t width)
{
    const Job job = {activation, dx, dy, x, width};
    rows_run(rows, TILE_ROWS, do_row, &job);
}
