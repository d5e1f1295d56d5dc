/* Performer (Choromanski et al. 2020): random features whose products equal the exponential in
 * expectation. With u = x / D^(1/4) and random directions w_1 .. w_m,
 *
 *   f(x)_r = exp(w_r . u - |u|^2 / 2)          E[f(q) . f(k)] / m = exp(q . k / sqrt(D))
 *
 * (the factor 1 / sqrt(m) of the features cancels in the division and is left out). Directions
 * are orthogonal in blocks of D, each with the norm of a Gaussian vector (FAVOR+): this lowers
 * the variance and keeps the estimate unbiased. They are random, not trained.
 *
 * A common factor of all features of a query cancels too: |q|^2 is left out, and a query's
 * largest feature is scaled to 1. Keys must not be scaled so: a maximum over keys would leak
 * the future. Only |u|^2 / 2 is subtracted there, which bounds the exponent by |w|^2 / 2, about
 * D / 2; it is clipped at 60 for large heads. A key of large norm could lose all its features
 * to underflow, so 1e-12 is added to them: sequences of such keys get even weights. That keeps
 * denominators positive without an epsilon, which would distort keys with small features.
 *
 * Shapes: x (D); y, dy (m); rows of directions (D, D). */
#include "src/attention/features.h"
#include "src/math/gemm.h"

#include <assert.h>

#define MOST_EXPONENT ((real)60)
#define FLOOR         ((real)1e-12)

/* m */
static size_t features_of(const AttentionHead *head)
{
    return head->options->features ? head->options->features : 2 * head->width;
}

/* --- directions --- */

static size_t param_count(const AttentionHead *head)
{
    return features_of(head) * head->width; /* (m, D) */
}

static double product(const real *x, const real *y, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static void scale_to(real *x, double length, size_t width)
{
    double scale = length / sqrt(product(x, x, width));
    for (size_t i = 0; i < width; i++)
        x[i] = (real)(scale * (double)x[i]);
}

/* Gram-Schmidt: removes from the last row its components along the earlier ones. A second run
 * removes the rounding errors of the first. */
static void make_orthogonal(real *rows, size_t last, size_t width)
{
    real *x = rows + last * width;
    for (int run = 0; run < 2; run++)
        for (size_t i = 0; i < last; i++) {
            const real *other = rows + i * width;
            double along = product(x, other, width) / product(other, other, width);
            for (size_t j = 0; j < width; j++)
                x[j] = (real)((double)x[j] - along * (double)other[j]);
        }
}

/* Each row keeps its norm: that of a Gaussian vector is independent of its direction. */
static void start_params(real *params, const AttentionHead *head, RandomKey key)
{
    size_t width = head->width;
    assert(width > 0);
    for (size_t i = 0; i < param_count(head); i++)
        params[i] = (real)random_normal(key, i);
    for (size_t row = 0; row < features_of(head); row++) {
        real *x = params + row * width;
        double length = sqrt(product(x, x, width));
        make_orthogonal(params + (row - row % width) * width, row % width, width);
        scale_to(x, length, width);
    }
}

/* --- features --- */

/* Features of a query: the largest is 1. */
static void query_row(real *restrict y, size_t features)
{
    real most = vector_max(y, features);
#pragma omp simd
    for (size_t i = 0; i < features; i++)
        y[i] = vector_exp(y[i] - most);
}

static void key_row(real *restrict y, real shift, size_t features)
{
#pragma omp simd
    for (size_t i = 0; i < features; i++) {
        real a = y[i] - shift;
        y[i] = vector_exp(a < MOST_EXPONENT ? a : MOST_EXPONENT) + FLOOR;
    }
}

static void forward(const FeatureRows *rows)
{
    const AttentionHead *head = rows->chunk->head;
    size_t width = head->width, features = features_of(head);
    real scale = feature_half_scale(head);
    /* Y = U W^T */
    gemm(rows->chunk->rows, features, width, scale, plain(rows->x, head->stride),
         transposed(rows->chunk->data.params, width), GEMM_SET, rows->y, features);
    for (size_t i = 0; i < rows->chunk->rows; i++) {
        const real *x = rows->x + i * head->stride;
        chunk_fetch_next(rows->chunk, rows->x, head->stride, i);
        if (rows->keys)
            key_row(rows->y + i * features, scale * scale * vector_dot(x, x, width) / 2,
                    features);
        else
            query_row(rows->y + i * features, features);
    }
}

/* Turns dy into the gradient of the exponents; returns its sum. */
static real exponents_backward(real *restrict dy, const real *restrict y, bool keys,
                               size_t features)
{
    real floor = keys ? FLOOR : 0, most = vector_exp(MOST_EXPONENT), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < features; i++) {
        real e = y[i] - floor;
        dy[i] *= e < most ? e : 0;
        sum += dy[i];
    }
    return sum;
}

static void backward(const FeatureRows *rows)
{
    const AttentionHead *head = rows->chunk->head;
    size_t width = head->width, features = features_of(head);
    real scale = feature_half_scale(head);
    for (size_t i = 0; i < rows->chunk->rows; i++) {
        real *restrict dx = rows->dx + i * head->stride;
        const real *x = rows->x + i * head->stride;
        real sum = exponents_backward(rows->dy + i * features, rows->y + i * features,
                                      rows->keys, features);
        real along = rows->keys ? -scale * scale * sum : 0; /* from |u|^2 / 2 */
        for (size_t j = 0; j < width; j++)
            dx[j] = along * x[j];
    }
    /* dU += dY W */
    gemm(rows->chunk->rows, width, features, scale, plain(rows->dy, features),
         plain(rows->chunk->data.params, width), GEMM_ADD, rows->dx, head->stride);
}

/* The products of q and k with the directions. */
static double flop(const AttentionHead *head)
{
    return 4 * (double)head->length * (double)param_count(head);
}

const AttentionKind attention_performer = {
    .name = "performer",
    .source = "Choromanski et al. 2020, arXiv 2009.14794",
    .help = "Performer (FAVOR+): positive random features that approximate softmax",
    .cost = "features D",
    .uses = "features",
    .param_count = {.more = param_count},
    .start_params = start_params,
    .params_random = true,
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.width = features_of,
                                          .forward = forward,
                                          .backward = backward,
                                          .flop = flop},
};
