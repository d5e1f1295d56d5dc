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
 * later positions in lower buckets moves the cuts, and so what earlier positions see. Here
 * every bucket is computed by itself (bucket_attention.h).
 *
 * Hashing uses q before RoPE; RoPE then rotates q, and k with it. */
#include "src/attention/bucket_attention.h"
#include "src/attention/online_softmax.h"
#include "src/attention/rows.h"

/* --- hashing --- */

/* The number of random directions in all rounds: half the buckets, since each direction has an
 * opposite. They are the head's own parameters, (directions, D), not trained. */
static size_t directions(const AttentionHead *head)
{
    return head->options->hashes * (head->options->buckets / 2);
}

static size_t param_count(const AttentionHead *head)
{
    return directions(head) * head->width;
}

static void start_params(real *params, const AttentionHead *head, RandomKey key)
{
    for (size_t i = 0; i < param_count(head); i++)
        params[i] = (real)random_normal(key, i);
}

/* The bucket of a round: projections (half). */
static int32_t bucket_of(const real *projections, size_t half)
{
    size_t best = 0;
    for (size_t i = 1; i < half; i++)
        if (fabs(projections[i]) > fabs(projections[best]))
            best = i;
    return (int32_t)(projections[best] < 0 ? half + best : best);
}

/* Computes the bucket of a position in every round, `stride` apart. Forward and decoding share
 * this function, so they agree to the bit. Projections are scratch, one per direction. */
static void hash(int32_t *buckets, size_t stride, real *projections, const real *q,
                 const real *params, const AttentionHead *head)
{
    size_t half = head->options->buckets / 2;
    for (size_t i = 0; i < directions(head); i++)
        projections[i] = vector_dot(params + i * head->width, q, head->width);
    for (size_t round = 0; round < head->options->hashes; round++)
        buckets[round * stride] = bucket_of(projections + round * half, half);
}

/* --- memory --- */

static int32_t *lay_out_indexes(Arena *arena, size_t count)
{
    return arena_bytes(arena, count, sizeof(int32_t));
}

/* Forward saves every row's lse, and the buckets. */
typedef struct Saved {
    real *lse;        /* (T) */
    int32_t *buckets; /* (hashes, T) */
} Saved;

static Saved lay_out_saved(Arena *arena, const AttentionHead *head)
{
    Saved saved = {.lse = arena_reals(arena, head->length)};
    saved.buckets = lay_out_indexes(arena, head->options->hashes * head->length);
    return saved;
}

static Saved saved_of(real *saved, const AttentionHead *head)
{
    Arena arena = arena_over(saved);
    return lay_out_saved(&arena, head);
}

typedef struct Scratch {
    Bucket bucket;
    real *row_max;     /* (T) forward's largest scores, */
    real *row_product; /* (T) backward: do . o, in the same memory */
    real *projections; /* (directions) */
    int32_t *order;    /* (T) positions sorted by bucket, then by time */
    int32_t *starts;   /* (buckets + 2) each bucket's first index in order */

    /* what a decoding step sees in all rounds */
    real *q;          /* (D) */
    real *p;          /* (hashes * near) the weights of the visible positions */
    int32_t *seen;    /* (hashes * near) the visible positions */
    int32_t *buckets; /* (hashes) */
} Scratch;

static Scratch lay_out_scratch(Arena *arena, const AttentionHead *head)
{
    Scratch s = {.bucket = bucket_lay_out(arena, head)};
    size_t near = bucket_near(head), most = head->options->hashes * (near ? near : 1);
    s.row_max = s.row_product = arena_reals(arena, head->length);
    s.projections = arena_reals(arena, directions(head));
    s.order = lay_out_indexes(arena, head->length);
    s.starts = lay_out_indexes(arena, head->options->buckets + 2);
    s.q = arena_reals(arena, head->width);
    s.p = arena_reals(arena, most);
    s.seen = lay_out_indexes(arena, most);
    s.buckets = lay_out_indexes(arena, head->options->hashes);
    return s;
}

static Scratch scratch_of(real *scratch, const AttentionHead *head)
{
    Arena arena = arena_over(scratch);
    return lay_out_scratch(&arena, head);
}

/* Decoding keeps keys and values of all positions, and for every round chains from each
 * position to the previous one in its bucket. Positions there count from 1; 0 means none. */
typedef struct State {
    real *keys, *values; /* (T, D), keys with 1 / sqrt(D) in them */
    int32_t *latest;     /* (hashes, buckets) of each bucket */
    int32_t *earlier;    /* (hashes, T) the previous one in the bucket of each position */
} State;

static State lay_out_state(Arena *arena, const AttentionHead *head)
{
    size_t hashes = head->options->hashes;
    State s = {.latest = lay_out_indexes(arena, hashes * head->options->buckets)};
    s.earlier = lay_out_indexes(arena, hashes * head->length);
    ARENA_REALS_EACH(arena, head->length * head->width, &s.keys, &s.values);
    return s;
}

static AttentionMemory memory(const AttentionHead *head)
{
    Arena saved = {0}, scratch = {0}, state = {0};
    lay_out_saved(&saved, head);
    lay_out_scratch(&scratch, head);
    lay_out_state(&state, head);
    return (AttentionMemory){.saved = arena_used_reals(&saved),
                             .scratch = arena_used_reals(&scratch),
                             .state = arena_used_reals(&state)};
}

/* --- buckets of a round --- */

/* Sorts by the buckets of a round, (T): a counting sort, stable. Counts are stored two places
 * on: after summing, that entry is the bucket's end, and after placing the positions its start.
 */
static void sort(const Scratch *s, const int32_t *buckets, const AttentionHead *head)
{
    size_t count = head->options->buckets;
    int32_t *starts = s->starts;
    memset(starts, 0, (count + 2) * sizeof *starts);
    for (size_t i = 0; i < head->length; i++)
        starts[buckets[i] + 2]++;
    for (size_t i = 2; i < count + 2; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < head->length; i++)
        s->order[starts[buckets[i] + 1]++] = (int32_t)i;
}

static void load_bucket(Scratch *s, size_t index, const AttentionData *data)
{
    const int32_t *start = s->starts + index;
    bucket_load(&s->bucket, s->order + start[0], (size_t)(start[1] - start[0]), data->q,
                data->v);
}

/* --- forward --- */

static void forward(const AttentionData *data, const AttentionHead *head)
{
    size_t length = head->length, width = head->width;
    Saved saved = saved_of(data->saved, head);
    Scratch s = scratch_of(data->scratch, head);
    real *sum = saved.lse, *max = s.row_max, *out = data->out; /* the sums become the lse */
    for (size_t i = 0; i < length; i++) {
        hash(saved.buckets + i, length, s.projections, data->q + i * head->stride, data->params,
             head);
        online_softmax_start(&max[i], &sum[i]);
        vector_zero(out + i * head->out_stride, width);
    }
    for (size_t round = 0; round < head->options->hashes; round++) {
        sort(&s, saved.buckets + round * length, head);
        for (size_t index = 0; index < head->options->buckets; index++) {
            load_bucket(&s, index, data);
            bucket_forward(&s.bucket, out, max, sum);
        }
    }
    for (size_t i = 0; i < length; i++)
        online_softmax_finish(out + i * head->out_stride, width, max[i], &sum[i]);
}

/* --- backward --- */

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
        sort(&s, saved.buckets + round * length, head);
        for (size_t index = 0; index < head->options->buckets; index++) {
            load_bucket(&s, index, data);
            bucket_backward(&s.bucket, data, saved.lse, s.row_product);
        }
    }
    for (size_t i = 0; i < length; i++)
        attention_rotate_back(data->dq + i * stride, i, head);
}

/* --- decoding --- */

static size_t follow_chain(int32_t *seen, int32_t *latest, int32_t *earlier, size_t position,
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

/* Lists, round by round, the last `near` positions in the position's buckets, or itself if
 * there is none, and appends it to the chains. Returns the length of the list. */
static size_t follow(const Scratch *s, const State *state, const AttentionHead *head)
{
    size_t count = 0, near = bucket_near(head);
    for (size_t round = 0; round < head->options->hashes; round++) {
        int32_t *latest = state->latest + round * head->options->buckets + s->buckets[round];
        count += follow_chain(s->seen + count, latest, state->earlier + round * head->length,
                              head->position, near);
    }
    return count;
}

static void step(const AttentionData *data, const AttentionHead *head)
{
    size_t width = head->width, position = head->position;
    Arena in_state = arena_over(data->state);
    State s = lay_out_state(&in_state, head);
    Scratch sight = scratch_of(data->scratch, head);
    real *p = sight.p, *key = s.keys + position * width,
         scale = bucket_key_scale(data->q, width);
    attention_rotated_copy(sight.q, data->q, 0, head);
    for (size_t i = 0; i < width; i++)
        key[i] = sight.q[i] * scale;
    memcpy(s.values + position * width, data->v, width * sizeof(real));
    hash(sight.buckets, 1, sight.projections, data->q, data->params, head);
    size_t count = follow(&sight, &s, head);
    for (size_t j = 0; j < count; j++)
        p[j] = vector_dot(sight.q, s.keys + (size_t)sight.seen[j] * width, width);
    real max, sum;
    online_softmax_start(&max, &sum);
    online_softmax_absorb(p, count, &max, &sum);
    vector_zero(data->out, width);
    for (size_t j = 0; j < count; j++)
        vector_add_scaled(data->out, s.values + (size_t)sight.seen[j] * width, p[j] / sum,
                          width);
}

/* Per round: two products with the near keys, and hashing. */
static double flop(const AttentionHead *head)
{
    double near = (double)bucket_near(head), width = (double)head->width;
    return (double)head->length * width *
           (4 * (double)head->options->hashes * near + 2 * (double)directions(head));
}

static const AttentionEngine engine = {
    .memory = memory, .flop = flop, .forward = forward, .backward = backward, .step = step};

const AttentionKind attention_reformer = {
    .name = "reformer",
    .source = "Kitaev et al. 2020, arXiv 2001.04451",
    .help = "Reformer: LSH attention over a few earlier positions of the same hash bucket",
    .cost = "hashes near D",
    .uses = "hashes buckets near",
    .normalised = true,
    .applies_rope = true,
    .param_count = {.more = param_count},
    .start_params = start_params,
    .params_random = true,
    .engine = &engine,
};
