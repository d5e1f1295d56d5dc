/* LSH attention inside one hash bucket of a round; reformer.c has the formulas.
 *
 * The positions of a bucket are rows in the order of time. Tiles of queries start anew in every
 * bucket, and the last one is padded with zeros: a position's tile and row depend only on how
 * many earlier positions share its bucket, so not even rounding depends on the future. A tile's
 * keys are its own rows and the `near` before it. */
#ifndef LINNET_BUCKET_ATTENTION_H
#define LINNET_BUCKET_ATTENTION_H

#include "src/attention/attention.h"
#include "src/base/memory.h"

typedef struct Bucket {
    const AttentionHead *head;
    size_t near;
    size_t count;         /* positions, */
    const int32_t *order; /* (count) these */
    real *q, *v;          /* (rows, D), q rotated */
    real *scale;          /* (rows) 1 / (sqrt(D) |q|): s_ij is q_i . q_j times that of j */
    real *dq, *dv;        /* (rows, D) */
    real *along;          /* (rows) sum of g_ij (q_i . q_j) */
    real *p, *dp;         /* (TILE, near + TILE) */
    real *tile;           /* (TILE, D) of the output, or of its gradient */
} Bucket;

/* The earlier positions of its bucket that a position sees at most. */
size_t bucket_near(const AttentionHead *head);
Bucket bucket_lay_out(Arena *arena, const AttentionHead *head);
/* 1 / (sqrt(D) |q|), the factor that makes a key of a query. */
real bucket_key_scale(const real *q /* (D) */, size_t width);

/* Loads a bucket, whose positions are ORDER. */
void bucket_load(Bucket *b, const int32_t *order /* (count) */, size_t count,
                 const real *q /* (T, D) */, const real *v /* (T, D) */);
/* Adds to the outputs, relative to the largest scores, and to their sums. */
void bucket_forward(const Bucket *b, real *out, /* (T, D), rows head->out_stride apart */
                    real *max, real *sum);      /* (T) */
/* Adds to dq, before RoPE is undone, and dv. For each position: the logarithm of its final
 * sum, and dout . out. */
void bucket_backward(const Bucket *b, const AttentionData *data, const real *lse, /* (T) */
                     const real *output_products);                                /* (T) */

#endif
