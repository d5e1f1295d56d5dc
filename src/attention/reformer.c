/* LSH attention (Reformer, Kitaev et al. 2020), made exactly causal. Keys are the normalised
 * queries, k_j = q_j / |q_j|, and a position attends only to some that probably point its way.
 * Hashing finds them in a few rounds, each with its own random directions R_r:
 *
 *   h_r(i) = argmax of (q_i R_r, -q_i R_r)         the bucket
 *   A_i^r  = the last `near` positions j < i with h_r(j) = h_r(i), or i itself if there is none
 *   s_ij   = q_i . k_j / sqrt(D)
 *   o_i    = sum over r and j in A_i^r of exp(s_ij) v_j  /  the same sum of exp(s_ij)
 *
 * This is the paper's softmax per round with rounds weighted by their sums: a key found in
 * several rounds counts several times. So a row carries its largest score and its sum from
 * round to round, and backward needs only the logarithm of the final sum, lse:
 *
 *   p_ij = exp(s_ij - lse_i)         ds_ij = p_ij (do_i . v_j - do_i . o_i)
 *   dv_j = sum of p_ij do_i          dq_i = sum of ds_ij k_j / sqrt(D)
 *   dk_j = sum of ds_ij q_i / sqrt(D), and through it dq_j += (dk_j - k_j (k_j . dk_j)) / |q_j|
 *
 * Hashes have no gradient. With g_ij = ds_ij / (sqrt(D) |q_j|) the sums over q are G Q and
 * G^T Q, and the last term is q_j / |q_j|^2 times the sum of g_ij (q_i . q_j), one number per
 * position.
 *
 * The paper sorts positions by bucket and cuts the sorted row into chunks. There, the number of
 * later positions in lower buckets moves the cuts, and so what earlier positions see. Here the
 * tiles of queries start anew in every bucket, and the last one is padded with zeros: a
 * position's tile and row depend only on how many earlier positions share its bucket, so not
 * even rounding depends on the future. A tile's keys are its own rows and the `near` before it.
 *
 * Hashing uses q before RoPE; RoPE then rotates q, and k with it. */
#include "src/attention/buckets.h"
#include "src/attention/rows.h"
#include "src/attention/running.h"
#include "src/attention/turned.h"
#include "src/gemm.h"

#define TILE    ((size_t)28) /* two strips of gemm's AVX-512 kernel */
#define EPSILON ((real)1e-6) /* added to |q|^2: a zero key has no direction */

/* --- memory --- */

static size_t near_of(const AttentionHead *head)
{
    return head->options->near < head->length ? head->options->near : head->length;
}

/* Forward saves every row's lse, and the buckets. */
typedef struct Saved {
    real *lse;        /* (T) */
    int32_t *buckets; /* (hashes, T) */
} Saved;

static Saved take_saved(Arena *arena, const AttentionHead *head)
{
    Saved saved = {.lse = arena_reals(arena, head->length)};
    saved.buckets = buckets_take_indexes(arena, head->options->hashes * head->length);
    return saved;
}

static Saved saved_of(real *saved, const AttentionHead *head)
{
    Arena arena = arena_over(saved);
    return take_saved(&arena, head);
}

/* The current bucket of a round. Rows are its positions in the order of time, padded with zeros
 * to the end of the last tile. */
typedef struct Bucket {
    const AttentionHead *head;
    size_t near;
    size_t count;         /* positions, */
    const int32_t *order; /* these */
    real *q, *v;          /* (rows, D), q rotated */
    real *scale;          /* (rows) 1 / (sqrt(D) |q|): s_ij is q_i . q_j times that of j */
    real *dq, *dv;        /* (rows, D) */
    real *along;          /* (rows) sum of g_ij (q_i . q_j) */
    real *p, *dp;         /* (TILE, near + TILE) */
    real *tile;           /* (TILE, D) of the output, or of its gradient */
} Bucket;

typedef struct Scratch {
    Bucket bucket;
    real *row_max;     /* (T) forward's largest scores, */
    real *row_product; /* backward: do . o, in the same memory */
    real *projections;
    SortedBuckets sorted;

    /* what a decoding step sees in all rounds */
    real *q;
    real *p;          /* the weights of the visible positions */
    int32_t *seen;    /* the visible positions */
    int32_t *buckets; /* (hashes) */
} Scratch;

static Bucket take_bucket(Arena *arena, const AttentionHead *head)
{
    Bucket b = {.head = head, .near = near_of(head)};
    size_t rows = (head->length + TILE - 1) / TILE * TILE, panel = TILE * (b.near + TILE);
    ROWS_TAKE(arena, rows * head->width, &b.q, &b.v, &b.dq, &b.dv);
    ROWS_TAKE(arena, rows, &b.scale, &b.along);
    ROWS_TAKE(arena, panel, &b.p, &b.dp);
    b.tile = arena_reals(arena, TILE * head->width);
    return b;
}

static Scratch take_scratch(Arena *arena, const AttentionHead *head)
{
    Scratch s = {.bucket = take_bucket(arena, head)};
    size_t near = near_of(head), most = head->options->hashes * (near ? near : 1);
    s.row_max = s.row_product = arena_reals(arena, head->length);
    s.projections = arena_reals(arena, buckets_directions(head));
    s.sorted = buckets_take_sorted(arena, head);
    s.q = arena_reals(arena, head->width);
    s.p = arena_reals(arena, most);
    s.seen = buckets_take_indexes(arena, most);
    s.buckets = buckets_take_indexes(arena, head->options->hashes);
    return s;
}

static Scratch scratch_of(real *scratch, const AttentionHead *head)
{
    Arena arena = arena_over(scratch);
    return take_scratch(&arena, head);
}

/* Decoding keeps keys and values of all positions. */
typedef struct State {
    real *keys, *values; /* (T, D), keys with 1 / sqrt(D) in them */
    BucketChains chains;
} State;

static State take_state(Arena *arena, const AttentionHead *head)
{
    State s = {.chains = buckets_take_chains(arena, head)};
    ROWS_TAKE(arena, head->length * head->width, &s.keys, &s.values);
    return s;
}

static AttentionMemory memory(const AttentionHead *head)
{
    Arena saved = {0}, scratch = {0}, state = {0};
    take_saved(&saved, head);
    take_scratch(&scratch, head);
    take_state(&state, head);
    return (AttentionMemory){.saved = arena_used_reals(&saved),
                             .scratch = arena_used_reals(&scratch),
                             .state = arena_used_reals(&state)};
}

/* --- buckets --- */

/* 1 / (sqrt(D) |q|) */
static real scale_of(const real *q, size_t width)
{
    real square = vector_dot(q, q, width) + EPSILON;
    return 1 / (real)sqrt((double)square * (double)width);
}

static void load_bucket(Bucket *b, const Scratch *s, size_t index, const real *q, const real *v)
{
    size_t width = b->head->width, stride = b->head->stride;
    const int32_t *start = s->sorted.starts + index;
    b->order = s->sorted.order + start[0];
    b->count = (size_t)(start[1] - start[0]);
    for (size_t i = 0; i < b->count; i++) {
        size_t position = (size_t)b->order[i];
        b->scale[i] = scale_of(q + position * stride, width);
        turned_copy(b->q + i * width, q + position * stride, position, b->head);
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

static void clear_unseen(real *row, Seen seen, size_t keys)
{
    vector_zero(row, seen.first);
    vector_zero(row + seen.first + seen.count, keys - seen.first - seen.count);
}

/* --- forward --- */

/* Turns products into weights relative to the largest score of this and earlier rounds, and
 * rescales the sums of those. */
static void weigh_row(const Bucket *b, const Tile *t, size_t row, real *max, real *sum,
                      real *restrict out)
{
    Seen seen = seen_by(b, t, row);
    real *p = b->p + row * t->keys, *restrict scores = p + seen.first;
    const real *scale = b->scale + t->key + seen.first;
    for (size_t j = 0; j < seen.count; j++)
        scores[j] *= scale[j];
    real factor = running_absorb(scores, seen.count, max, sum);
    for (size_t i = 0; i < b->head->width; i++)
        out[i] *= factor;
    clear_unseen(p, seen, t->keys);
}

/* All tiles of a place have products of the same shape, for any number of queries: other shapes
 * could round differently. */
static void forward_bucket(const Bucket *b, real *out, real *max, real *sum)
{
    size_t width = b->head->width, stride = b->head->out_stride;
    for (size_t query = 0; query < b->count; query += TILE) {
        Tile t = tile_at(b, query, TILE);
        const int32_t *order = b->order + query;
        size_t queries = queries_left(b, query);
        products(b, &t);
        for (size_t i = 0; i < queries; i++) {
            size_t position = (size_t)order[i];
            weigh_row(b, &t, i, &max[position], &sum[position], out + position * stride);
        }
        /* O = P V; in rows without a query, P is zero already */
        gemm(TILE, width, t.keys, 1, plain(b->p, t.keys), plain(b->v + t.key * width, width),
             GEMM_SET, b->tile, width);
        for (size_t i = 0; i < queries; i++)
            vector_add_scaled(out + (size_t)order[i] * stride, b->tile + i * width, 1, width);
    }
}

static void forward(const AttentionData *data, const AttentionHead *head)
{
    size_t length = head->length, width = head->width;
    Saved saved = saved_of(data->saved, head);
    Scratch s = scratch_of(data->scratch, head);
    real *sum = saved.lse, *max = s.row_max, *out = data->out; /* the sums become the lse */
    for (size_t i = 0; i < length; i++) {
        buckets_hash(saved.buckets + i, length, s.projections, data->q + i * head->stride,
                     data->own, head);
        running_start(&max[i], &sum[i]);
        vector_zero(out + i * head->out_stride, width);
    }
    for (size_t round = 0; round < head->options->hashes; round++) {
        buckets_sort(&s.sorted, saved.buckets + round * length, head);
        for (size_t index = 0; index < head->options->buckets; index++) {
            load_bucket(&s.bucket, &s, index, data->q, data->v);
            forward_bucket(&s.bucket, out, max, sum);
        }
    }
    for (size_t i = 0; i < length; i++)
        running_finish(out + i * head->out_stride, width, max[i], &sum[i]);
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

static void backward_bucket(const Bucket *b, const AttentionData *data, const real *lse,
                            const real *output_products)
{
    size_t width = b->head->width;
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

static void backward(const AttentionData *data, const AttentionHead *head)
{
    size_t length = head->length, width = head->width, stride = head->stride;
    Saved saved = saved_of(data->saved, head);
    Scratch s = scratch_of(data->scratch, head);
    for (size_t i = 0; i < length; i++) {
        size_t row = i * head->out_stride;
        s.row_product[i] = vector_dot(data->dout + row, data->out + row, width);
    }
    rows_zero(data->dq, stride, length, width);
    rows_zero(data->dk, stride, length, width); /* keys are functions of q */
    rows_zero(data->dv, stride, length, width);
    for (size_t round = 0; round < head->options->hashes; round++) {
        buckets_sort(&s.sorted, saved.buckets + round * length, head);
        for (size_t index = 0; index < head->options->buckets; index++) {
            load_bucket(&s.bucket, &s, index, data->q, data->v);
            vector_zero(s.bucket.dq, s.bucket.count * width);
            vector_zero(s.bucket.dv, s.bucket.count * width);
            vector_zero(s.bucket.along, s.bucket.count);
            backward_bucket(&s.bucket, data, saved.lse, s.row_product);
            scatter(&s.bucket, data->dq, data->dv);
        }
    }
    for (size_t i = 0; i < length; i++)
        turn_back(data->dq + i * stride, i, head);
}

/* --- decoding --- */

static void step(const AttentionData *data, const AttentionHead *head)
{
    size_t width = head->width, position = head->position;
    Arena in_state = arena_over(data->carry);
    State s = take_state(&in_state, head);
    Scratch sight = scratch_of(data->scratch, head);
    real *p = sight.p, *key = s.keys + position * width, scale = scale_of(data->q, width);
    turned_copy(sight.q, data->q, 0, head);
    for (size_t i = 0; i < width; i++)
        key[i] = sight.q[i] * scale;
    memcpy(s.values + position * width, data->v, width * sizeof(real));
    buckets_hash(sight.buckets, 1, sight.projections, data->q, data->own, head);
    size_t count = buckets_follow(sight.seen, &s.chains, sight.buckets, position, near_of(head),
                                  head);
    for (size_t j = 0; j < count; j++)
        p[j] = vector_dot(sight.q, s.keys + (size_t)sight.seen[j] * width, width);
    real max, sum;
    running_start(&max, &sum);
    running_absorb(p, count, &max, &sum);
    vector_zero(data->out, width);
    for (size_t j = 0; j < count; j++)
        vector_add_scaled(data->out, s.values + (size_t)sight.seen[j] * width, p[j] / sum,
                          width);
}

/* Per round: two products with the near keys, and hashing. */
static double flop(const AttentionHead *head)
{
    double near = (double)near_of(head), width = (double)head->width;
    return (double)head->length * width *
           (4 * (double)head->options->hashes * near + 2 * (double)buckets_directions(head));
}

const AttentionKind attention_reformer = {
    .name = "reformer",
    .help = "Reformer: LSH attention over a few earlier positions of the same hash bucket",
    .cost = "hashes near D",
    .uses = "hashes buckets near",
    .normalised = true,
    .turns_itself = true,
    .carry = CARRY_NEVER,
    .memory = memory,
    .own_reals = buckets_own_reals,
    .start_own = buckets_start_own,
    .own_is_drawn = true,
    .flop = flop,
    .forward = forward,
    .backward = backward,
    .step = step,
};
