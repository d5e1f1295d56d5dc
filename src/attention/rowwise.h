/* The engine of kinds whose state has a decay of its own for every row, that is, for every
 * feature of the keys; some of them follow the delta rule. rowwise.c has the mathematics. The
 * engine_options of a kind's row is its RowwiseRule. */
#ifndef LINNET_ROWWISE_H
#define LINNET_ROWWISE_H

#include "src/attention/chunkwise.h"

/* What a position contributes, (D) each, v (Dv); or the gradients of these. */
typedef struct RowwiseRow {
    real *g;     /* log decays; below ROWWISE_LEAST they count as that, without a gradient */
    real *q;     /* the query, scaled as the kind wants it */
    real *k, *v; /* what is written; v only with `values` */
    real *find;  /* with `erases`: what is looked up */
    real *erase; /* with `erase_key`: what is looked up is removed under this key */
    real *room;  /* (D) for any use of backward */
} RowwiseRow;

/* So that no exponent in a chunk exceeds 64, as rowwise.c says. */
#define ROWWISE_LEAST ((real)-4)

typedef struct RowwiseRule {
    bool erases;    /* the delta rule */
    bool erase_key; /* it removes under a key of its own; otherwise under k */
    bool values;    /* v is not the input itself */
    /* Computes the rows of a position from its inputs, the first rows of data. */
    void (*load)(const RowwiseRow *row, const AttentionData *data, const AttentionHead *head);
    /* Turns the gradients of its rows into those of its inputs: d->q, d->k and d->v are dq, dk
     * and dv of the data. Adds to data->dparams. */
    void (*backward)(const RowwiseRow *d, const AttentionData *data, const AttentionHead *head);
} RowwiseRule;

extern const AttentionEngine rowwise_engine;

#endif
