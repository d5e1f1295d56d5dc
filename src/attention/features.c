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
 * - If every feature has a denominator of its own, queries are divided beforehand.
 *
 * Shapes: q, k, numerator (rows, F); n, dn (rows); z, dz (F); S, dS (F, Dv). */
#include "src/attention/features.h"
#include "src/attention/rows.h"
#include "src/layers/rotary.h"

enum { CHUNK = 64, SPAN = 4 };

/* --- sizes --- */

static const FeatureMap *map_of(const AttentionHead *head)
{
    return head->kind->engine_options;
}

static size_t features_of(const AttentionHead *head)
{
    const FeatureMap *map = map_of(head);
    return map->width ? map->width(head) : head->width;
}

static size_t leading_of(const AttentionHead *head)
{
    const FeatureMap *map = map_of(head);
    return map->pair_weights ? head->width : features_of(head);
}

/* Per position: two products with half a chunk, one read and one write of the state. */
static double flop(const AttentionHead *head)
{
    double width = (double)head->value_width, features = (double)features_of(head);
    double pairs = (double)CHUNK * ((double)leading_of(head) + width);
    double feature_flop = map_of(head)->flop ? map_of(head)->flop(head) : 0;
    return (double)head->length * (pairs + 4 * features * width) + feature_flop;
}

/* --- memory --- */

typedef struct Features {
    Chunk chunk; /* its queries and keys are features */
    const FeatureMap *map;
    real scale;         /* of rows */
    size_t leading;     /* how many features weigh a pair */
    const real *angles; /* rotate the numerator's features; or NULL */
    real *q_numerator,
        *k_numerator; /* those of the numerator; the same memory if they do not differ */
    real *dq, *dk;    /* (rows, F) */
    real *dout;       /* (rows, Dv) gradient before the division */
    real *n, *dn;     /* (rows) denominators, saved by forward, and their gradient */
    real *z;          /* (F) sum of the keys up to the current row */
} Features;
_Static_assert(sizeof(Features) <= CHUNKWISE_MOST, "the driver has room for it");

static void lay_out(void *work, Arena *arena)
{
    Features *c = work;
    const Chunk chunk = c->chunk;
    *c = (Features){
        .chunk = chunk, .map = map_of(chunk.head), .leading = leading_of(chunk.head)};
    ARENA_REALS_EACH(arena, CHUNK * chunk.features, &c->q_numerator, &c->k_numerator, &c->dq,
                     &c->dk);
    c->dout = arena_reals(arena, CHUNK * chunk.value_width);
    c->dn = arena_reals(arena, CHUNK);
    c->z = arena_reals(arena, chunk.features);
    c->scale = c->map->scale ? c->map->scale(chunk.head) : 1;
    c->angles = chunk.head->kind->applies_rope ? chunk.head->rotary : NULL;
    if (!c->angles && !c->map->divide_queries)
        c->q_numerator = c->chunk.q;
    if (!c->angles)
        c->k_numerator = c->chunk.k;
}

/* The chunk's rows of q or k, and their features. */
static FeatureRows rows_of(const Features *c, bool keys)
{
    const AttentionData *data = &c->chunk.data;
    return keys ? (FeatureRows){&c->chunk, true, data->k, data->dk, c->chunk.k, c->dk}
                : (FeatureRows){&c->chunk, false, data->q, data->dq, c->chunk.q, c->dq};
}

/* Rotates features for the numerator, if there are angles. */
static void rotate_numerator(const Features *c, real *numerator, const real *x)
{
    if (!c->angles)
        return;
    memcpy(numerator, x, c->chunk.rows * c->chunk.features * sizeof(real));
    for (size_t i = 0; i < c->chunk.rows; i++)
        rotary_rotate(numerator + i * c->chunk.features,
                      c->angles + (c->chunk.start + i) * c->chunk.features, c->chunk.features,
                      false);
}

static void load_features(const Features *c, bool keys)
{
    const FeatureRow *row = keys ? c->map->key : c->map->query;
    const FeatureRows rows = rows_of(c, keys);
    size_t stride = c->chunk.head->stride;
    if (!row)
        c->map->forward(&rows);
    for (size_t i = 0; row && i < c->chunk.rows; i++) {
        chunk_fetch_next(&c->chunk, rows.x, stride, i);
        row->forward(rows.y + i * c->chunk.features, rows.x + i * stride, c->scale,
                     c->chunk.width);
    }
}

static void features_backward(const Features *c, bool keys)
{
    const FeatureRow *row = keys ? c->map->key : c->map->query;
    const FeatureRows rows = rows_of(c, keys);
    size_t stride = c->chunk.head->stride, features = c->chunk.features;
    if (!row)
        c->map->backward(&rows);
    for (size_t i = 0; row && i < c->chunk.rows; i++)
        row->backward(rows.dx + i * stride, rows.dy + i * features, rows.y + i * features,
                      rows.x + i * stride, c->scale, c->chunk.width);
}

static void prepare(void *work)
{
    Features *c = work;
    c->n = c->chunk.data.saved;
    load_features(c, true);
    rotate_numerator(c, c->k_numerator, c->chunk.k);
}

/* The queries, divided if every feature has its own denominator; leaves z at the chunk's end in
 * that case. */
static void load_queries(Features *c)
{
    const real *z = c->chunk.state + c->chunk.features * c->chunk.value_width;
    load_features(c, false);
    memcpy(c->z, z, c->chunk.features * sizeof(real));
    if (c->map->divide_queries)
        c->map->divide_queries(c->q_numerator, c->z, c->chunk.q, c->chunk.k, c->chunk.rows,
                               c->chunk.features);
    rotate_numerator(c, c->q_numerator, c->chunk.q);
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

/* P = tril(Q K^T), of all features, the leading ones, or q and k themselves. */
static void multiply_pairs(const Features *c)
{
    size_t stride = c->map->near ? c->chunk.head->stride : c->chunk.features;
    triangle_product(c->chunk.p, plain(c->map->near ? c->chunk.data.q : c->q_numerator, stride),
                     plain(c->map->near ? c->chunk.data.k : c->k_numerator, stride),
                     c->leading);
}

/* Turns the products in P into weights; the denominators are their sums. */
static void compute_pair_weights(const Features *c)
{
    for (size_t i = 0; i < c->chunk.rows; i++)
        c->n[i] = c->map->pair_weights(c->chunk.p.data + i * c->chunk.p.stride, i + 1,
                                       c->scale) +
                  vector_dot(c->chunk.q + i * c->chunk.features, c->z, c->chunk.features);
}

static void divide(const Features *c)
{
    size_t stride = c->chunk.head->stride, out_stride = c->chunk.head->out_stride;
    for (size_t i = 0; i < c->chunk.rows; i++) {
        chunk_fetch_next(&c->chunk, c->chunk.data.v, stride, i);
        chunk_fetch_next(&c->chunk, c->chunk.data.out, out_stride, i);
        c->n[i] += c->map->epsilon;
        real inverse = 1 / c->n[i];
        real *restrict y = c->chunk.data.out + i * out_stride;
        for (size_t j = 0; j < c->chunk.value_width; j++)
            y[j] *= inverse;
    }
}

static void forward(void *work)
{
    Features *c = work;
    const FeatureMap *map = c->map;
    size_t width = c->chunk.value_width, features = c->chunk.features;
    size_t stride = c->chunk.head->out_stride;
    real *out = c->chunk.data.out;
    load_queries(c);
    multiply_pairs(c);
    if (map->pair_weights)
        compute_pair_weights(c);
    else if (!map->divide_queries)
        sum_rows(c->n, c->z, c->chunk.q, c->chunk.k, c->chunk.rows, features);
    /* O = Q S + P V */
    chunk_product(c->chunk.state_is_zero, c->chunk.rows, width, features,
                  plain(c->q_numerator, features), plain(c->chunk.state, width), out, stride);
    triangle_add(out, stride, c->chunk.p, c->chunk.v, width);
    if (!map->divide_queries)
        divide(c);
}

/* S += K^T V    z += K */
static void update_state(void *work, real *state)
{
    const Features *c = work;
    size_t width = c->chunk.value_width;
    real *z = state + c->chunk.features * width;
    gemm(c->chunk.features, width, c->chunk.rows, 1,
         transposed(c->k_numerator, c->chunk.features), c->chunk.v, GEMM_ADD, state, width);
    for (size_t i = 0; i < c->chunk.rows; i++)
        vector_add_scaled(z, c->chunk.k + i * c->chunk.features, 1, c->chunk.features);
}

/* --- backward --- */

/* y = o / n:  do = dy / n,  dn = -(dy . y) / n.  Without a division, do is dy. */
static void divide_backward(const Features *c)
{
    const AttentionData *data = &c->chunk.data;
    size_t width = c->chunk.value_width, stride = c->chunk.head->out_stride;
    for (size_t i = 0; i < c->chunk.rows; i++) {
        const real *dy = data->dout + i * stride;
        chunk_fetch_next(&c->chunk, data->dout, stride, i);
        chunk_fetch_next(&c->chunk, data->out, stride, i);
        real *restrict gradient = c->dout + i * width;
        real inverse = c->map->divide_queries ? 1 : 1 / c->n[i];
        for (size_t j = 0; j < width; j++)
            gradient[j] = dy[j] * inverse;
        if (!c->map->divide_queries)
            c->dn[i] = -vector_dot(dy, data->out + i * stride, width) * inverse;
    }
}

/* Recomputes P, and computes A, the gradient of the products behind it. */
static void pairs_backward(const Features *c, Factor dout)
{
    multiply_pairs(c);
    triangle_product(c->chunk.a, dout, c->chunk.v, c->chunk.value_width);
    for (size_t i = 0; c->map->pair_weights && i < c->chunk.rows; i++)
        c->map->pair_weights_backward(c->chunk.p.data + i * c->chunk.p.stride,
                                      c->chunk.a.data + i * c->chunk.a.stride, c->dn[i], i + 1,
                                      c->scale);
}

static void products_backward(const Features *c, real *ds)
{
    size_t width = c->chunk.value_width, features = c->chunk.features,
           stride = c->chunk.head->stride;
    size_t rows = c->chunk.rows;
    bool is_last = c->chunk.is_last;
    real *dv = c->chunk.data.dv;
    Factor q = plain(c->q_numerator, features), k = plain(c->k_numerator, features);
    Factor dout = plain(c->dout, width), v = c->chunk.v;
    pairs_backward(c, dout);
    /* dQ = dO S^T + A K */
    chunk_product(c->chunk.state_is_zero, rows, features, width, dout,
                  transposed(c->chunk.state, width), c->dq, features);
    if (!c->map->near)
        triangle_add(c->dq, features, c->chunk.a, k, c->leading);
    /* dK = V dS^T + A^T Q */
    chunk_product(is_last, rows, features, width, v, transposed(ds, width), c->dk, features);
    if (!c->map->near)
        triangle_transposed_add(c->dk, features, c->chunk.a, q, c->leading);
    /* dV = K dS + P^T dO */
    chunk_product(is_last, rows, width, features, k, plain(ds, width), dv, stride);
    triangle_transposed_add(dv, stride, c->chunk.p, dout, width);
    /* dS += Q^T dO */
    if (c->chunk.start > 0)
        gemm(features, width, rows, 1, transposed(c->q_numerator, features), dout, GEMM_ADD, ds,
             width);
}

/* n_i = q_i . z_i, where z_i is the sum of k_j up to i:  dq_i += dn_i z_i, and dk_j gets the
 * sum of dn_i q_i over i >= j, which dz accumulates backwards through the chunks. */
static void sums_backward(const Features *c, real *dz)
{
    size_t features = c->chunk.features;
    for (size_t i = 0; i < c->chunk.rows; i++) {
        vector_add_scaled(c->z, c->chunk.k + i * features, 1, features);
        vector_add_scaled(c->dq + i * features, c->z, c->dn[i], features);
    }
    for (size_t i = c->chunk.rows; i-- > 0;) {
        vector_add_scaled(dz, c->chunk.q + i * features, c->dn[i], features);
        vector_add_scaled(c->dk + i * features, dz, 1, features);
    }
}

/* As above with z_i the sum before the chunk: pairs_backward() has used dn inside it. */
static void sums_before_backward(const Features *c, real *dz)
{
    size_t features = c->chunk.features;
    for (size_t i = 0; i < c->chunk.rows; i++) {
        vector_add_scaled(c->dq + i * features, c->z, c->dn[i], features);
        vector_add_scaled(c->dk + i * features, dz, 1, features);
    }
    for (size_t i = 0; i < c->chunk.rows; i++)
        vector_add_scaled(dz, c->chunk.q + i * features, c->dn[i], features);
}

static void denominators_backward(const Features *c, real *dz)
{
    memcpy(c->z, c->chunk.state + c->chunk.features * c->chunk.value_width,
           c->chunk.features * sizeof(real));
    if (c->map->divide_queries)
        c->map->divide_queries_backward(c->dq, c->dk, dz, c->q_numerator, c->z, c->chunk.k,
                                        c->chunk.rows, c->chunk.features);
    else if (c->map->pair_weights)
        sums_before_backward(c, dz);
    else
        sums_backward(c, dz);
}

/* The shares of near pairs: dq += A k    dk += A^T q */
static void near_backward(const Features *c)
{
    const AttentionData *data = &c->chunk.data;
    size_t stride = c->chunk.head->stride;
    triangle_add(data->dq, stride, c->chunk.a, plain(data->k, stride), c->leading);
    triangle_transposed_add(data->dk, stride, c->chunk.a, plain(data->q, stride), c->leading);
}

static void backward(void *work, real *dstate)
{
    Features *c = work;
    size_t features = c->chunk.features;
    load_queries(c);
    divide_backward(c);
    products_backward(c, dstate);
    for (size_t i = 0; c->angles && i < c->chunk.rows; i++) {
        const real *angles = c->angles + (c->chunk.start + i) * features;
        rotary_rotate(c->dq + i * features, angles, features, true);
        rotary_rotate(c->dk + i * features, angles, features, true);
    }
    denominators_backward(c, dstate + features * c->chunk.value_width);
    features_backward(c, false);
    features_backward(c, true);
    if (c->map->near)
        near_backward(c);
}

/* --- decoding: the recurrent form --- */

static void step(void *work)
{
    Features *c = work;
    real *state = c->chunk.state;
    size_t width = c->chunk.value_width, features = c->chunk.features;
    real *z = state + features * width, n = 1, *out = c->chunk.data.out;
    prepare(c);
    load_features(c, false);
    if (c->map->divide_queries)
        c->map->divide_queries(c->q_numerator, z, c->chunk.q, c->chunk.k, 1, features);
    else
        sum_rows(&n, z, c->chunk.q, c->chunk.k, 1, features);
    real inverse = 1 / (n + c->map->epsilon);
    rotate_numerator(c, c->q_numerator, c->chunk.q);
    vector_zero(out, width);
    for (size_t i = 0; i < features; i++) {
        vector_add_scaled(state + i * width, c->chunk.data.v, c->k_numerator[i], width);
        vector_add_scaled(out, state + i * width, c->q_numerator[i] * inverse, width);
    }
}

/* The state absorbs a chunk whose keys and values are kept in rows. */
static void absorb_chunk(Features c, const real *recent, real *state)
{
    AttentionHead rows = *c.chunk.head;
    rows.stride = c.chunk.features;
    c.chunk.head = &rows;
    c.chunk.rows = CHUNK;
    c.chunk.next_rows = 0;
    c.chunk.data.k = recent;
    c.chunk.v = plain(recent + c.chunk.width, rows.stride);
    prepare(&c);
    update_state(&c, state);
}

/* The keys and values of a chunk are kept behind the sums, a row for each position. When the
 * next chunk begins, the state absorbs them. */
static void near_step(void *work)
{
    Features *c = work;
    real *state = c->chunk.state;
    size_t width = c->chunk.width, of_values = c->chunk.value_width,
           features = c->chunk.features;
    size_t last = c->chunk.head->position % CHUNK;
    real *z = state + features * of_values, *recent = z + features, *p = c->chunk.p.data;
    if (last == 0 && c->chunk.head->position > 0)
        absorb_chunk(*c, recent, state);
    memcpy(recent + last * features, c->chunk.data.k, width * sizeof(real));
    memcpy(recent + last * features + width, c->chunk.data.v, of_values * sizeof(real));
    for (size_t j = 0; j <= last; j++)
        p[j] = vector_dot(c->chunk.data.q, recent + j * features, width);
    load_features(c, false);
    real n = c->map->pair_weights(p, last + 1, c->scale) + vector_dot(c->chunk.q, z, features);
    real inverse = 1 / n;
    vector_zero(c->chunk.data.out, of_values);
    for (size_t j = 0; j <= last; j++)
        vector_add_scaled(c->chunk.data.out, recent + j * features + width, p[j] * inverse,
                          of_values);
    for (size_t i = 0; i < features; i++)
        vector_add_scaled(c->chunk.data.out, state + i * of_values, c->chunk.q[i] * inverse,
                          of_values);
}

#define FUNCTIONS                                                                             \
    .chunk = CHUNK, .span = SPAN, .features = features_of, .sums = 1, .saves_row = true,      \
    .lay_out = lay_out, .prepare = prepare, .forward = forward, .update_state = update_state, \
    .backward = backward

static const Recurrence recurrence = {FUNCTIONS, .step = step};
static const Recurrence near_recurrence = {FUNCTIONS, .step_rows = CHUNK, .step = near_step};

const AttentionEngine features_engine = CHUNKWISE_ENGINE(recurrence, flop, CARRY_DIVERGES);
const AttentionEngine features_near_engine = CHUNKWISE_ENGINE(near_recurrence, flop,
                                                              CARRY_NEVER);
