/* Nystrom attention (Xiong et al. 2021), causal by segments. The paper puts landmarks, means of
 * segments, between queries and keys. Its landmarks cover the whole sequence, so every position
 * sees the future, and no mask repairs that. Here queries of segment b see their own segment
 * exactly, and earlier ones through the landmarks of those b segments only. Landmarks are means
 * q~_l and k~_l of B positions, and
 *
 *   A = softmax of q~_l . k~_m / sqrt(D) over the landmarks m < b            (b, b)
 *   F = softmax of q~_l . k_j / sqrt(D) over the positions j < b B, times V  (b, D)
 *   M = A^+ F                                                                (b, D)
 *   o_i = softmax over the landmarks l < b, of q_i . k~_l / sqrt(D) + log B, with values M_l,
 *         and the own segment's j <= i, of q_i . k_j / sqrt(D), with values v_j
 *
 * A landmark weighs as much as the B positions it stands for. The pseudoinverse A^+ (of
 * landmarks.c) has negative entries and rows that do not quite sum to 1, so it is applied
 * to values only: weights multiplied by it could sum to zero.
 *
 * landmarks.c computes M. Landmarks are means of unrotated q and k. In the last softmax, RoPE
 * rotates q_i and k_j by their own positions, and k~_l by the last one of its segment.
 *
 * Shapes: q, out (queries, D); lse (queries); x, y (D). */
#include "src/attention/landmarks.h"
#include "src/attention/online_softmax.h"
#include "src/attention/rows.h"
#include "src/math/gemm.h"

/* Queries of one segment that are processed together. */
#define TILE ((size_t)64)

/* --- memory --- */

/* The most rows that a segment's queries attend to. */
static size_t most_keys(const AttentionHead *head)
{
    return landmarks_count(head) + landmarks_segment(head);
}

static size_t tile_rows(const AttentionHead *head)
{
    size_t segment = landmarks_segment(head);
    return segment < TILE ? segment : TILE;
}

static real *landmarks_in(const AttentionData *data, const AttentionHead *head)
{
    return data->saved + head->length;
}

/* A segment attends to the landmarks, with the rows of M as values, and then to itself. */
typedef struct Work {
    const AttentionHead *head;
    Landmarks landmarks;
    real *keys, *values;   /* (most_keys, D) keys rotated */
    real *dkeys, *dvalues; /* (most_keys, D) */
    real *q, *dq;          /* (segment, D) of the current segment, rotated */
    real *p, *dp;          /* (tile, most_keys) */
} Work;

/* What later positions need lies in `kept`, since decoding has it in its state. */
static Work lay_out_work(Arena *kept, Arena *scratch, const AttentionHead *head)
{
    size_t keys = most_keys(head) * head->width, panel = tile_rows(head) * most_keys(head);
    size_t segment = landmarks_segment(head) * head->width;
    Work w = {.head = head, .landmarks = landmarks_lay_out(kept, scratch, head)};
    ARENA_REALS_EACH(kept, keys, &w.keys, &w.values);
    ARENA_REALS_EACH(scratch, keys, &w.dkeys, &w.dvalues);
    ARENA_REALS_EACH(scratch, segment, &w.q, &w.dq);
    ARENA_REALS_EACH(scratch, panel, &w.p, &w.dp);
    return w;
}

static Work work_of(const AttentionData *data, const AttentionHead *head)
{
    Arena arena = arena_over(data->scratch);
    return lay_out_work(&arena, &arena, head);
}

/* Decoding also keeps all keys and values: new landmarks attend to them. */
typedef struct Decoding {
    Work work;
    real *keys, *values; /* (T, D) */
    LandmarkRows rows;   /* nothing is saved while decoding */
} Decoding;

static Decoding lay_out_decoding(Arena *state, Arena *scratch, const AttentionHead *head)
{
    Decoding d = {.work = lay_out_work(state, scratch, head)};
    ARENA_REALS_EACH(state, head->length * head->width, &d.keys, &d.values);
    d.rows.f = arena_reals(scratch, landmarks_count(head) * head->width);
    d.rows.lse = arena_reals(scratch, landmarks_count(head));
    return d;
}

/* Forward saves every query's lse, and what the landmarks need. */
static AttentionMemory memory(const AttentionHead *head)
{
    Arena whole = {0}, state = {0}, step = {0};
    lay_out_work(&whole, &whole, head);
    lay_out_decoding(&state, &step, head);
    return (AttentionMemory){
        .saved = head->length + landmarks_saved_reals(head),
        .scratch = arena_used_reals(whole.used > step.used ? &whole : &step),
        .state = arena_used_reals(&state)};
}

/* --- a tile of a segment --- */

/* Queries of a segment with b landmarks before it. */
typedef struct Tile {
    size_t b, first, rows, keys; /* the first query's index in the segment; visible keys */
    size_t position;             /* of the first query */
} Tile;

static Tile tile_at(size_t b, size_t first, size_t count, const AttentionHead *head)
{
    size_t left = count - first;
    Tile t = {.b = b, .first = first, .rows = left < TILE ? left : TILE};
    t.keys = b + first + t.rows;
    t.position = b * landmarks_segment(head) + first;
    return t;
}

static size_t seen_by(const Tile *tile, size_t row)
{
    return tile->b + tile->first + row + 1;
}

/* The scores of a tile's queries, which start at q. */
static void tile_scores(const Work *w, const real *q, const Tile *tile)
{
    size_t width = w->head->width;
    /* S = Q K^T / sqrt(D) */
    gemm(tile->rows, tile->keys, width, attention_scale(w->head), plain(q, width),
         transposed(w->keys, width), GEMM_SET, w->p, tile->keys);
    real bias = (real)log((double)landmarks_segment(w->head));
    for (size_t i = 0; i < tile->rows; i++)
        for (size_t l = 0; l < tile->b; l++)
            w->p[i * tile->keys + l] += bias;
}

/* Rows of out have a stride; lse may be NULL. */
static void attend(real *out, real *lse, const Work *w, const real *q, const Tile *tile)
{
    tile_scores(w, q, tile);
    for (size_t i = 0; i < tile->rows; i++) {
        real *row = w->p + i * tile->keys;
        size_t seen = seen_by(tile, i);
        real row_lse = online_softmax_whole(row, seen);
        vector_zero(row + seen, tile->keys - seen);
        if (lse)
            lse[i] = row_lse;
    }
    /* O = P V */
    gemm(tile->rows, w->head->width, tile->keys, 1, plain(w->p, tile->keys),
         plain(w->values, w->head->width), GEMM_SET, out, w->head->out_stride);
}

static void attend_backward(const AttentionData *data, const Work *w, const Tile *tile)
{
    size_t width = w->head->width, stride = w->head->out_stride;
    size_t keys = tile->keys, rows = tile->rows, at = tile->position * stride;
    const real *q = w->q + tile->first * width, *lse = data->saved + tile->position;
    real scale = attention_scale(w->head);
    Factor dout = plain(data->dout + at, stride);
    tile_scores(w, q, tile);
    /* dP = dO V^T */
    gemm(rows, keys, width, 1, dout, transposed(w->values, width), GEMM_SET, w->dp, keys);
    for (size_t i = 0; i < rows; i++, at += stride) {
        real *p = w->p + i * keys, *dp = w->dp + i * keys;
        size_t seen = seen_by(tile, i);
        online_softmax_backward(p, dp, seen, lse[i],
                                vector_dot(data->dout + at, data->out + at, width));
        vector_zero(p + seen, keys - seen);
        vector_zero(dp + seen, keys - seen);
    }
    /* dV += P^T dO */
    gemm(keys, width, rows, 1, transposed(w->p, keys), dout, GEMM_ADD, w->dvalues, width);
    /* dQ = dS K / sqrt(D) */
    gemm(rows, width, keys, scale, plain(w->dp, keys), plain(w->keys, width), GEMM_SET,
         w->dq + tile->first * width, width);
    /* dK += dS^T Q / sqrt(D) */
    gemm(keys, width, rows, scale, transposed(w->dp, keys), plain(q, width), GEMM_ADD, w->dkeys,
         width);
}

/* --- forward --- */

/* The key of a segment's landmark, counted from 0, rotated by the angles of its last position.
 */
static void load_landmark(const Work *w, size_t landmark, size_t angles)
{
    size_t at = landmark * w->head->width;
    attention_rotated_copy(w->keys + at, w->landmarks.k + at, angles, w->head);
}

/* Loads the segment after the landmarks; returns its length. */
static size_t load_segment(const Work *w, size_t b, const AttentionData *data)
{
    const AttentionHead *head = w->head;
    size_t segment = landmarks_segment(head), first = b * segment, width = head->width;
    size_t count = head->length - first < segment ? head->length - first : segment;
    for (size_t i = 0; i < count; i++) {
        size_t at = (first + i) * head->stride;
        attention_rotated_copy(w->q + i * width, data->q + at, first + i, head);
        attention_rotated_copy(w->keys + (b + i) * width, data->k + at, first + i, head);
        memcpy(w->values + (b + i) * width, data->v + at, width * sizeof(real));
    }
    return count;
}

static void forward(const AttentionData *data, const AttentionHead *head)
{
    size_t segment = landmarks_segment(head);
    const LandmarkSequence sequence = {data->k, data->v, head->stride};
    const Work w = work_of(data, head);
    landmarks_add_all(&w.landmarks, data);
    for (size_t b = 0; b <= landmarks_count(head); b++) {
        if (b > 0) {
            landmarks_complete(&w.landmarks, b, &sequence,
                               landmarks_saved(landmarks_in(data, head), b, head), w.values);
            load_landmark(&w, b - 1, b * segment - 1);
        }
        size_t count = load_segment(&w, b, data);
        for (size_t first = 0; first < count; first += TILE) {
            Tile tile = tile_at(b, first, count, head);
            attend(data->out + tile.position * head->out_stride, data->saved + tile.position,
                   &w, w.q + first * head->width, &tile);
        }
    }
}

/* --- backward --- */

/* y += x, rotated back */
static void add_rotated_back(real *y, real *x, size_t angles, const AttentionHead *head)
{
    attention_rotate_back(x, angles, head);
    vector_add_scaled(y, x, 1, head->width);
}

/* Adds the gradients of a segment's keys and values to positions and landmarks; those of the
 * rows of M stay in dvalues. */
static void hand_on(const AttentionData *data, const Work *w, size_t b, size_t count)
{
    const AttentionHead *head = w->head;
    size_t width = head->width, segment = landmarks_segment(head);
    for (size_t i = 0; i < count; i++) {
        size_t position = b * segment + i, at = position * head->stride;
        add_rotated_back(data->dq + at, w->dq + i * width, position, head);
        add_rotated_back(data->dk + at, w->dkeys + (b + i) * width, position, head);
        vector_add_scaled(data->dv + at, w->dvalues + (b + i) * width, 1, width);
    }
    for (size_t l = 0; l < b; l++)
        add_rotated_back(w->landmarks.dk + l * width, w->dkeys + l * width,
                         (l + 1) * segment - 1, head);
}

/* Segments are processed from the last to the first. */
static void segment_backward(const AttentionData *data, const Work *w, size_t b)
{
    const AttentionHead *head = w->head;
    real *saved = landmarks_in(data, head);
    size_t width = head->width, count = load_segment(w, b, data);
    if (b > 0)
        landmarks_values(&w->landmarks, b, landmarks_saved(saved, b, head).f, w->values);
    vector_zero(w->dkeys, (b + count) * width);
    vector_zero(w->dvalues, (b + count) * width);
    for (size_t first = 0; first < count; first += TILE) {
        Tile tile = tile_at(b, first, count, head);
        attend_backward(data, w, &tile);
    }
    hand_on(data, w, b, count);
    if (b > 0)
        landmarks_backward(&w->landmarks, b, data, saved, w->dvalues);
}

static void backward(const AttentionData *data, const AttentionHead *head)
{
    size_t segment = landmarks_segment(head), landmarks = landmarks_count(head);
    const Work w = work_of(data, head);
    rows_zero(data->dq, head->stride, head->length, head->width);
    rows_zero(data->dk, head->stride, head->length, head->width);
    rows_zero(data->dv, head->stride, head->length, head->width);
    landmarks_add_all(&w.landmarks, data);
    landmarks_begin_backward(&w.landmarks);
    for (size_t l = 0; l < landmarks; l++)
        load_landmark(&w, l, (l + 1) * segment - 1);
    for (size_t b = landmarks + 1; b-- > 0;)
        segment_backward(data, &w, b);
    landmarks_end_backward(&w.landmarks, data);
}

/* --- decoding --- */

static void step(const AttentionData *data, const AttentionHead *head)
{
    size_t position = head->position, width = head->width;
    size_t segment = landmarks_segment(head), b = position / segment;
    size_t place = position % segment, row = (b + place) * width;
    Arena kept = arena_over(data->state), scratch = arena_over(data->scratch);
    const Decoding d = lay_out_decoding(&kept, &scratch, head);
    const Work *w = &d.work;
    memcpy(d.keys + position * width, data->k, width * sizeof(real));
    memcpy(d.values + position * width, data->v, width * sizeof(real));
    attention_rotated_copy(w->q, data->q, 0, head);
    attention_rotated_copy(w->keys + row, data->k, 0, head);
    memcpy(w->values + row, data->v, width * sizeof(real));
    Tile tile = tile_at(b, place, place + 1, head);
    attend(data->out, NULL, w, w->q, &tile);
    landmarks_add(&w->landmarks, position, data->q, data->k);
    if (place + 1 == segment && b < landmarks_count(head)) {
        const LandmarkSequence sequence = {d.keys, d.values, width};
        landmarks_complete(&w->landmarks, b + 1, &sequence, d.rows, w->values);
        load_landmark(w, b, 0);
    }
}

/* For each number of landmarks a pseudoinverse with 4 products per step; two products for every
 * pair of a landmark and a position before the last segment, and of a query and a visible key.
 */
static double flop(const AttentionHead *head)
{
    double landmarks = (double)landmarks_count(head), segment = (double)landmarks_segment(head);
    double width = (double)head->width, length = (double)head->length;
    double sum = landmarks * (landmarks + 1) / 2; /* of 1 to b; its square is that of cubes */
    double inverses = 8 * PSEUDOINVERSE_STEPS * sum * sum;
    double pairs = landmarks * landmarks * segment + length * (landmarks + segment) / 2;
    return inverses + 4 * width * pairs;
}

static const AttentionEngine engine = {
    .memory = memory, .flop = flop, .forward = forward, .backward = backward, .step = step};

const AttentionKind attention_nystrom = {
    .name = "nystrom",
    .source = "Xiong et al. 2021, arXiv 2102.03902",
    .help =
        "Nystromformer, causal: own block exact, earlier ones by landmarks and pseudoinverse",
    .cost = "(segment + T / segment) D + T^3 / segment^4",
    .uses = "segment",
    .applies_rope = true,
    .engine = &engine,
};
