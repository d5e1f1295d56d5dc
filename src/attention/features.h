/* The engine of normalised linear attention over positive features, which features.c explains.
 * A kind describes its features by a FeatureMap, the engine_options of its row.
 *
 * D is the head dimension, F the number of features of a row of q or k. */
#ifndef LINNET_FEATURES_H
#define LINNET_FEATURES_H

#include "src/attention/chunkwise.h"

/* Rows of q or k, and their features. */
typedef struct FeatureRows {
    const Chunk *chunk;
    bool keys;     /* rows of k, otherwise of q */
    const real *x; /* (rows, D), head->stride apart */
    real *dx;      /* (rows, D) like x; backward overwrites it */
    real *y;       /* (rows, F) features */
    real *dy;      /* (rows, F) their gradient, which backward may overwrite */
} FeatureRows;

/* y = f(scale x), for one row: x, dx (D), y, dy (F). */
typedef struct FeatureRow {
    void (*forward)(real *y, const real *x, real scale, size_t width);
    void (*backward)(real *dx, const real *dy, const real *y, const real *x, real scale,
                     size_t width);
} FeatureRow;

/* Describes the features of a kind. */
typedef struct FeatureMap {
    size_t (*width)(const AttentionHead *head); /* F; NULL: D */
    const FeatureRow *query, *key;              /* if rows are independent, */
    real (*scale)(const AttentionHead *head);   /* with the scale; NULL: 1. */
    /* Otherwise for all rows of a chunk; forward calls chunk_fetch_next once per row. */
    void (*forward)(const FeatureRows *rows);
    void (*backward)(const FeatureRows *rows);
    real epsilon;                              /* added to denominators */
    double (*flop)(const AttentionHead *head); /* of the features, if they cost much */

    /* For weights that are a function of the product of the D leading features: pairs inside a
     * chunk need no others. `pair_weights` turns a row of such products into weights and
     * returns their sum. `pair_weights_backward` recomputes them, and turns the gradient of the
     * weights, which lacks the denominator's share dn, into that of the products. NULL: the
     * weight is the product of all features. Both get the scale of the map; p and a
     * are (count). */
    real (*pair_weights)(real *p, size_t count, real scale);
    void (*pair_weights_backward)(real *p, real *a, real dn, size_t count, real scale);
    /* `pair_weights` takes products of q and k themselves; features serve only what precedes
     * the chunk. The kind's recurrence is then features_near_engine. */
    bool near;

    /* For one denominator per feature instead of one per position: the queries' shares are q /
     * z, where z is the running sum of the keys. Backward turns the gradient of the shares, in
     * dq, into that of q, overwrites the shares, adds to dk, and takes dz from after the last
     * row to before the first. shares, q, k, dq and dk are (rows, F), z and dz (F). */
    void (*divide_queries)(real *shares, real *z, const real *q, const real *k, size_t rows,
                           size_t width);
    void (*divide_queries_backward)(real *dq, real *dk, real *dz, real *shares, real *z,
                                    const real *k, size_t rows, size_t width);
} FeatureMap;

extern const AttentionEngine features_engine, features_near_engine;

/* The scale 1/sqrt(D) of a product, shared between q and k. */
static inline real feature_half_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt(sqrt((double)head->width));
}

#endif
