/* Linear attention (Katharopoulos et al. 2020) replaces the exponential of q . k by a product
 * of positive features f(q) . f(k). Then the sums factor:
 *
 *   o_i = sum over j <= i of (f(q_i) . f(k_j)) v_j  =  f(q_i) S_i,    S_i = sum of f(k_j)^T v_j
 *   y_i = o_i / (f(q_i) . z_i + eps),                                 z_i = sum of f(k_j)
 *
 * The state S is an F by D matrix for any length. Computed position by position, this is a
 * recurrent network; computed for all pairs at once, it is a product of T by T matrices. The
 * chunkwise form does both, with chunks of 64 positions: pairs inside a chunk go through a
 * small masked product, everything before the chunk comes through S. With Q and K the features:
 *
 *   forward, chunk by chunk:      P = tril(Q K^T)    O = P V + Q S    S += K^T V
 *   backward, last chunk first:   A = tril(dO V^T)   dQ = A K + dO S^T
 *                                 dK = A^T Q + V dS^T      dV = P^T dO + K dS     dS += Q^T dO
 *
 * S is the state at the chunk's start, dS the gradient of the state at its end. The denominator
 * is a sum over j too, with the vector z instead of the matrix S. Its gradient is easy to
 * forget. It takes one of three forms:
 *
 * - Rotary angles turn the features in the numerator only: rotated features can have negative
 *   products, which a denominator must not have. So z sums the unrotated keys row by row.
 * - If pairs are weighted by a function of a few leading features, the denominator is the sum
 *   of these very weights, plus f(q) . z for what precedes the chunk: numerator and denominator
 *   share their rounding, which matters where the other features cancel.
 * - If every feature has a denominator of its own, queries are divided beforehand. */
#include "src/attention/features.h"
#include "src/attention/chunkwise.h"
#include "src/attention/triangle.h"
#include "src/layers/rotary.h"

enum { CHUNK = 64, SPAN = 4 };

static const ChunkEngine engine;

/* --- sizes --- */

static const FeatureMap *map_of(const AttentionHead *head)
{
    return head->kind->detail;
}

static size_t features_of(const AttentionHead *head)
{
    const FeatureMap *map = map_of(head);
    return map->width ? map->width(head) : head->width;
}

static size_t leading_of(const AttentionHead *head)
{
    const FeatureMap *map = map_of(head);
    return map->leading ? map->leading(head) : features_of(head);
}

size_t features_state_reals(const AttentionHead *head)
{
    return features_of(head) * head->width + features_of(head);
}

/* Forward saves every denominator besides the states. */
size_t features_saved_reals(const AttentionHead *head)
{
    return head->length + chunkwise_saved_reals(&engine, head);
}

/* Per position: two products with half a chunk, one read and one write of the state. */
double features_flop(const AttentionHead *head)
{
    double width = (double)head->width, features = (double)features_of(head);
    double pairs = (double)CHUNK * ((double)leading_of(head) + width);
    return (double)head->length * (pairs + 4 * features * width);
}

/* --- memory --- */

/* The current chunk. */
typedef struct Chunk {
    const AttentionData *data;
    const AttentionHead *head;
    const FeatureMap *map;
    size_t width, features, leading; /* D, F, and how many features weigh a pair */
    const real *angles;              /* rotate the numerator's features; or NULL */
    ChunkWalk walk;
    ChunkPlace at;
    real *q, *k;             /* (rows, F) features */
    real *q_above, *k_above; /* those of the numerator; the same memory if they do not differ */
    real *dq, *dk;           /* (rows, F) */
    real *dout;              /* (rows, D) gradient before the division */
    Triangle p, a;           /* (rows, rows) */
    real *n, *dn;            /* (rows) denominators, saved by forward, and their gradient */
    real *z;                 /* (F) sum of the keys up to the current row */
} Chunk;

static Chunk take_chunk(Arena *arena, const AttentionHead *head)
{
    Chunk c = {.head = head, .map = map_of(head), .width = head->width};
    c.features = features_of(head);
    c.leading = leading_of(head);
    real **const blocks[] = {&c.q, &c.k, &c.q_above, &c.k_above, &c.dq, &c.dk};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        *blocks[i] = arena_reals(arena, CHUNK * c.features);
    c.dout = arena_reals(arena, CHUNK * c.width);
    c.p = (Triangle){.at = arena_reals(arena, CHUNK * CHUNK), .stride = CHUNK};
    c.a = (Triangle){.at = arena_reals(arena, CHUNK * CHUNK), .stride = CHUNK};
    c.dn = arena_reals(arena, CHUNK);
    c.z = arena_reals(arena, c.features);
    c.walk = chunkwise_take(&engine, arena, head);
    return c;
}

size_t features_scratch_reals(const AttentionHead *head)
{
    Arena arena = {0};
    take_chunk(&arena, head);
    return arena_used_reals(&arena);
}

static Chunk chunk_of(const AttentionData *data, const AttentionHead *head)
{
    Arena arena = arena_over(data->scratch);
    Chunk c = take_chunk(&arena, head);
    c.data = data;
    c.angles = head->kind->turns_itself ? head->rotary : NULL;
    if (!c.angles && !c.map->share)
        c.q_above = c.q;
    if (!c.angles)
        c.k_above = c.k;
    return c;
}

/* Saved: first the denominators, then the states. */
static real *saved_states(const Chunk *c)
{
    return c->data->saved + c->head->length;
}

/* The chunk's rows of q or k, and their features. */
static FeatureRows rows_of(const Chunk *c, bool keys)
{
    const AttentionData *data = c->data;
    size_t at = c->at.start * c->head->stride;
    FeatureRows rows = {.head = c->head, .own = data->own, .keys = keys, .rows = c->at.rows};
    rows.x = (keys ? data->k : data->q) + at;
    rows.y = keys ? c->k : c->q;
    rows.next = (keys ? data->k : data->q) + c->at.next * c->head->stride;
    rows.next_rows = c->at.next_rows;
    if (!data->dq)
        return rows;
    rows.dx = (keys ? data->dk : data->dq) + at;
    rows.dy = keys ? c->dk : c->dq;
    return rows;
}

static void fetch_next(const Chunk *c, const real *x, size_t stride, size_t i)
{
    if (i < c->at.next_rows)
        vector_fetch(x + (c->at.next + i) * stride, c->width);
}

/* Rotates features for the numerator, if there are angles. */
static void turn(const Chunk *c, real *above, const real *x)
{
    if (!c->angles)
        return;
    memcpy(above, x, c->at.rows * c->features * sizeof(real));
    for (size_t i = 0; i < c->at.rows; i++)
        rotary_turn(above + i * c->features, c->angles + (c->at.start + i) * c->features,
                    c->features, false);
}

static void load_features(const Chunk *c, bool keys)
{
    FeatureRows rows = rows_of(c, keys);
    c->map->forward(&rows);
}

static void load_keys(void *work, const ChunkPlace *place, bool again)
{
    Chunk *c = work;
    (void)again;
    c->at = *place;
    c->p.rows = c->a.rows = place->rows;
    c->n = c->data->saved ? c->data->saved + place->start : NULL;
    load_features(c, true);
    turn(c, c->k_above, c->k);
}

/* The queries, divided if every feature has its own denominator; leaves z at the chunk's end in
 * that case. */
static void load_queries(Chunk *c)
{
    const real *z = c->at.state + c->features * c->width;
    load_features(c, false);
    memcpy(c->z, z, c->features * sizeof(real));
    if (c->map->share)
        c->map->share(c->q_above, c->z, c->q, c->k, c->at.rows, c->features);
    turn(c, c->q_above, c->q);
}

/* --- forward --- */

/* z += k;  n = q . z, row by row */
static void sum_rows(real *restrict n, real *restrict z, const real *restrict q,
                     const real *restrict k, size_t rows, size_t features)
{
    for (size_t row = 0; row < rows; row++, q += features, k += features) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < features; i++) {
            z[i] += k[i];
            sum += q[i] * z[i];
        }
        n[row] = sum;
    }
}

/* Turns the products in P into weights; the denominators are their sums. */
static void weigh_pairs(const Chunk *c)
{
    for (size_t i = 0; i < c->at.rows; i++)
        c->n[i] = c->map->weigh(c->p.at + i * c->p.stride, i + 1) +
                  vector_dot(c->q + i * c->features, c->z, c->features);
}

static void divide(const Chunk *c)
{
    const AttentionData *data = c->data;
    size_t stride = c->head->stride, out_stride = c->head->out_stride;
    for (size_t i = 0; i < c->at.rows; i++) {
        fetch_next(c, data->v, stride, i);
        fetch_next(c, data->out, out_stride, i);
        c->n[i] += c->map->epsilon;
        real inverse = 1 / c->n[i];
        real *restrict y = data->out + (c->at.start + i) * out_stride;
        for (size_t j = 0; j < c->width; j++)
            y[j] *= inverse;
    }
}

static Factor values_of(const Chunk *c)
{
    return plain(c->data->v + c->at.start * c->head->stride, c->head->stride);
}

static void read_state(void *work)
{
    Chunk *c = work;
    const FeatureMap *map = c->map;
    size_t width = c->width, features = c->features, stride = c->head->out_stride;
    real *out = c->data->out + c->at.start * stride;
    load_queries(c);
    /* P = tril(Q K^T) */
    triangle_product(c->p, plain(c->q_above, features), plain(c->k_above, features),
                     c->leading);
    if (map->weigh)
        weigh_pairs(c);
    else if (!map->share)
        sum_rows(c->n, c->z, c->q, c->k, c->at.rows, features);
    /* O = Q S + P V */
    chunkwise_product(c->at.from_zeros, c->at.rows, width, features,
                      plain(c->q_above, features), plain(c->at.state, width), out, stride);
    triangle_add(out, stride, c->p, values_of(c), width);
    if (!map->share)
        divide(c);
}

/* S += K^T V    z += K */
static void advance(void *work, real *state)
{
    const Chunk *c = work;
    real *z = state + c->features * c->width;
    gemm(c->features, c->width, c->at.rows, 1, transposed(c->k_above, c->features),
         values_of(c), GEMM_ADD, state, c->width);
    for (size_t i = 0; i < c->at.rows; i++)
        vector_add_scaled(z, c->k + i * c->features, 1, c->features);
}

void features_forward(const AttentionData *data, const AttentionHead *head)
{
    Chunk c = chunk_of(data, head);
    chunkwise_forward(&c.walk, &c, saved_states(&c), data->carry);
}

/* --- backward --- */

/* y = o / n:  do = dy / n,  dn = -(dy . y) / n.  Without a division, do is dy. */
static void divide_backward(const Chunk *c)
{
    const AttentionData *data = c->data;
    size_t width = c->width, stride = c->head->out_stride;
    for (size_t i = 0; i < c->at.rows; i++) {
        size_t at = (c->at.start + i) * stride;
        const real *dy = data->dout + at;
        fetch_next(c, data->dout, stride, i);
        fetch_next(c, data->out, stride, i);
        real *restrict gradient = c->dout + i * width;
        real inverse = c->map->share ? 1 : 1 / c->n[i];
        for (size_t j = 0; j < width; j++)
            gradient[j] = dy[j] * inverse;
        if (!c->map->share)
            c->dn[i] = -vector_dot(dy, data->out + at, width) * inverse;
    }
}

/* Recomputes P, and computes A, the gradient of the products behind it. */
static void pairs_backward(const Chunk *c, Factor dout)
{
    size_t features = c->features;
    triangle_product(c->p, plain(c->q_above, features), plain(c->k_above, features),
                     c->leading);
    triangle_product(c->a, dout, values_of(c), c->width);
    for (size_t i = 0; c->map->weigh && i < c->at.rows; i++)
        c->map->weigh_backward(c->p.at + i * c->p.stride, c->a.at + i * c->a.stride, c->dn[i],
                               i + 1);
}

static void products_backward(const Chunk *c, real *ds)
{
    size_t width = c->width, features = c->features, stride = c->head->stride;
    size_t rows = c->at.rows;
    bool unread = c->at.unread;
    real *dv = c->data->dv + c->at.start * stride;
    Factor q = plain(c->q_above, features), k = plain(c->k_above, features);
    Factor dout = plain(c->dout, width), v = values_of(c);
    pairs_backward(c, dout);
    /* dQ = dO S^T + A K */
    chunkwise_product(c->at.from_zeros, rows, features, width, dout,
                      transposed(c->at.state, width), c->dq, features);
    triangle_add(c->dq, features, c->a, k, c->leading);
    /* dK = V dS^T + A^T Q */
    chunkwise_product(unread, rows, features, width, v, transposed(ds, width), c->dk, features);
    triangle_transposed_add(c->dk, features, c->a, q, c->leading);
    /* dV = K dS + P^T dO */
    chunkwise_product(unread, rows, width, features, k, plain(ds, width), dv, stride);
    triangle_transposed_add(dv, stride, c->p, dout, width);
    /* dS += Q^T dO */
    if (c->at.start > 0)
        gemm(features, width, rows, 1, transposed(c->q_above, features), dout, GEMM_ADD, ds,
             width);
}

/* n_i = q_i . z_i, where z_i is the sum of k_j up to i:  dq_i += dn_i z_i, and dk_j gets the
 * sum of dn_i q_i over i >= j, which dz accumulates backwards through the chunks. */
static void sums_backward(const Chunk *c, real *dz)
{
    size_t features = c->features;
    for (size_t i = 0; i < c->at.rows; i++) {
        vector_add_scaled(c->z, c->k + i * features, 1, features);
        vector_add_scaled(c->dq + i * features, c->z, c->dn[i], features);
    }
    for (size_t i = c->at.rows; i-- > 0;) {
        vector_add_scaled(dz, c->q + i * features, c->dn[i], features);
        vector_add_scaled(c->dk + i * features, dz, 1, features);
    }
}

/* As above with z_i the sum before the chunk: pairs_backward() has used dn inside it. */
static void sums_before_backward(const Chunk *c, real *dz)
{
    size_t features = c->features;
    for (size_t i = 0; i < c->at.rows; i++) {
        vector_add_scaled(c->dq + i * features, c->z, c->dn[i], features);
        vector_add_scaled(c->dk + i * features, dz, 1, features);
    }
    for (size_t i = 0; i < c->at.rows; i++)
        vector_add_scaled(dz, c->q + i * features, c->dn[i], features);
}

static void denominators_backward(const Chunk *c, real *dz)
{
    memcpy(c->z, c->at.state + c->features * c->width, c->features * sizeof(real));
    if (c->map->share)
        c->map->share_backward(c->dq, c->dk, dz, c->q_above, c->z, c->k, c->at.rows,
                               c->features);
    else if (c->map->weigh)
        sums_before_backward(c, dz);
    else
        sums_backward(c, dz);
}

static void chunk_backward(void *work, real *dstate)
{
    Chunk *c = work;
    size_t features = c->features;
    load_queries(c);
    divide_backward(c);
    products_backward(c, dstate);
    for (size_t i = 0; c->angles && i < c->at.rows; i++) {
        const real *angles = c->angles + (c->at.start + i) * features;
        rotary_turn(c->dq + i * features, angles, features, true);
        rotary_turn(c->dk + i * features, angles, features, true);
    }
    denominators_backward(c, dstate + features * c->width);
    FeatureRows queries = rows_of(c, false), keys = rows_of(c, true);
    c->map->backward(&queries);
    c->map->backward(&keys);
}

static const ChunkEngine engine = {.chunk = CHUNK,
                                   .span = SPAN,
                                   .state_reals = features_state_reals,
                                   .load = load_keys,
                                   .read = read_state,
                                   .advance = advance,
                                   .backward = chunk_backward};

void features_backward(const AttentionData *data, const AttentionHead *head)
{
    Chunk c = chunk_of(data, head);
    chunkwise_backward(&c.walk, &c, saved_states(&c));
}

/* --- decoding: the recurrent form --- */

void features_step(const AttentionData *data, real *state, size_t position,
                   const AttentionHead *head)
{
    (void)position;
    AttentionHead one = *head;
    one.length = 1;
    Chunk c = chunk_of(data, &one);
    ChunkPlace place = chunkwise_step(&c.walk);
    load_keys(&c, &place, false);
    load_features(&c, false);
    real *s = state, *z = s + c.features * c.width, n = 1;
    if (c.map->share)
        c.map->share(c.q_above, z, c.q, c.k, 1, c.features);
    else
        sum_rows(&n, z, c.q, c.k, 1, c.features);
    real inverse = 1 / (n + c.map->epsilon);
    turn(&c, c.q_above, c.q);
    vector_zero(data->out, c.width);
    for (size_t i = 0; i < c.features; i++) {
        vector_add_scaled(s + i * c.width, data->v, c.k_above[i], c.width);
        vector_add_scaled(data->out, s + i * c.width, c.q_above[i] * inverse, c.width);
    }
}
