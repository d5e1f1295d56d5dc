/* The engine of normalised linear attention over positive features, which features.c explains.
 * A kind describes its features by a FeatureMap; its table row begins with FEATURES_KIND(map).
 *
 * D is the head dimension, F the number of features of a row of q or k. */
#ifndef LINNET_FEATURES_H
#define LINNET_FEATURES_H

#include "src/attention/attention.h"
#include "src/vector.h"

/* Rows of q or k, and their features. */
typedef struct FeatureRows {
    const AttentionHead *head;
    const real *own; /* the head's own parameters */
    bool keys;       /* rows of k, otherwise of q */
    size_t rows;
    const real *x;    /* (rows, D), head->stride apart */
    real *dx;         /* like x; backward overwrites it */
    real *y;          /* (rows, F) features */
    real *dy;         /* (rows, F) their gradient, which backward may overwrite */
    const real *next; /* like x: the rows to be processed next, to prefetch */
    size_t next_rows;
} FeatureRows;

/* Prefetches one of the next rows; a map calls it once per row. */
static inline void feature_fetch_next(const FeatureRows *rows, size_t i)
{
    if (i < rows->next_rows)
        vector_fetch(rows->next + i * rows->head->stride, rows->head->width);
}

/* Describes the features of a kind. */
typedef struct FeatureMap {
    size_t (*width)(const AttentionHead *head); /* F; NULL: D */
    void (*forward)(const FeatureRows *rows);
    void (*backward)(const FeatureRows *rows);
    real epsilon; /* added to denominators */

    /* For weights that are a function of the product of a few leading features: pairs inside a
     * chunk need no others. `weigh` turns a row of such products into weights and returns their
     * sum. `weigh_backward` recomputes them, and turns the gradient of the weights, which lacks
     * the denominator's share dn, into that of the products. NULL: the weight is the product
     * of all features. */
    size_t (*leading)(const AttentionHead *head);
    real (*weigh)(real *p, size_t count);
    void (*weigh_backward)(real *p, real *a, real dn, size_t count);

    /* For one denominator per feature instead of one per position: the queries' shares are q /
     * z, where z is the running sum of the keys. Backward turns the gradient of the shares, in
     * dq, into that of q, overwrites the shares, adds to dk, and takes dz from after the last
     * row to before the first. */
    void (*share)(real *shares, real *z, const real *q, const real *k, size_t rows,
                  size_t width);
    void (*share_backward)(real *dq, real *dk, real *dz, real *shares, real *z, const real *k,
                           size_t rows, size_t width);
} FeatureMap;

size_t features_saved_reals(const AttentionHead *head);
size_t features_scratch_reals(const AttentionHead *head);
size_t features_state_reals(const AttentionHead *head);
/* Without the cost of the features themselves. */
double features_flop(const AttentionHead *head);
void features_forward(const AttentionData *data, const AttentionHead *head);
void features_backward(const AttentionData *data, const AttentionHead *head);
void features_step(const AttentionData *data, real *state, size_t position,
                   const AttentionHead *head);

#define FEATURES_KIND(map)                                                               \
    .normalised = true, .finite_state = true, .carry = CARRY_DIVERGES, .detail = &(map), \
    .saved_reals = features_saved_reals, .scratch_reals = features_scratch_reals,        \
    .state_reals = features_state_reals, .forward = features_forward,                    \
    .backward = features_backward, .step = features_step

/* --- for writing maps --- */

/* For maps that work row by row, y = f(scale x). */
typedef void FeatureForward(real *y, const real *x, real scale, size_t width);
typedef void FeatureBackward(real *dx, const real *dy, const real *y, const real *x, real scale,
                             size_t width);

static inline void feature_forward_rows(const FeatureRows *rows, real scale,
                                        FeatureForward *row)
{
    size_t width = rows->head->width;
    for (size_t i = 0; i < rows->rows; i++) {
        feature_fetch_next(rows, i);
        row(rows->y + i * width, rows->x + i * rows->head->stride, scale, width);
    }
}

static inline void feature_backward_rows(const FeatureRows *rows, real scale,
                                         FeatureBackward *row)
{
    size_t width = rows->head->width, stride = rows->head->stride;
    for (size_t i = 0; i < rows->rows; i++)
        row(rows->dx + i * stride, rows->dy + i * width, rows->y + i * width,
            rows->x + i * stride, scale, width);
}

/* The scale 1/sqrt(D) of a product, shared between q and k. */
static inline real feature_half_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt(sqrt((double)head->width));
}

/* exp(scale x) with arguments clipped to +-15: neither a feature nor the sum over a long
 * sequence can overflow or vanish. The gradient of a clipped argument is 0. */
#define FEATURE_CLIP ((real)15)

static inline void feature_exp(real *restrict y, const real *restrict x, real scale,
                               size_t width)
{
    for (size_t i = 0; i < width; i++) {
        real a = scale * x[i];
        a = a < -FEATURE_CLIP ? -FEATURE_CLIP : a;
        y[i] = vector_exp(a > FEATURE_CLIP ? FEATURE_CLIP : a);
    }
}

static inline void feature_exp_backward(real *restrict dx, const real *restrict dy,
                                        const real *restrict y, const real *restrict x,
                                        real scale, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        real a = scale * x[i], inside = a >= -FEATURE_CLIP && a <= FEATURE_CLIP;
        dx[i] = inside * scale * y[i] * dy[i];
    }
}

/* Softmax over the features of a row. */
static inline void feature_softmax(real *restrict y, const real *restrict x, real scale,
                                   size_t width)
{
    real most = vector_max(x, width), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < width; i++) {
        y[i] = vector_exp(scale * (x[i] - most));
        sum += y[i];
    }
    real share = 1 / sum;
    for (size_t i = 0; i < width; i++)
        y[i] *= share;
}

static inline void feature_softmax_backward(real *restrict dx, const real *restrict dy,
                                            const real *restrict y, const real *restrict x,
                                            real scale, size_t width)
{
    (void)x;
    real mean = vector_dot(dy, y, width);
    for (size_t i = 0; i < width; i++)
        dx[i] = scale * y[i] * (dy[i] - mean);
}

#endif
