/* Normalised linear attention over any positive features: one engine, which features.c
 * explains, and for each kind a description of its features. A kind's table row begins with
 * FEATURES_KIND(its FeatureMap).
 *
 * D is the width of the head, F the number of features of a row of q or k. */
#ifndef LINNET_FEATURES_H
#define LINNET_FEATURES_H

#include "src/attention/attention.h"
#include "src/vector.h"

/* Some rows of q or k, and their features. */
typedef struct FeatureRows {
    const AttentionHead *head;
    const real *own; /* the head's own parameters */
    bool keys;       /* these are rows of k, otherwise of q */
    size_t rows;
    const real *x;    /* (rows, D), head->stride apart */
    real *dx;         /* the same: backward writes it whole */
    real *y;          /* (rows, F) the features, as forward leaves them */
    real *dy;         /* (rows, F) their gradient, which backward may change */
    const real *next; /* like x: so many rows that are wanted next, to be fetched meanwhile */
    size_t next_rows;
} FeatureRows;

/* One of the rows that are wanted next: a map calls this with each row that it takes. */
static inline void feature_fetch_next(const FeatureRows *rows, size_t i)
{
    if (i < rows->next_rows)
        vector_fetch(rows->next + i * rows->head->stride, rows->head->width);
}

/* What sets a kind apart. */
typedef struct FeatureMap {
    size_t (*width)(const AttentionHead *head); /* F; NULL: D */
    void (*forward)(const FeatureRows *rows);
    void (*backward)(const FeatureRows *rows);
    real epsilon; /* is added to the denominators */

    /* Where the weight of a pair is a function of the product of a few leading features only,
     * pairs inside a chunk need no others. `weigh` makes weights of a row of such products and
     * returns their sum; `weigh_backward` makes them again, and of the weights' gradient
     * without its part dn from the denominator, that of the products. NULL: the weight is the
     * product of all features. */
    size_t (*leading)(const AttentionHead *head);
    real (*weigh)(real *p, size_t count);
    void (*weigh_backward)(real *p, real *a, real dn, size_t count);

    /* A denominator for each feature instead of one for each position: the queries' shares are
     * q / z, where z, the sum of the keys, goes from before the first row to the last. Backward
     * turns dq, from the gradient of the shares into that of q, and overwrites the shares; it
     * adds to dk, and takes dz from behind the last row to before the first. */
    void (*share)(real *shares, real *z, const real *q, const real *k, size_t rows,
                  size_t width);
    void (*share_backward)(real *dq, real *dk, real *dz, real *shares, real *z, const real *k,
                           size_t rows, size_t width);
} FeatureMap;

size_t features_saved_reals(const AttentionHead *head);
size_t features_scratch_reals(const AttentionHead *head);
size_t features_state_reals(const AttentionHead *head);
/* Without what the features themselves cost. */
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

/* Maps that take rows one by one, y = f(scale x). */
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

/* The scale of products of D terms, half for q and half for k. */
static inline real feature_half_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt(sqrt((double)head->width));
}

/* exp(scale x) of arguments held to +-15: neither a feature nor the sum of a long text's can
 * overflow or vanish. Backward is where it was held: 0. */
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
