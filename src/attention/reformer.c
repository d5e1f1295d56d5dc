/* LSH attention (the Reformer of Kitaev et al. 2020), made exactly causal. Keys are the queries
 * at length 1, k_j = q_j / |q_j|, and a position looks only at some that probably point its
 * way. These are found by hashing, in a few rounds, each with random directions R_r of its own:
 *
 *   h_r(i) = argmax of (q_i R_r, -q_i R_r)         the bucket
 *   A_i^r  = the last `near` positions j < i with h_r(j) = h_r(i), or i itself if there is none
 *   s_ij   = q_i . k_j / sqrt(D)
 *   o_i    = sum over r and j in A_i^r of exp(s_ij) v_j  /  the same sum of exp(s_ij)
 *
 * Softmax round by round, and the rounds weighted by their sums, is this one softmax: what
 * several rounds have found counts as often. So a row carries its largest score and its sum
 * from round to round, and backward needs but the logarithm of the whole sum, lse:
 *
 *   p_ij = exp(s_ij - lse_i)         ds_ij = p_ij (do_i . v_j - do_i . o_i)
 *   dv_j = sum of p_ij do_i          dq_i = sum of ds_ij k_j / sqrt(D)
 *   dk_j = sum of ds_ij q_i / sqrt(D), and through it dq_j += (dk_j - k_j (k_j . dk_j)) / |q_j|
 *
 * Hashes have no gradient. With g_ij = ds_ij / (sqrt(D) |q_j|) the first three sums over the
 * vectors q are G Q and G^T Q, and the last term is q_j / |q_j|^2 times the sum of
 * g_ij (q_i . q_j): all there is to keep for it is one number a position.
 *
 * The paper sorts positions by bucket and cuts the sorted row into chunks. Then the number of
 * later positions in lower buckets decides where the cuts fall, and so what the past sees. Here
 * the tiles of queries begin anew in every bucket, and the last is filled up with zeros: a
 * position's tile, and its place there, depend on how many earlier positions share its bucket,
 * on nothing else, and not even the rounding knows the future. A tile's keys are its own rows
 * and the `near` before it: a band that two small products serve.
 *
 * The directions see q before the rotary angles do; the angles then turn q, and k with it. */
#include "src/attention/rows.h"
#include "src/attention/running.h"
#include "src/attention/turned.h"
#include "src/gemm.h"

#define TILE    ((size_t)28) /* two strips of gemm's kernel */
#define EPSILON ((real)1e-6) /* of |q|^2, as a key of length 0 has no direction */

/* --- sizes --- */

static size_t near_of(const AttentionHead *head)
{
    return head->options->near < head->length ? head->options->near : head->length;
}

/* The directions of all rounds: half as many as buckets, as each has an opposite. */
static size_t directions(const AttentionHead *head)
{
    return head->options->hashes * (head->options->buckets / 2);
}

static size_t own_reals(const AttentionHead *head)
{
    return directions(head) * head->width; /* (directions, D) */
}

static void start_own(real *own, const AttentionHead *head, RandomKey key)
{
    for (size_t i = 0; i < own_reals(head); i++)
        own[i] = (real)random_normal(key, i);
}

/* Indexes live among the reals. */
static size_t reals_for_indexes(size_t count)
{
    return (count * sizeof(int32_t) + sizeof(real) - 1) / sizeof(real);
}

static int32_t *take_indexes(Supply *supply, size_t count)
{
    return (int32_t *)(void *)supply_take(supply, reals_for_indexes(count));
}

/* --- hashing --- */

static int32_t bucket_of(const real *projections, size_t half)
{
    size_t best = 0;
    for (size_t i = 1; i < half; i++)
        if (fabs(projections[i]) > fabs(projections[best]))
            best = i;
    return (int32_t)(projections[best] < 0 ? half + best : best);
}

/* The bucket of a position in every round, `stride` apart. Forward and decoding both come here,
 * so that they agree to the bit. */
static void hash(int32_t *buckets, size_t stride, real *projections, const real *q,
                 const real *own, const AttentionHead *head)
{
    size_t half = head->options->buckets / 2;
    for (size_t i = 0; i < directions(head); i++)
        projections[i] = vector_dot(own + i * head->width, q, head->width);
    for (size_t round = 0; round < head->options->hashes; round++)
        buckets[round * stride] = bucket_of(projections + round * half, half);
}

/* Forward leaves the logarithm of every row's sum, and the buckets. */
typedef struct Saved {
    real *lse;        /* (T) */
    int32_t *buckets; /* (hashes, T) */
} Saved;

static Saved take_saved(Supply *supply, const AttentionHead *head)
{
    Saved saved = {.lse = supply_take(supply, head->length)};
    saved.buckets = take_indexes(supply, head->options->hashes * head->length);
    return saved;
}

static size_t saved_reals(const AttentionHead *head)
{
    Supply supply = {NULL, 0};
    take_saved(&supply, head);
    return supply.used;
}

static Saved saved_of(real *saved, const AttentionHead *head)
{
    Supply supply = {saved, 0};
    return take_saved(&supply, head);
}

/* --- memory --- */

/* One bucket of a round at work. Rows are its positions in the order of time, and before the
 * end of the last tile zeros. */
typedef struct Bucket {
    const AttentionHead *head;
    size_t near;
    size_t count;         /* positions, */
    const int32_t *order; /* these */
    real *q, *v;          /* (rows, D), q turned */
    real *scale;          /* (rows) 1 / (sqrt(D) |q|): s_ij is q_i . q_j times that of j */
    real *dq, *dv;        /* (rows, D) */
    real *along;          /* (rows) sum of g_ij (q_i . q_j) */
    real *p, *dp;         /* (TILE, near + TILE) */
    real *tile;           /* (TILE, D) of the output, or of its gradient */
} Bucket;

typedef struct Scratch {
    Bucket bucket;
    real *row_max;     /* (T) forward's largest scores, */
    real *row_product; /* the same memory: backward's do . o */
    real *projections;
    int32_t *order;  /* (T) positions by bucket, and in a bucket by time */
    int32_t *starts; /* (buckets + 2) each bucket's first place in it */
} Scratch;

static Bucket take_bucket(Supply *supply, const AttentionHead *head)
{
    Bucket b = {.head = head, .near = near_of(head)};
    size_t rows = (head->length + TILE - 1) / TILE * TILE, panel = TILE * (b.near + TILE);
    b.q = supply_take(supply, rows * head->width);
    b.v = supply_take(supply, rows * head->width);
    b.dq = supply_take(supply, rows * head->width);
    b.dv = supply_take(supply, rows * head->width);
    b.scale = supply_take(supply, rows);
    b.along = supply_take(supply, rows);
    b.p = supply_take(supply, panel);
    b.dp = supply_take(supply, panel);
    b.tile = supply_take(supply, TILE * head->width);
    return b;
}

static Scratch take_scratch(Supply *supply, const AttentionHead *head)
{
    Scratch s = {.bucket = take_bucket(supply, head)};
    s.row_max = s.row_product = supply_take(supply, head->length);
    s.projections = supply_take(supply, directions(head));
    s.order = take_indexes(supply, head->length);
    s.starts = take_indexes(supply, head->options->buckets + 2);
    return s;
}

static Scratch scratch_of(real *scratch, const AttentionHead *head)
{
    Supply supply = {scratch, 0};
    return take_scratch(&supply, head);
}

/* Of a step: what it sees in all rounds. */
typedef struct Sight {
    real *q, *projections;
    real *p;          /* the weights of those seen */
    int32_t *seen;    /* their positions */
    int32_t *buckets; /* (hashes) */
} Sight;

static Sight take_sight(Supply *supply, const AttentionHead *head)
{
    size_t near = near_of(head), most = head->options->hashes * (near ? near : 1);
    Sight s = {.q = supply_take(supply, head->width)};
    s.projections = supply_take(supply, directions(head));
    s.p = supply_take(supply, most);
    s.seen = take_indexes(supply, most);
    s.buckets = take_indexes(supply, head->options->hashes);
    return s;
}

static size_t scratch_reals(const AttentionHead *head)
{
    Supply whole = {NULL, 0}, step = {NULL, 0};
    take_scratch(&whole, head);
    take_sight(&step, head);
    return whole.used > step.used ? whole.used : step.used;
}

/* --- buckets --- */

/* Sorts by counting; positions of a bucket stay in order. What is counted two places further on
 * is the bucket's end after summing and its start after the positions have been placed. */
static void sort_round(const Scratch *s, const int32_t *buckets, const AttentionHead *head)
{
    size_t count = head->options->buckets;
    memset(s->starts, 0, (count + 2) * sizeof *s->starts);
    for (size_t i = 0; i < head->length; i++)
        s->starts[buckets[i] + 2]++;
    for (size_t i = 2; i < count + 2; i++)
        s->starts[i] += s->starts[i - 1];
    for (size_t i = 0; i < head->length; i++)
        s->order[s->starts[buckets[i] + 1]++] = (int32_t)i;
}

/* 1 / (sqrt(D) |q|) */
static real scale_of(const real *q, size_t width)
{
    real square = vector_dot(q, q, width) + EPSILON;
    return 1 / (real)sqrt((double)square * (double)width);
}

static void load_bucket(Bucket *b, const Scratch *s, size_t index, const real *q, const real *v)
{
    size_t width = b->head->width, stride = b->head->stride, first = (size_t)s->starts[index];
    b->order = s->order + first;
    b->count = (size_t)s->starts[index + 1] - first;
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

/* Some queries of a bucket, and the keys that any of them sees. */
typedef struct Tile {
    size_t query, queries; /* the first row, and how many */
    size_t key, keys;      /* those `near` before, as far as there are any, and the queries' */
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

/* P = Q Q^T, of the queries and the keys */
static void products(const Bucket *b, const Tile *t)
{
    size_t width = b->head->width;
    gemm(t->queries, t->keys, width, 1, plain(b->q + t->query * width, width),
         transposed(b->q + t->key * width, width), GEMM_SET, b->p, t->keys);
}

/* What a query sees, as a range of the tile's keys. */
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

/* From products to weights under the largest score of this and earlier rounds; what those have
 * summed is brought under the same. */
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

/* Products of one shape for all tiles at the same place, however many queries there are: other
 * shapes might round otherwise. */
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
    real *sum = saved.lse, *max = s.row_max, *out = data->out;
    for (size_t i = 0; i < length; i++) {
        hash(saved.buckets + i, length, s.projections, data->q + i * head->stride, data->own,
             head);
        running_start(&max[i], &sum[i]);
        vector_zero(out + i * head->out_stride, width);
    }
    for (size_t round = 0; round < head->options->hashes; round++) {
        sort_round(&s, saved.buckets + round * length, head);
        for (size_t index = 0; index < head->options->buckets; index++) {
            load_bucket(&s.bucket, &s, index, data->q, data->v);
            forward_bucket(&s.bucket, out, max, sum);
        }
    }
    for (size_t i = 0; i < length; i++) {
        real *row = out + i * head->out_stride, share = 1 / sum[i];
        for (size_t j = 0; j < width; j++)
            row[j] *= share;
        sum[i] = max[i] + (real)log((double)sum[i]); /* and is the lse from here on */
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

/* The gradients of the bucket's rows, from the tile's. */
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

/* Adds a bucket's gradients to those of its positions. The length of a key is 1 whatever that
 * of q, so the part along q goes: its sum times q / |q|^2. */
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
    rows_zero(data->dk, stride, length, width); /* keys are made of q */
    rows_zero(data->dv, stride, length, width);
    for (size_t round = 0; round < head->options->hashes; round++) {
        sort_round(&s, saved.buckets + round * length, head);
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

/* Decoding keeps keys and values of all positions, and for every round which position came
 * before each in its bucket, and which is each bucket's latest. They count from 1: 0 is none.
 */
typedef struct State {
    real *keys, *values; /* (T, D), keys with 1 / sqrt(D) in them */
    int32_t *latest;     /* (hashes, buckets) */
    int32_t *earlier;    /* (hashes, T) */
} State;

static State take_state(Supply *supply, const AttentionHead *head)
{
    size_t hashes = head->options->hashes;
    State s = {.keys = supply_take(supply, head->length * head->width)};
    s.values = supply_take(supply, head->length * head->width);
    s.latest = take_indexes(supply, hashes * head->options->buckets);
    s.earlier = take_indexes(supply, hashes * head->length);
    return s;
}

static size_t state_reals(const AttentionHead *head)
{
    Supply supply = {NULL, 0};
    take_state(&supply, head);
    return supply.used;
}

/* Lists what a position sees in a round, and makes it the latest of its bucket. */
static size_t list_seen(int32_t *seen, int32_t *latest, int32_t *earlier, size_t position,
                        size_t near)
{
    size_t count = 0;
    for (int32_t next = *latest; next && count < near; next = earlier[next - 1])
        seen[count++] = next - 1;
    if (count == 0)
        seen[count++] = (int32_t)position;
    earlier[position] = *latest;
    *latest = (int32_t)position + 1;
    return count;
}

static size_t list_all_seen(const Sight *sight, const State *state, size_t position,
                            const AttentionHead *head)
{
    size_t count = 0, buckets = head->options->buckets;
    for (size_t round = 0; round < head->options->hashes; round++) {
        int32_t *latest = state->latest + round * buckets + (size_t)sight->buckets[round];
        count += list_seen(sight->seen + count, latest, state->earlier + round * head->length,
                           position, near_of(head));
    }
    return count;
}

static void step(const AttentionData *data, real *state, size_t position,
                 const AttentionHead *head)
{
    size_t width = head->width;
    Supply in_state = {state, 0}, in_scratch = {data->scratch, 0};
    State s = take_state(&in_state, head);
    Sight sight = take_sight(&in_scratch, head);
    real *p = sight.p, *key = s.keys + position * width, scale = scale_of(data->q, width);
    turned_copy(sight.q, data->q, 0, head);
    for (size_t i = 0; i < width; i++)
        key[i] = sight.q[i] * scale;
    memcpy(s.values + position * width, data->v, width * sizeof(real));
    hash(sight.buckets, 1, sight.projections, data->q, data->own, head);
    size_t count = list_all_seen(&sight, &s, position, head);
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

/* For each round two products with what is near, and the hashes. */
static double flop(const AttentionHead *head)
{
    double near = (double)near_of(head), width = (double)head->width;
    return (double)head->length * width *
           (4 * (double)head->options->hashes * near + 2 * (double)directions(head));
}

const AttentionKind attention_reformer = {
    .name = "reformer",
    .help = "softmax over a few earlier positions that hash alike; keys are made of q",
    .cost = "hashes near D",
    .uses = "hashes buckets near",
    .normalised = true,
    .turns_itself = true,
    .carry = CARRY_NEVER,
    .saved_reals = saved_reals,
    .scratch_reals = scratch_reals,
    .state_reals = state_reals,
    .own_reals = own_reals,
    .start_own = start_own,
    .own_is_drawn = true,
    .flop = flop,
    .forward = forward,
    .backward = backward,
    .step = step,
};
