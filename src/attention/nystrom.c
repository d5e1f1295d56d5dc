/* Nystrom attention (Xiong et al. 2021), causal by segments. The paper puts landmarks, means of
 * segments, between queries and keys; but its landmarks are of the whole text, so that every
 * position sees the future, and no mask repairs that. Here queries of segment b see their own
 * segment exactly, and earlier ones through the landmarks of these b segments alone. These are
 * means q~_l and k~_l of B positions each, and
 *
 *   A = softmax of q~_l . k~_m / sqrt(D) over the landmarks m < b            (b, b)
 *   F = softmax of q~_l . k_j / sqrt(D) over the positions j < b B, times V  (b, D)
 *   M = A^+ F                                                                (b, D)
 *   o_i = softmax over the landmarks l < b, of q_i . k~_l / sqrt(D) + log B, with values M_l,
 *         and the own segment's j <= i, of q_i . k_j / sqrt(D), with values v_j
 *
 * A landmark counts as much as the B positions that it stands for. The pseudoinverse A^+ (that
 * of pseudoinverse.h) has negative numbers and rows that do not quite sum to 1, so it acts on
 * values only: weights made with it could sum to nothing.
 *
 * With one segment more, F has a row more, and each of its rows has the keys of that segment
 * more: a running softmax. Backwards, landmark l and position j have met in F^b for all b from
 * some first one on, each time with the gradients
 *
 *   ds_lj = p_lj (dF_l . v_j - dF_l . F_l)     dv_j = p_lj dF_l     p_lj = exp(s_lj - L_l)
 *
 * with L_l the logarithm of the row's sum in F^b. As b falls, we keep the sums over b' >= b
 *
 *   G_l = sum of exp(L^b_l - L^b'_l) dF^b'_l
 *   C_l = sum of exp(L^b_l - L^b'_l) (dF^b'_l . F^b'_l)
 *
 * so that every pair is taken once, at the b at which it first met, with G_l in dF_l's place
 * and C_l in that of its product. No factor is larger than 1.
 *
 * Landmarks are of q and k as they come. In the last softmax, rotary angles turn q_i and k_j by
 * their own positions, and k~_l by that of its segment's last. */
#include "src/attention/pseudoinverse.h"
#include "src/attention/rows.h"
#include "src/attention/running.h"
#include "src/attention/turned.h"
#include "src/gemm.h"

/* Queries that are done together, of one segment. */
#define TILE ((size_t)64)

/* --- sizes --- */

static size_t segment_of(const AttentionHead *head)
{
    size_t segment = head->options->segment;
    return segment < head->length ? segment : head->length;
}

/* Landmarks that the last position sees; what does not end before it needs none. */
static size_t landmarks_of(const AttentionHead *head)
{
    return (head->length - 1) / segment_of(head);
}

/* Rows that a segment's queries attend to at most. */
static size_t most_keys(const AttentionHead *head)
{
    return landmarks_of(head) + segment_of(head);
}

static size_t tile_rows(const AttentionHead *head)
{
    return segment_of(head) < TILE ? segment_of(head) : TILE;
}

static real score_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt((double)head->width);
}

/* --- memory --- */

/* F as it is with b landmarks. */
typedef struct Middle {
    real *f, *lse; /* (b, D), (b) the logarithms L */
} Middle;

/* Forward leaves the logarithm of every query's sum, and F for each b from 1 on. */
static size_t saved_reals(const AttentionHead *head)
{
    size_t landmarks = landmarks_of(head);
    return head->length + landmarks * (landmarks + 1) / 2 * (head->width + 1);
}

static Middle middle_at(real *saved, size_t b, const AttentionHead *head)
{
    Middle m = {.f = saved + head->length + b * (b - 1) / 2 * (head->width + 1)};
    m.lse = m.f + b * head->width;
    return m;
}

/* All that later segments need to know of the completed ones, and what the segment at hand
 * attends to: its landmarks, with the rows of M as values, and then itself. */
typedef struct Past {
    real *q, *k;         /* (landmarks, D) means */
    real *weighted;      /* (landmarks, D) F before the division, */
    real *max, *sum;     /* (landmarks) its rows' largest scores and sums */
    real *keys, *values; /* (most_keys, D) keys turned */
} Past;

static Past take_past(Supply *supply, const AttentionHead *head)
{
    size_t landmarks = landmarks_of(head), width = head->width;
    Past p = {.q = supply_take(supply, landmarks * width)};
    p.k = supply_take(supply, landmarks * width);
    p.weighted = supply_take(supply, landmarks * width);
    p.max = supply_take(supply, landmarks);
    p.sum = supply_take(supply, landmarks);
    p.keys = supply_take(supply, most_keys(head) * width);
    p.values = supply_take(supply, most_keys(head) * width);
    return p;
}

typedef struct Scratch {
    Past past;                 /* decoding has it in its state */
    real *q, *dq;              /* (segment, D) of the segment at hand, turned */
    real *dkeys, *dvalues;     /* (most_keys, D) */
    real *p, *dp;              /* (tile, most_keys) */
    real *pairs, *dpairs;      /* (T) some landmarks by some positions */
    real *dq_means, *dk_means; /* (landmarks, D) */
    real *g, *c;               /* (landmarks, D), (landmarks) */
    real *df;                  /* (landmarks, D) */
    Middle middle;             /* for decoding, which saves nothing */
    real *inverse;
} Scratch;

static Scratch take_scratch(Supply *supply, const AttentionHead *head)
{
    size_t width = head->width, segment = segment_of(head) * width;
    size_t landmarks = landmarks_of(head), means = landmarks * width;
    size_t keys = most_keys(head) * width, panel = tile_rows(head) * most_keys(head);
    Scratch s = {.past = take_past(supply, head), .q = supply_take(supply, segment)};
    s.dq = supply_take(supply, segment);
    s.dkeys = supply_take(supply, keys);
    s.dvalues = supply_take(supply, keys);
    s.p = supply_take(supply, panel);
    s.dp = supply_take(supply, panel);
    s.pairs = supply_take(supply, head->length);
    s.dpairs = supply_take(supply, head->length);
    s.dq_means = supply_take(supply, means);
    s.dk_means = supply_take(supply, means);
    s.g = supply_take(supply, means);
    s.c = supply_take(supply, landmarks);
    s.df = supply_take(supply, means);
    s.middle.f = supply_take(supply, means);
    s.middle.lse = supply_take(supply, landmarks);
    s.inverse = supply_take(supply, pseudoinverse_reals(landmarks));
    return s;
}

static size_t scratch_reals(const AttentionHead *head)
{
    Supply supply = {NULL, 0};
    take_scratch(&supply, head);
    return supply.used;
}

static Scratch scratch_of(real *scratch, const AttentionHead *head)
{
    Supply supply = {scratch, 0};
    return take_scratch(&supply, head);
}

/* --- landmarks --- */

/* A = softmax(Q~ K~^T / sqrt(D)), and its pseudoinverse */
static void invert(const Pseudoinverse *inverse, const Past *past, const AttentionHead *head)
{
    size_t b = inverse->size, width = head->width;
    gemm(b, b, width, score_scale(head), plain(past->q, width), transposed(past->k, width),
         GEMM_SET, inverse->a, b);
    for (size_t i = 0; i < b; i++) {
        real *row = inverse->a + i * b, max, sum;
        running_start(&max, &sum);
        running_absorb(row, b, &max, &sum);
        real share = 1 / sum;
        for (size_t j = 0; j < b; j++)
            row[j] *= share;
    }
    pseudoinverse_forward(inverse);
}

static void invert_backward(const Pseudoinverse *inverse, const Scratch *s,
                            const AttentionHead *head)
{
    size_t b = inverse->size, width = head->width;
    real scale = score_scale(head);
    pseudoinverse_backward(inverse);
    for (size_t i = 0; i < b; i++) {
        const real *a = inverse->a + i * b;
        real *restrict da = inverse->da + i * b, product = vector_dot(da, a, b);
        for (size_t j = 0; j < b; j++)
            da[j] = a[j] * (da[j] - product);
    }
    /* dQ~ += dS K~ / sqrt(D)      dK~ += dS^T Q~ / sqrt(D) */
    gemm(b, width, b, scale, plain(inverse->da, b), plain(s->past.k, width), GEMM_ADD,
         s->dq_means, width);
    gemm(b, width, b, scale, transposed(inverse->da, b), plain(s->past.q, width), GEMM_ADD,
         s->dk_means, width);
}

/* Adds a position to the means of its segment, if that will be a landmark. */
static void add_to_means(const Past *past, size_t position, const real *q, const real *k,
                         const AttentionHead *head)
{
    size_t segment = segment_of(head), landmark = position / segment, width = head->width;
    if (landmark == landmarks_of(head))
        return;
    real *q_mean = past->q + landmark * width, *k_mean = past->k + landmark * width;
    if (position % segment == 0) {
        vector_zero(q_mean, width);
        vector_zero(k_mean, width);
    }
    vector_add_scaled(q_mean, q, 1 / (real)segment, width);
    vector_add_scaled(k_mean, k, 1 / (real)segment, width);
}

/* --- a segment is complete --- */

/* Some landmarks and some positions that meet. */
typedef struct Meeting {
    size_t landmark, landmarks, position, positions;
} Meeting;

/* With b landmarks, all meet the segment that has just become the last ... */
static Meeting all_meet_last(size_t b, size_t segment)
{
    return (Meeting){0, b, (b - 1) * segment, segment};
}

/* ... and its landmark meets all positions before it. */
static Meeting last_meets_all(size_t b, size_t segment)
{
    return (Meeting){b - 1, 1, 0, (b - 1) * segment};
}

/* Keys and values of the text, as they came. */
typedef struct Text {
    const real *k, *v;
    size_t stride;
} Text;

/* S = Q~ K^T / sqrt(D) */
static void meeting_scores(real *s, const Past *past, const Text *text, Meeting m,
                           const AttentionHead *head)
{
    gemm(m.landmarks, m.positions, head->width, score_scale(head),
         plain(past->q + m.landmark * head->width, head->width),
         transposed(text->k + m.position * text->stride, text->stride), GEMM_SET, s,
         m.positions);
}

static void meet(const Past *past, const Text *text, Meeting m, real *pairs,
                 const AttentionHead *head)
{
    size_t width = head->width;
    if (m.positions == 0)
        return;
    meeting_scores(pairs, past, text, m, head);
    real *weighted = past->weighted + m.landmark * width;
    for (size_t i = 0; i < m.landmarks; i++) {
        size_t l = m.landmark + i;
        real factor = running_absorb(pairs + i * m.positions, m.positions, &past->max[l],
                                     &past->sum[l]);
        for (size_t j = 0; j < width; j++)
            weighted[i * width + j] *= factor;
    }
    /* F += P V, before the division */
    gemm(m.landmarks, width, m.positions, 1, plain(pairs, m.positions),
         plain(text->v + m.position * text->stride, text->stride), GEMM_ADD, weighted, width);
}

/* F and L from the sums. */
static void divide(Middle middle, const Past *past, size_t b, size_t width)
{
    for (size_t l = 0; l < b; l++) {
        real share = 1 / past->sum[l];
        for (size_t j = 0; j < width; j++)
            middle.f[l * width + j] = past->weighted[l * width + j] * share;
        middle.lse[l] = past->max[l] + (real)log((double)past->sum[l]);
    }
}

/* M = A^+ F, the values of the landmarks */
static void set_values(const Pseudoinverse *inverse, const Past *past, const real *f,
                       size_t width)
{
    size_t b = inverse->size;
    gemm(b, width, b, 1, plain(inverse->result, b), plain(f, width), GEMM_SET, past->values,
         width);
}

/* What the segment that has just become the b-th changes, whose means are there. The angles
 * are those of its last position. */
static void complete_segment(const Past *past, size_t b, const Text *text, size_t angles,
                             Middle middle, const Scratch *s, const AttentionHead *head)
{
    size_t segment = segment_of(head), width = head->width, l = b - 1;
    Pseudoinverse inverse = pseudoinverse_at(s->inverse, b);
    running_start(&past->max[l], &past->sum[l]);
    vector_zero(past->weighted + l * width, width);
    meet(past, text, last_meets_all(b, segment), s->pairs, head);
    meet(past, text, all_meet_last(b, segment), s->pairs, head);
    divide(middle, past, b, width);
    invert(&inverse, past, head);
    set_values(&inverse, past, middle.f, width);
    turned_copy(past->keys + l * width, past->k + l * width, angles, head);
}

/* --- a segment attends --- */

/* Some queries of the segment that has b landmarks before it. */
typedef struct Tile {
    size_t b, first, rows, keys; /* the first query's place in the segment; the keys seen */
    size_t position;             /* the first query's, in the text */
} Tile;

static Tile tile_at(size_t b, size_t first, size_t count, const AttentionHead *head)
{
    size_t left = count - first;
    Tile t = {.b = b, .first = first, .rows = left < TILE ? left : TILE};
    t.keys = b + first + t.rows;
    t.position = b * segment_of(head) + first;
    return t;
}

/* The scores of a tile's queries, which begin at q. */
static void tile_scores(real *p, const real *q, const Past *past, const Tile *tile,
                        const AttentionHead *head)
{
    size_t width = head->width;
    /* S = Q K^T / sqrt(D) */
    gemm(tile->rows, tile->keys, width, score_scale(head), plain(q, width),
         transposed(past->keys, width), GEMM_SET, p, tile->keys);
    real bias = (real)log((double)segment_of(head));
    for (size_t i = 0; i < tile->rows; i++)
        for (size_t l = 0; l < tile->b; l++)
            p[i * tile->keys + l] += bias;
}

static size_t seen_by(const Tile *tile, size_t row)
{
    return tile->b + tile->first + row + 1;
}

/* Out has rows at a distance; lse may be NULL. */
static void attend(real *out, real *lse, real *p, const real *q, const Past *past,
                   const Tile *tile, const AttentionHead *head)
{
    tile_scores(p, q, past, tile, head);
    for (size_t i = 0; i < tile->rows; i++) {
        real *row = p + i * tile->keys, max, sum;
        size_t seen = seen_by(tile, i);
        running_start(&max, &sum);
        running_absorb(row, seen, &max, &sum);
        real share = 1 / sum;
        for (size_t j = 0; j < seen; j++)
            row[j] *= share;
        vector_zero(row + seen, tile->keys - seen);
        if (lse)
            lse[i] = max + (real)log((double)sum);
    }
    /* O = P V */
    gemm(tile->rows, head->width, tile->keys, 1, plain(p, tile->keys),
         plain(past->values, head->width), GEMM_SET, out, head->out_stride);
}

/* --- forward --- */

/* Fills in the segment behind the landmarks, and gives its length. */
static size_t load_segment(const Scratch *s, size_t b, const AttentionData *data,
                           const AttentionHead *head)
{
    size_t segment = segment_of(head), first = b * segment, width = head->width;
    size_t count = head->length - first < segment ? head->length - first : segment;
    for (size_t i = 0; i < count; i++) {
        size_t at = (first + i) * head->stride;
        turned_copy(s->q + i * width, data->q + at, first + i, head);
        turned_copy(s->past.keys + (b + i) * width, data->k + at, first + i, head);
        memcpy(s->past.values + (b + i) * width, data->v + at, width * sizeof(real));
    }
    return count;
}

static Text text_of(const AttentionData *data, const AttentionHead *head)
{
    return (Text){data->k, data->v, head->stride};
}

static void compute_means(const Past *past, const AttentionData *data,
                          const AttentionHead *head)
{
    for (size_t i = 0; i < landmarks_of(head) * segment_of(head); i++)
        add_to_means(past, i, data->q + i * head->stride, data->k + i * head->stride, head);
}

static void forward(const AttentionData *data, const AttentionHead *head)
{
    size_t segment = segment_of(head), landmarks = landmarks_of(head);
    Scratch s = scratch_of(data->scratch, head);
    Text text = text_of(data, head);
    compute_means(&s.past, data, head);
    for (size_t b = 0; b <= landmarks; b++) {
        if (b > 0)
            complete_segment(&s.past, b, &text, b * segment - 1,
                             middle_at(data->saved, b, head), &s, head);
        size_t count = load_segment(&s, b, data, head);
        for (size_t first = 0; first < count; first += TILE) {
            Tile tile = tile_at(b, first, count, head);
            attend(data->out + tile.position * head->out_stride, data->saved + tile.position,
                   s.p, s.q + first * head->width, &s.past, &tile, head);
        }
    }
}

/* --- backward --- */

static void attend_backward(const AttentionData *data, const Scratch *s, const Tile *tile,
                            const AttentionHead *head)
{
    size_t width = head->width, keys = tile->keys, rows = tile->rows;
    size_t out_row = tile->position * head->out_stride;
    const real *q = s->q + tile->first * width, *lse = data->saved + tile->position;
    Factor dout = plain(data->dout + out_row, head->out_stride);
    tile_scores(s->p, q, &s->past, tile, head);
    /* dP = dO V^T */
    gemm(rows, keys, width, 1, dout, transposed(s->past.values, width), GEMM_SET, s->dp, keys);
    for (size_t i = 0; i < rows; i++) {
        real *restrict p = s->p + i * keys, *restrict dp = s->dp + i * keys;
        size_t seen = seen_by(tile, i), at = out_row + i * head->out_stride;
        real product = vector_dot(data->dout + at, data->out + at, width);
        for (size_t j = 0; j < seen; j++) {
            p[j] = vector_exp(p[j] - lse[i]);
            dp[j] = p[j] * (dp[j] - product);
        }
        vector_zero(p + seen, keys - seen);
        vector_zero(dp + seen, keys - seen);
    }
    /* dV += P^T dO */
    gemm(keys, width, rows, 1, transposed(s->p, keys), dout, GEMM_ADD, s->dvalues, width);
    /* dQ = dS K / sqrt(D) */
    gemm(rows, width, keys, score_scale(head), plain(s->dp, keys), plain(s->past.keys, width),
         GEMM_SET, s->dq + tile->first * width, width);
    /* dK += dS^T Q / sqrt(D) */
    gemm(keys, width, rows, score_scale(head), transposed(s->dp, keys), plain(q, width),
         GEMM_ADD, s->dkeys, width);
}

/* y += x, turned back */
static void add_turned_back(real *y, real *x, size_t angles, const AttentionHead *head)
{
    turn_back(x, angles, head);
    vector_add_scaled(y, x, 1, head->width);
}

/* Hands the gradients of what a segment has attended to on to positions and landmarks; those of
 * the rows of M stay in dvalues. */
static void hand_on(const AttentionData *data, const Scratch *s, size_t b, size_t count,
                    const AttentionHead *head)
{
    size_t width = head->width, segment = segment_of(head);
    for (size_t i = 0; i < count; i++) {
        size_t position = b * segment + i, at = position * head->stride;
        add_turned_back(data->dq + at, s->dq + i * width, position, head);
        add_turned_back(data->dk + at, s->dkeys + (b + i) * width, position, head);
        vector_add_scaled(data->dv + at, s->dvalues + (b + i) * width, 1, width);
    }
    for (size_t l = 0; l < b; l++)
        add_turned_back(s->dk_means + l * width, s->dkeys + l * width, (l + 1) * segment - 1,
                        head);
}

/* M = Z F with Z = A^+:  dZ = dM F^T,  dF = Z^T dM */
static void values_backward(const Pseudoinverse *inverse, const Scratch *s, const real *f,
                            const AttentionHead *head)
{
    size_t b = inverse->size, width = head->width;
    Factor dm = plain(s->dvalues, width);
    gemm(b, b, width, 1, dm, transposed(f, width), GEMM_SET, inverse->dresult, b);
    gemm(b, width, b, 1, transposed(inverse->result, b), dm, GEMM_SET, s->df, width);
    invert_backward(inverse, s, head);
}

/* G and C from those of b + 1 landmarks, whose lse is NULL at the last b. */
static void accumulate(const Scratch *s, size_t b, Middle middle, const real *later_lse,
                       size_t width)
{
    for (size_t l = 0; l < b; l++) {
        real factor = later_lse ? vector_exp(middle.lse[l] - later_lse[l]) : 0;
        real *restrict g = s->g + l * width;
        const real *df = s->df + l * width;
        for (size_t i = 0; i < width; i++)
            g[i] = df[i] + factor * g[i];
        s->c[l] = vector_dot(df, middle.f + l * width, width) + factor * s->c[l];
    }
}

static void meet_backward(const AttentionData *data, const Scratch *s, Meeting m,
                          const real *lse, const AttentionHead *head)
{
    size_t width = head->width, stride = head->stride, at = m.position * stride;
    const real *g = s->g + m.landmark * width, *q = s->past.q + m.landmark * width;
    Text text = text_of(data, head);
    if (m.positions == 0)
        return;
    meeting_scores(s->pairs, &s->past, &text, m, head);
    /* dP = G V^T */
    gemm(m.landmarks, m.positions, width, 1, plain(g, width), transposed(data->v + at, stride),
         GEMM_SET, s->dpairs, m.positions);
    for (size_t i = 0; i < m.landmarks; i++) {
        real *restrict p = s->pairs + i * m.positions, *restrict dp = s->dpairs +
                                                                      i * m.positions;
        real top = lse[m.landmark + i], product = s->c[m.landmark + i];
        for (size_t j = 0; j < m.positions; j++) {
            p[j] = vector_exp(p[j] - top);
            dp[j] = p[j] * (dp[j] - product);
        }
    }
    Factor p = transposed(s->pairs, m.positions), ds = plain(s->dpairs, m.positions);
    /* dV += P^T G */
    gemm(m.positions, width, m.landmarks, 1, p, plain(g, width), GEMM_ADD, data->dv + at,
         stride);
    /* dQ~ += dS K / sqrt(D) */
    gemm(m.landmarks, width, m.positions, score_scale(head), ds, plain(data->k + at, stride),
         GEMM_ADD, s->dq_means + m.landmark * width, width);
    /* dK += dS^T Q~ / sqrt(D) */
    gemm(m.positions, width, m.landmarks, score_scale(head), transposed(s->dpairs, m.positions),
         plain(q, width), GEMM_ADD, data->dk + at, stride);
}

/* Segments from the last to the first: what was later has been dealt with. */
static void segment_backward(const AttentionData *data, const Scratch *s, size_t b,
                             const AttentionHead *head)
{
    size_t width = head->width, segment = segment_of(head);
    size_t count = load_segment(s, b, data, head);
    Pseudoinverse inverse = pseudoinverse_at(s->inverse, b);
    Middle middle = {NULL, NULL};
    if (b > 0) {
        middle = middle_at(data->saved, b, head);
        invert(&inverse, &s->past, head);
        set_values(&inverse, &s->past, middle.f, width);
    }
    vector_zero(s->dkeys, (b + count) * width);
    vector_zero(s->dvalues, (b + count) * width);
    for (size_t first = 0; first < count; first += TILE) {
        Tile tile = tile_at(b, first, count, head);
        attend_backward(data, s, &tile, head);
    }
    hand_on(data, s, b, count, head);
    if (b == 0)
        return;
    values_backward(&inverse, s, middle.f, head);
    bool last = b == landmarks_of(head);
    accumulate(s, b, middle, last ? NULL : middle_at(data->saved, b + 1, head).lse, width);
    meet_backward(data, s, last_meets_all(b, segment), middle.lse, head);
    meet_backward(data, s, all_meet_last(b, segment), middle.lse, head);
}

static void backward(const AttentionData *data, const AttentionHead *head)
{
    size_t width = head->width, segment = segment_of(head), landmarks = landmarks_of(head);
    Scratch s = scratch_of(data->scratch, head);
    rows_zero(data->dq, head->stride, head->length, width);
    rows_zero(data->dk, head->stride, head->length, width);
    rows_zero(data->dv, head->stride, head->length, width);
    vector_zero(s.dq_means, landmarks * width);
    vector_zero(s.dk_means, landmarks * width);
    vector_zero(s.g, landmarks * width);
    vector_zero(s.c, landmarks);
    compute_means(&s.past, data, head);
    for (size_t l = 0; l < landmarks; l++)
        turned_copy(s.past.keys + l * width, s.past.k + l * width, (l + 1) * segment - 1, head);
    for (size_t b = landmarks + 1; b-- > 0;)
        segment_backward(data, &s, b, head);
    for (size_t i = 0; i < landmarks * segment; i++) {
        size_t at = i * head->stride, landmark = i / segment * width;
        vector_add_scaled(data->dq + at, s.dq_means + landmark, 1 / (real)segment, width);
        vector_add_scaled(data->dk + at, s.dk_means + landmark, 1 / (real)segment, width);
    }
}

/* --- decoding --- */

/* Decoding keeps the past, and all keys and values, as a new landmark must meet them. */
typedef struct State {
    Past past;
    real *keys, *values; /* (T, D) */
} State;

static State take_state(Supply *supply, const AttentionHead *head)
{
    State s = {.past = take_past(supply, head)};
    s.keys = supply_take(supply, head->length * head->width);
    s.values = supply_take(supply, head->length * head->width);
    return s;
}

static size_t state_reals(const AttentionHead *head)
{
    Supply supply = {NULL, 0};
    take_state(&supply, head);
    return supply.used;
}

static void step(const AttentionData *data, real *state, size_t position,
                 const AttentionHead *head)
{
    size_t width = head->width, segment = segment_of(head), b = position / segment;
    size_t place = position % segment, row = (b + place) * width;
    Supply supply = {state, 0};
    State own = take_state(&supply, head);
    Scratch s = scratch_of(data->scratch, head);
    Text text = {own.keys, own.values, width};
    memcpy(own.keys + position * width, data->k, width * sizeof(real));
    memcpy(own.values + position * width, data->v, width * sizeof(real));
    turned_copy(s.q, data->q, 0, head);
    turned_copy(own.past.keys + row, data->k, 0, head);
    memcpy(own.past.values + row, data->v, width * sizeof(real));
    Tile tile = tile_at(b, place, place + 1, head);
    attend(data->out, NULL, s.p, s.q, &own.past, &tile, head);
    add_to_means(&own.past, position, data->q, data->k, head);
    if (place + 1 == segment && b < landmarks_of(head))
        complete_segment(&own.past, b + 1, &text, 0, s.middle, &s, head);
}

/* For each number of landmarks a pseudoinverse, at 4 products a step; every landmark meets
 * every position but the last segment's, in two products, and so does every query what it sees.
 */
static double flop(const AttentionHead *head)
{
    double landmarks = (double)landmarks_of(head), segment = (double)segment_of(head);
    double width = (double)head->width, length = (double)head->length, inverses = 0;
    for (double b = 1; b <= landmarks; b++)
        inverses += 8 * PSEUDOINVERSE_STEPS * b * b * b;
    double pairs = landmarks * landmarks * segment + length * (landmarks + segment) / 2;
    return inverses + 4 * width * pairs;
}

const AttentionKind attention_nystrom = {
    .name = "nystrom",
    .help = "the own segment exactly, earlier ones through their means and a pseudoinverse",
    .cost = "(segment + T / segment) D + T^3 / segment^4",
    .uses = "segment",
    .turns_itself = true,
    .carry = CARRY_NEVER,
    .saved_reals = saved_reals,
    .scratch_reals = scratch_reals,
    .state_reals = state_reals,
    .flop = flop,
    .forward = forward,
    .backward = backward,
    .step = step,
};
