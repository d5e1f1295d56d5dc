/* Linear attention (Katharopoulos et al. 2020): the exponential of q . k is replaced by a
 * product of positive features f(q) . f(k), and then the sums factor:
 *
 *   o_i = sum over j <= i of (f(q_i) . f(k_j)) v_j  =  f(q_i) S_i,    S_i = sum of f(k_j)^T v_j
 *   y_i = o_i / (f(q_i) . z_i + eps),                                 z_i = sum of f(k_j)
 *
 * S is an F by D matrix whatever the length: the past in a box of fixed size. One position
 * after another, that is a recurrent network; all pairs at once, it is a product of T by T
 * matrices. We do both: positions are taken in chunks of 64, pairs inside a chunk go through a
 * small masked product, and everything before the chunk comes through S. With Q and K the
 * features:
 *
 *   forward, chunk by chunk:      P = tril(Q K^T)    O = P V + Q S    S += K^T V
 *   backward, last chunk first:   A = tril(dO V^T)   dQ = A K + dO S^T
 *                                 dK = A^T Q + V dS^T      dV = P^T dO + K dS     dS += Q^T dO
 *
 * where S is the state at the chunk's start and dS the gradient of the state at its end. The
 * denominator is a sum over j too, one vector z instead of the matrix S; it has its own way
 * through the backward pass, easy to forget. It takes one of three forms:
 *
 * - Rotary angles turn the features in the numerator only, as turned features can have negative
 *   products, and a denominator must not. So z runs along, row by row, over those not turned.
 * - Where pairs are weighed by a function of a few leading features, the denominator is the sum
 *   of these very weights and of f(q) . z for what is before the chunk: numerator and
 *   denominator share their rounding, which matters where the other features cancel.
 * - Where every feature has a denominator of its own, queries are divided beforehand. */
#include "src/attention/features.h"
#include "src/attention/span.h"
#include "src/attention/triangle.h"
#include "src/layers/rotary.h"
#include "src/memory.h"

#define CHUNK  ((size_t)64)
#define CHUNKS ((size_t)4) /* of a span */

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

static Spans spans_of(real *kept, const AttentionHead *head)
{
    return (Spans){head, CHUNK, CHUNKS, features_state_reals(head), kept};
}

size_t features_saved_reals(const AttentionHead *head)
{
    Spans spans = spans_of(NULL, head);
    return head->length + spans_kept_reals(&spans);
}

/* For each position: two products with half a chunk, and the state read and written. */
double features_flop(const AttentionHead *head)
{
    double width = (double)head->width, features = (double)features_of(head);
    double pairs = (double)CHUNK * ((double)leading_of(head) + width);
    return (double)head->length * (pairs + 4 * features * width);
}

/* --- memory --- */

/* Forward leaves every denominator, and S and z at the start of each span of chunks. To compute
 * those inside again costs less than to fetch them from far memory. */
typedef struct Saved {
    real *denominators; /* (T) */
    Spans states;       /* each F*D + F */
} Saved;

static Saved saved_of(real *saved, const AttentionHead *head)
{
    return (Saved){saved, spans_of(saved + head->length, head)};
}

/* One chunk at work. */
typedef struct Chunk {
    const AttentionHead *head;
    const FeatureMap *map;
    size_t width, features, leading; /* D, F, and how many weigh a pair */
    const real *angles;              /* that turn the numerator's features; or NULL */
    size_t start, rows;
    size_t next, next_rows;  /* where work goes on: fetched meanwhile */
    real *q, *k;             /* (rows, F) features */
    real *q_above, *k_above; /* those above the fraction bar; the same memory if they can be */
    real *dq, *dk;           /* (rows, F) */
    real *dout;              /* (rows, D) gradient before the division */
    Triangle p, a;           /* (rows, rows) */
    real *dn;                /* (rows) gradient of the denominators */
    real *z;                 /* (F) up to the row at hand */
    real *dstate;            /* dS and dz at a chunk's end */
    real *states;            /* (1 or chunks of a span, F*D + F) S and z at a chunk's start */
} Chunk;

static Chunk take_chunk(Arena *arena, const AttentionHead *head)
{
    Chunk c = {.head = head, .map = map_of(head), .width = head->width};
    c.features = features_of(head);
    c.leading = leading_of(head);
    size_t state = features_state_reals(head);
    real **const blocks[] = {&c.q, &c.k, &c.q_above, &c.k_above, &c.dq, &c.dk};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        *blocks[i] = arena_reals(arena, CHUNK * c.features);
    c.dout = arena_reals(arena, CHUNK * c.width);
    c.p = (Triangle){.at = arena_reals(arena, CHUNK * CHUNK), .stride = CHUNK};
    c.a = (Triangle){.at = arena_reals(arena, CHUNK * CHUNK), .stride = CHUNK};
    c.dn = arena_reals(arena, CHUNK);
    c.z = arena_reals(arena, c.features);
    c.dstate = arena_reals(arena, state);
    c.states = arena_reals(arena, CHUNKS * state);
    return c;
}

size_t features_scratch_reals(const AttentionHead *head)
{
    Arena arena = {0};
    take_chunk(&arena, head);
    return arena_used_reals(&arena);
}

/* `both`: the features are needed as they are, and as they are above the bar. */
static Chunk chunk_of(real *scratch, const AttentionHead *head, bool both)
{
    Arena arena = arena_over(scratch);
    Chunk c = take_chunk(&arena, head);
    c.angles = head->kind->turns_itself ? head->rotary : NULL;
    if (!(c.angles && both) && !c.map->share)
        c.q_above = c.q;
    if (!(c.angles && both))
        c.k_above = c.k;
    return c;
}

static size_t rows_at(const Chunk *c, size_t start)
{
    size_t left = c->head->length - start;
    return left < CHUNK ? left : CHUNK;
}

static size_t start_after(const Chunk *c, size_t start)
{
    return start + rows_at(c, start);
}

static void move_to(Chunk *c, size_t start, size_t next)
{
    c->start = start;
    c->rows = c->p.rows = c->a.rows = rows_at(c, start);
    c->next = next;
    c->next_rows = rows_at(c, next);
}

/* The chunk's rows of q or k, and their features. */
static FeatureRows rows_of(const Chunk *c, const AttentionData *data, bool keys)
{
    size_t at = c->start * c->head->stride;
    FeatureRows rows = {.head = c->head, .own = data->own, .keys = keys, .rows = c->rows};
    rows.x = (keys ? data->k : data->q) + at;
    rows.y = keys ? c->k : c->q;
    rows.next = (keys ? data->k : data->q) + c->next * c->head->stride;
    rows.next_rows = c->next_rows;
    if (!data->dq)
        return rows;
    rows.dx = (keys ? data->dk : data->dq) + at;
    rows.dy = keys ? c->dk : c->dq;
    return rows;
}

static void fetch_next(const Chunk *c, const real *x, size_t stride, size_t i)
{
    if (i < c->next_rows)
        vector_fetch(x + (c->next + i) * stride, c->width);
}

static void load(const Chunk *c, const AttentionData *data, bool keys)
{
    FeatureRows rows = rows_of(c, data, keys);
    c->map->forward(&rows);
}

/* Where there are angles, turns features for the numerator, in place or as a copy. */
static void turn(const Chunk *c, real *above, const real *x)
{
    if (!c->angles)
        return;
    if (above != x)
        memcpy(above, x, c->rows * c->features * sizeof(real));
    for (size_t i = 0; i < c->rows; i++)
        rotary_turn(above + i * c->features, c->angles + (c->start + i) * c->features,
                    c->features, false);
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

static void add_keys(real *z, const Chunk *c)
{
    for (size_t i = 0; i < c->rows; i++)
        vector_add_scaled(z, c->k + i * c->features, 1, c->features);
}

/* Makes weights of the products in P, and denominators of their sums. */
static void weigh_pairs(const Chunk *c, real *n, real *z)
{
    for (size_t i = 0; i < c->rows; i++)
        n[i] = c->map->weigh(c->p.at + i * c->p.stride, i + 1) +
               vector_dot(c->q + i * c->features, z, c->features);
    add_keys(z, c);
}

static void divide(const Chunk *c, const AttentionData *data, real *n)
{
    size_t stride = c->head->stride, out_stride = c->head->out_stride;
    for (size_t i = 0; i < c->rows; i++) {
        fetch_next(c, data->v, stride, i);
        fetch_next(c, data->out, out_stride, i);
        n[i] += c->map->epsilon;
        real inverse = 1 / n[i];
        real *restrict y = data->out + (c->start + i) * out_stride;
        for (size_t j = 0; j < c->width; j++)
            y[j] *= inverse;
    }
}

/* Takes S from the chunk's start to its end: S += K^T V. */
static void advance(real *s, const Chunk *c, const AttentionData *data)
{
    size_t stride = c->head->stride;
    gemm(c->features, c->width, c->rows, 1, transposed(c->k_above, c->features),
         plain(data->v + c->start * stride, stride), GEMM_ADD, s, c->width);
}

static void chunk_forward(const Chunk *c, const AttentionData *data, real *n)
{
    const AttentionHead *head = c->head;
    const FeatureMap *map = c->map;
    size_t width = c->width, features = c->features;
    real *s = c->states, *z = s + features * width;
    real *out = data->out + c->start * head->out_stride;
    load(c, data, false);
    load(c, data, true);
    if (map->share)
        map->share(c->q_above, z, c->q, c->k, c->rows, features);
    else if (!map->weigh)
        sum_rows(n, z, c->q, c->k, c->rows, features);
    turn(c, c->q_above, c->q);
    turn(c, c->k_above, c->k);
    /* P = tril(Q K^T) */
    triangle_product(c->p, plain(c->q_above, features), plain(c->k_above, features),
                     c->leading);
    if (map->weigh)
        weigh_pairs(c, n, z);
    /* O = Q S */
    spans_product(spans_start_from_zeros(c->head, c->start), c->rows, width, features,
                  plain(c->q_above, features), plain(s, width), out, head->out_stride);
    /* O += P V */
    triangle_add(out, head->out_stride, c->p,
                 plain(data->v + c->start * head->stride, head->stride), width);
    if (!map->share)
        divide(c, data, n);
    if (c->head->carries || !spans_end_unread(c->head, c->start + c->rows))
        advance(s, c, data);
}

void features_forward(const AttentionData *data, const AttentionHead *head)
{
    Saved saved = saved_of(data->saved, head);
    Chunk c = chunk_of(data->scratch, head, false);
    spans_carry_in(&saved.states, data, c.states);
    for (size_t start = 0; start < head->length; start += CHUNK) {
        move_to(&c, start, start_after(&c, start));
        spans_keep(&saved.states, start, c.states);
        chunk_forward(&c, data, saved.denominators + start);
    }
    spans_carry_out(&saved.states, data, c.states);
}

/* --- backward --- */

/* y = o / n:  do = dy / n,  dn = -(dy . y) / n.  Without a division, do is dy. */
static void divide_backward(const Chunk *c, const AttentionData *data, const real *n)
{
    size_t width = c->width, stride = c->head->out_stride;
    for (size_t i = 0; i < c->rows; i++) {
        size_t at = (c->start + i) * stride;
        const real *dy = data->dout + at;
        fetch_next(c, data->dout, stride, i);
        fetch_next(c, data->out, stride, i);
        real *restrict gradient = c->dout + i * width;
        real inverse = c->map->share ? 1 : 1 / n[i];
        for (size_t j = 0; j < width; j++)
            gradient[j] = dy[j] * inverse;
        if (!c->map->share)
            c->dn[i] = -vector_dot(dy, data->out + at, width) * inverse;
    }
}

/* P once more, and A: the gradient of the products that P is made of. */
static void pairs_backward(const Chunk *c, Factor dout, Factor v)
{
    size_t features = c->features;
    triangle_product(c->p, plain(c->q_above, features), plain(c->k_above, features),
                     c->leading);
    triangle_product(c->a, dout, v, c->width);
    for (size_t i = 0; c->map->weigh && i < c->rows; i++)
        c->map->weigh_backward(c->p.at + i * c->p.stride, c->a.at + i * c->a.stride, c->dn[i],
                               i + 1);
}

static void products_backward(const Chunk *c, const AttentionData *data, const real *s)
{
    size_t width = c->width, features = c->features, stride = c->head->stride, rows = c->rows;
    bool unread = spans_end_unread(c->head, c->start + c->rows);
    real *ds = c->dstate, *dv = data->dv + c->start * stride;
    Factor q = plain(c->q_above, features), k = plain(c->k_above, features);
    Factor dout = plain(c->dout, width), v = plain(data->v + c->start * stride, stride);
    pairs_backward(c, dout, v);
    /* dQ = dO S^T + A K */
    spans_product(spans_start_from_zeros(c->head, c->start), rows, features, width, dout,
                  transposed(s, width), c->dq, features);
    triangle_add(c->dq, features, c->a, k, c->leading);
    /* dK = V dS^T + A^T Q */
    spans_product(unread, rows, features, width, v, transposed(ds, width), c->dk, features);
    triangle_transposed_add(c->dk, features, c->a, q, c->leading);
    /* dV = K dS + P^T dO */
    spans_product(unread, rows, width, features, k, plain(ds, width), dv, stride);
    triangle_transposed_add(dv, stride, c->p, dout, width);
    /* dS += Q^T dO */
    if (c->start > 0)
        gemm(features, width, rows, 1, transposed(c->q_above, features), dout, GEMM_ADD, ds,
             width);
}

/* n_i = q_i . z_i with z_i the sum of k_j up to i:  dq_i += dn_i z_i, and k_j gets the sum of
 * dn_i q_i from j on, which runs backwards across chunks in dz. */
static void sums_backward(const Chunk *c)
{
    size_t features = c->features;
    real *dz = c->dstate + features * c->width;
    for (size_t i = 0; i < c->rows; i++) {
        vector_add_scaled(c->z, c->k + i * features, 1, features);
        vector_add_scaled(c->dq + i * features, c->z, c->dn[i], features);
    }
    for (size_t i = c->rows; i-- > 0;) {
        vector_add_scaled(dz, c->q + i * features, c->dn[i], features);
        vector_add_scaled(c->dk + i * features, dz, 1, features);
    }
}

/* The same where z_i is the sum before the chunk: pairs inside have had their dn. */
static void sums_before_backward(const Chunk *c)
{
    size_t features = c->features;
    real *dz = c->dstate + features * c->width;
    for (size_t i = 0; i < c->rows; i++) {
        vector_add_scaled(c->dq + i * features, c->z, c->dn[i], features);
        vector_add_scaled(c->dk + i * features, dz, 1, features);
    }
    for (size_t i = 0; i < c->rows; i++)
        vector_add_scaled(dz, c->q + i * features, c->dn[i], features);
}

static void denominators_backward(const Chunk *c, const real *z_at_start)
{
    memcpy(c->z, z_at_start, c->features * sizeof(real));
    if (c->map->share)
        c->map->share_backward(c->dq, c->dk, c->dstate + c->features * c->width, c->q_above,
                               c->z, c->k, c->rows, c->features);
    else if (c->map->weigh)
        sums_before_backward(c);
    else
        sums_backward(c);
}

static void chunk_backward(const Chunk *c, const AttentionData *data, const real *n,
                           const real *state)
{
    size_t features = c->features;
    const real *z = state + features * c->width;
    load(c, data, false);
    load(c, data, true);
    if (c->map->share) {
        memcpy(c->z, z, features * sizeof(real));
        c->map->share(c->q_above, c->z, c->q, c->k, c->rows, features);
    }
    turn(c, c->q_above, c->q);
    turn(c, c->k_above, c->k);
    divide_backward(c, data, n);
    products_backward(c, data, state);
    for (size_t i = 0; c->angles && i < c->rows; i++) {
        const real *angles = c->angles + (c->start + i) * features;
        rotary_turn(c->dq + i * features, angles, features, true);
        rotary_turn(c->dk + i * features, angles, features, true);
    }
    denominators_backward(c, z);
    FeatureRows queries = rows_of(c, data, false), keys = rows_of(c, data, true);
    c->map->backward(&queries);
    c->map->backward(&keys);
}

/* The states at the starts of a span's chunks, from the one that forward has left. */
static void compute_states(Chunk *c, const AttentionData *data, const Spans *spans, Span span)
{
    size_t size = spans->state;
    real *state = c->states;
    spans_fetch(spans, span.first, state);
    for (size_t start = span.first; start + CHUNK < span.end; start += CHUNK, state += size) {
        move_to(c, start, start_after(c, start));
        load(c, data, true);
        memcpy(state + size, state, size * sizeof(real));
        add_keys(state + 2 * size - c->features, c);
        turn(c, c->k_above, c->k);
        advance(state + size, c, data);
    }
}

void features_backward(const AttentionData *data, const AttentionHead *head)
{
    size_t size = features_state_reals(head);
    Saved saved = saved_of(data->saved, head);
    Chunk c = chunk_of(data->scratch, head, true);
    vector_zero(c.dstate, size);
    for (size_t index = spans_count(&saved.states); index-- > 0;) {
        Span span = spans_span(&saved.states, index);
        compute_states(&c, data, &saved.states, span);
        for (size_t chunk = span.chunks; chunk-- > 0;) {
            size_t start = span.first + chunk * CHUNK;
            move_to(&c, start, start ? start - CHUNK : head->length);
            chunk_backward(&c, data, saved.denominators + c.start, c.states + chunk * size);
        }
    }
}

/* --- decoding: the recurrent form --- */

void features_step(const AttentionData *data, real *state, size_t position,
                   const AttentionHead *head)
{
    (void)position;
    AttentionHead one = *head;
    one.length = 1;
    Chunk c = chunk_of(data->scratch, &one, false);
    move_to(&c, 0, 1);
    load(&c, data, false);
    load(&c, data, true);
    real *s = state, *z = s + c.features * c.width, n = 1;
    if (c.map->share)
        c.map->share(c.q_above, z, c.q, c.k, 1, c.features);
    else
        sum_rows(&n, z, c.q, c.k, 1, c.features);
    real inverse = 1 / (n + c.map->epsilon);
    turn(&c, c.q_above, c.q);
    turn(&c, c.k_above, c.k);
    vector_zero(data->out, c.width);
    for (size_t i = 0; i < c.features; i++) {
        vector_add_scaled(s + i * c.width, data->v, c.k_above[i], c.width);
        vector_add_scaled(data->out, s + i * c.width, c.q_above[i] * inverse, c.width);
    }
}
