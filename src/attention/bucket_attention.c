#include "src/attention/bucket_attention.h"
#include "src/attention/online_softmax.h"
#include "src/attention/rows.h"
#include "src/math/gemm.h"

#define TILE    ((size_t)28) /* two strips of gemm's AVX-512 kernel */
#define EPSILON ((real)1e-6) /* added to |q|^2: a zero key has no direction */

size_t bucket_near(const AttentionHead *head)
{
    return head->options->near < head->length ? head->options->near : head->length;
}

Bucket bucket_lay_out(Arena *arena, const AttentionHead *head)
{
    Bucket b = {.head = head, .near = bucket_near(head)};
    size_t rows = (head->length + TILE - 1) / TILE * TILE, panel = TILE * (b.near + TILE);
    ARENA_REALS_EACH(arena, rows * head->width, &b.q, &b.v, &b.dq, &b.dv);
    ARENA_REALS_EACH(arena, rows, &b.scale, &b.along);
    ARENA_REALS_EACH(arena, panel, &b.p, &b.dp);
    b.tile = arena_reals(arena, TILE * head->width);
    return b;
}

real bucket_key_scale(const real *q, size_t width)
{
    real square = vector_dot(q, q, width) + EPSILON;
    return 1 / (real)sqrt((double)square * (double)width);
}

void bucket_load(Bucket *b, const int32_t *order, size_t count, const real *q, const real *v)
{
    size_t width = b->head->width, stride = b->head->stride;
    b->order = order;
    b->count = count;
    for (size_t i = 0; i < b->count; i++) {
        size_t position = (size_t)b->order[i];
        b->scale[i] = bucket_key_scale(q + position * stride, width);
        attention_rotated_copy(b->q + i * width, q + position * stride, position, b->head);
        memcpy(b->v + i * width, v + position * stride, width * sizeof *v);
    }
    size_t rest = (TILE - b->count % TILE) % TILE;
    vector_zero(b->q + b->count * width, rest * width);
    vector_zero(b->v + b->count * width, rest * width);
}

/* Queries of a bucket, and the keys that any of them sees. */
typedef struct Tile {
    size_t query, queries; /* the first row, and how many */
    size_t key, keys;      /* up to `near` rows before the queries, and the queries' */
} Tile;

static Tile tile_at(const Bucket *b, size_t query, size_t queries)
{
    size_t before = query < b->near ? query : b->near;
    return (Tile){query, queries, query - before, before + queries};
}

static size_t queries_left(const Bucket *b, size_t query)
{
    size_t left = b->count - query;
    return left < TILE ? left : TILE;
}

/* P = Q Q^T, queries by keys */
static void products(const Bucket *b, const Tile *t)
{
    size_t width = b->head->width;
    gemm(t->queries, t->keys, width, 1, plain(b->q + t->query * width, width),
         transposed(b->q + t->key * width, width), GEMM_SET, b->p, t->keys);
}

/* The range of the tile's keys that a query sees. */
typedef struct Seen {
    size_t first, count;
} Seen;

static Seen seen_by(const Bucket *b, const Tile *t, size_t row)
{
    size_t before = t->query + row, self = before - t->key;
    size_t count = before < b->near ? before : b->near;
    return count ? (Seen){self - count, count} : (Seen){self, 1};
}

/* row (keys) */
static void clear_unseen(real *row, Seen seen, size_t keys)
{
    vector_zero(row, seen.first);
    vector_zero(row + seen.first + seen.count, keys - seen.first - seen.count);
}

/* --- forward --- */

/* Turns products into weights relative to the largest score of this and earlier rounds, and
 * rescales the sums of those. */
static void products_to_weights(const Bucket *b, const Tile *t, size_t row, real *max,
                                real *sum, real *restrict out)
{
    Seen seen = seen_by(b, t, row);
    real *p = b->p + row * t->keys, *restrict scores = p + seen.first;
    const real *scale = b->scale + t->key + seen.first;
    for (size_t j = 0; j < seen.count; j++)
        scores[j] *= scale[j];
    real factor = online_softmax_absorb(scores, seen.count, max, sum);
    for (size_t i = 0; i < b->head->width; i++)
        out[i] *= factor;
    clear_unseen(p, seen, t->keys);
}

/* All tiles of a place have products of the same shape, for any number of queries: other shapes
 * could round differently. */
void bucket_forward(const Bucket *b, real *out, real *max, real *sum)
{
    size_t width = b->head->width, stride = b->head->out_stride;
    for (size_t query = 0; query < b->count; query += TILE) {
        Tile t = tile_at(b, query, TILE);
        const int32_t *order = b->order + query;
        size_t queries = queries_left(b, query);
        products(b, &t);
        for (size_t i = 0; i < queries; i++) {
            size_t position = (size_t)order[i];
            products_to_weights(b, &t, i, &max[position], &sum[position],
                                out + position * stride);
        }
        /* O = P V; in rows without a query, P is zero already */
        gemm(TILE, width, t.keys, 1, plain(b->p, t.keys), plain(b->v + t.key * width, width),
             GEMM_SET, b->tile, width);
        for (size_t i = 0; i < queries; i++)
            vector_add_scaled(out + (size_t)order[i] * stride, b->tile + i * width, 1, width);
    }
}

/* --- backward --- */

/* P holds q . q and becomes p; dP holds do . v and becomes g. */
static void backward_row(const Bucket *b, const Tile *t, size_t row, real lse,
                         real output_product)
{
    Seen seen = seen_by(b, t, row);
    real *p_row = b->p + row * t->keys, *g_row = b->dp + row * t->keys;
    real *restrict p = p_row + seen.first, *restrict g = g_row + seen.first;
    const real *restrict scale = b->scale + t->key + seen.first;
    real *restrict along = b->along + t->key + seen.first;
    for (size_t j = 0; j < seen.count; j++) {
        real product = p[j];
        p[j] = vector_exp(product * scale[j] - lse);
        g[j] = p[j] * (g[j] - output_product) * scale[j];
        along[j] += g[j] * product;
    }
    clear_unseen(p_row, seen, t->keys);
    clear_unseen(g_row, seen, t->keys);
}

/* Adds a tile's gradients to those of the bucket's rows. */
static void products_backward(const Bucket *b, const Tile *t)
{
    size_t width = b->head->width, keys = t->keys, queries = t->queries;
    const real *q = b->q + t->query * width, *k = b->q + t->key * width;
    /* dV += P^T dO */
    gemm(keys, width, queries, 1, transposed(b->p, keys), plain(b->tile, width), GEMM_ADD,
         b->dv + t->key * width, width);
    /* dQ += G Q, as queries */
    gemm(queries, width, keys, 1, plain(b->dp, keys), plain(k, width), GEMM_ADD,
         b->dq + t->query * width, width);
    /* dQ += G^T Q, as keys */
    gemm(keys, width, queries, 1, transposed(b->dp, keys), plain(q, width), GEMM_ADD,
         b->dq + t->key * width, width);
}

/* Adds a bucket's gradients to those of its positions. A key's norm is 1 whatever q is, so the
 * component along q is removed: its sum times q / |q|^2. */
static void scatter(const Bucket *b, real *dq, real *dv)
{
    size_t width = b->head->width, stride = b->head->stride;
    for (size_t i = 0; i < b->count; i++) {
        size_t position = (size_t)b->order[i];
        real inverse_square = b->scale[i] * b->scale[i] * (real)width;
        real *to = dq + position * stride;
        vector_add_scaled(to, b->dq + i * width, 1, width);
        vector_add_scaled(to, b->q + i * width, -inverse_square * b->along[i], width);
        vector_add_scaled(dv + position * stride, b->dv + i * width, 1, width);
    }
}

void bucket_backward(const Bucket *b, const AttentionData *data, const real *lse,
                     const real *output_products)
{
    size_t width = b->head->width;
    vector_zero(b->dq, b->count * width);
    vector_zero(b->dv, b->count * width);
    vector_zero(b->along, b->count);
    for (size_t query = 0; query < b->count; query += TILE) {
        Tile t = tile_at(b, query, queries_left(b, query));
        const int32_t *order = b->order + query;
        for (size_t i = 0; i < t.queries; i++)
            memcpy(b->tile + i * width, data->dout + (size_t)order[i] * b->head->out_stride,
                   width * sizeof(real));
        products(b, &t);
        /* dP = dO V^T */
        gemm(t.queries, t.keys, width, 1, plain(b->tile, width),
             transposed(b->v + t.key * width, width), GEMM_SET, b->dp, t.keys);
        for (size_t i = 0; i < t.queries; i++)
            backward_row(b, &t, i, lse[order[i]], output_products[order[i]]);
        products_backward(b, &t);
    }
    scatter(b, data->dq, data->dv);
}
