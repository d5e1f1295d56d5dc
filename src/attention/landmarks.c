/* Each further segment adds a row to F, and its keys to every row: an online softmax. Landmark
 * l and position j meet in F^b for all b from some first one on, each time with the gradients
 *
 *   ds_lj = p_lj (dF_l . v_j - dF_l . F_l)     dv_j = p_lj dF_l     p_lj = exp(s_lj - L_l)
 *
 * where L_l is the logarithm of the row's sum in F^b. As b falls, we accumulate over b' >= b
 *
 *   G_l = sum of exp(L^b_l - L^b'_l) dF^b'_l
 *   C_l = sum of exp(L^b_l - L^b'_l) (dF^b'_l . F^b'_l)
 *
 * so that every pair is processed once, at the b where it first meets, with G_l for dF_l and
 * C_l for dF_l . F_l. No factor exceeds 1.
 *
 * Shapes: z, dz, x (b, b); f, values and their gradients (b, D); lse (b). */
#include "src/attention/landmarks.h"
#include "src/attention/online_softmax.h"
#include "src/attention/rows.h"
#include "src/math/gemm.h"

enum { STEPS = PSEUDOINVERSE_STEPS };

/* --- the pseudoinverse --- */

/* That of a square matrix A whose rows are positive and sum to 1, by six steps of a
 * Newton-Schulz iteration of the third order:
 *
 *   Z' = Z (13 - A Z (15 - A Z (7 - A Z))) / 4       from   Z = A^T / (|A|_1 |A|_inf)
 *
 * |A|_1 is the largest column sum, |A|_inf the largest row sum, here 1. Six steps barely invert
 * the small singular values of A, which keeps the result bounded. This result is the
 * definition, not an approximation, so backward differentiates every step. With
 *
 *   Y = A Z      W = 7 - Y      U = 15 - Y W      R = 13 - Y U      Z' = Z R / 4
 *
 * from the last step to the first
 *
 *   dR = Z^T dZ' / 4     dY = -dR U^T - dU W^T - dW     dA += dY Z^T
 *   dU = -Y^T dR         dW = -Y^T dU                   dZ = dZ' R^T / 4 + A^T dY */

typedef struct Pseudoinverse {
    size_t size;
    /* (size, size) each: */
    real *a, *result;   /* input and output of forward */
    real *dresult, *da; /* input and output of backward, which overwrites dresult */
    real *z[STEPS + 1], *y, *w, *u, *r; /* of each step, of one step */
    real *dz, *dy, *du, *dr;            /* of one step */
    real *column_sums;                  /* (size) */
} Pseudoinverse;

static Pseudoinverse lay_out_pseudoinverse(Arena *arena, size_t size)
{
    Pseudoinverse p = {.size = size};
    ARENA_REALS_EACH(arena, size * size, &p.a, &p.dresult, &p.da, &p.y, &p.w, &p.u, &p.r, &p.dz,
                     &p.dy, &p.du, &p.dr);
    for (size_t i = 0; i <= STEPS; i++)
        p.z[i] = arena_reals(arena, size * size);
    p.result = p.z[STEPS];
    p.column_sums = arena_reals(arena, size);
    return p;
}

static Pseudoinverse pseudoinverse_at(real *memory, size_t size)
{
    Arena arena = arena_over(memory);
    return lay_out_pseudoinverse(&arena, size);
}

/* Z = A^T / |A|_1; returns the column with that sum. */
static size_t first_guess(const Pseudoinverse *p)
{
    size_t size = p->size, largest = 0;
    real *sums = p->column_sums;
    vector_zero(sums, size);
    for (size_t i = 0; i < size; i++)
        vector_add_scaled(sums, p->a + i * size, 1, size);
    for (size_t j = 1; j < size; j++)
        largest = sums[j] > sums[largest] ? j : largest;
    real inverse = 1 / sums[largest];
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            p->z[0][i * size + j] = p->a[j * size + i] * inverse;
    return largest;
}

static void add_diagonal(real *x, real number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        x[i * size + i] += number;
}

/* Y, W, U and R of a step. */
static void step_factors(const Pseudoinverse *p, const real *z)
{
    size_t n = p->size;
    /* Y = A Z */
    gemm(n, n, n, 1, plain(p->a, n), plain(z, n), GEMM_SET, p->y, n);
    for (size_t i = 0; i < n * n; i++)
        p->w[i] = -p->y[i];
    add_diagonal(p->w, 7, n);
    /* U = 15 - Y W */
    gemm(n, n, n, -1, plain(p->y, n), plain(p->w, n), GEMM_SET, p->u, n);
    add_diagonal(p->u, 15, n);
    /* R = 13 - Y U */
    gemm(n, n, n, -1, plain(p->y, n), plain(p->u, n), GEMM_SET, p->r, n);
    add_diagonal(p->r, 13, n);
}

static void pseudoinverse_forward(const Pseudoinverse *p)
{
    size_t n = p->size;
    first_guess(p);
    for (size_t i = 0; i < STEPS; i++) {
        step_factors(p, p->z[i]);
        /* Z' = Z R / 4 */
        gemm(n, n, n, (real)0.25, plain(p->z[i], n), plain(p->r, n), GEMM_SET, p->z[i + 1], n);
    }
}

/* From dZ' to dZ; adds to dA. */
static void step_backward(const Pseudoinverse *p, const real *z, const real *dz_next, real *dz)
{
    size_t n = p->size;
    Factor dz_after = plain(dz_next, n), y = transposed(p->y, n);
    step_factors(p, z);
    /* dR = Z^T dZ' / 4 */
    gemm(n, n, n, (real)0.25, transposed(z, n), dz_after, GEMM_SET, p->dr, n);
    /* dU = -Y^T dR */
    gemm(n, n, n, -1, y, plain(p->dr, n), GEMM_SET, p->du, n);
    /* dY = -dR U^T - dU W^T + Y^T dU */
    gemm(n, n, n, -1, plain(p->dr, n), transposed(p->u, n), GEMM_SET, p->dy, n);
    gemm(n, n, n, -1, plain(p->du, n), transposed(p->w, n), GEMM_ADD, p->dy, n);
    gemm(n, n, n, 1, y, plain(p->du, n), GEMM_ADD, p->dy, n);
    /* dA += dY Z^T */
    gemm(n, n, n, 1, plain(p->dy, n), transposed(z, n), GEMM_ADD, p->da, n);
    /* dZ = dZ' R^T / 4 + A^T dY */
    gemm(n, n, n, (real)0.25, dz_after, transposed(p->r, n), GEMM_SET, dz, n);
    gemm(n, n, n, 1, transposed(p->a, n), plain(p->dy, n), GEMM_ADD, dz, n);
}

/* Z = A^T / c, where c is the largest column sum: dA = dZ^T / c, and dc = -(dZ . Z) / c is
 * added to every entry of that column. */
static void first_guess_backward(const Pseudoinverse *p, const real *dz)
{
    size_t n = p->size, largest = first_guess(p);
    real inverse = 1 / p->column_sums[largest];
    real dsum = -vector_dot(dz, p->z[0], n * n) * inverse;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            p->da[i * n + j] += dz[j * n + i] * inverse;
        p->da[i * n + largest] += dsum;
    }
}

/* Needs the matrices z of forward. */
static void pseudoinverse_backward(const Pseudoinverse *p)
{
    vector_zero(p->da, p->size * p->size);
    real *dz_next = p->dresult, *dz = p->dz;
    for (size_t i = STEPS; i-- > 0;) {
        step_backward(p, p->z[i], dz_next, dz);
        real *done = dz_next;
        dz_next = dz;
        dz = done;
    }
    first_guess_backward(p, dz_next);
}

/* --- sizes and memory --- */

size_t landmarks_segment(const AttentionHead *head)
{
    size_t segment = head->options->segment;
    return segment < head->length ? segment : head->length;
}

size_t landmarks_count(const AttentionHead *head)
{
    return (head->length - 1) / landmarks_segment(head);
}

Landmarks landmarks_lay_out(Arena *kept, Arena *work, const AttentionHead *head)
{
    size_t count = landmarks_count(head), means = count * head->width;
    Landmarks l = {.head = head};
    ARENA_REALS_EACH(kept, means, &l.q, &l.k, &l.weighted);
    ARENA_REALS_EACH(kept, count, &l.max, &l.sum);
    ARENA_REALS_EACH(work, head->length, &l.pairs, &l.dpairs);
    ARENA_REALS_EACH(work, means, &l.dq, &l.dk, &l.df, &l.g);
    l.c = arena_reals(work, count);
    Arena inverse = {0};
    lay_out_pseudoinverse(&inverse, count);
    l.inverse = arena_reals(work, arena_used_reals(&inverse));
    return l;
}

size_t landmarks_saved_reals(const AttentionHead *head)
{
    size_t count = landmarks_count(head);
    return count * (count + 1) / 2 * (head->width + 1);
}

LandmarkRows landmarks_saved(real *saved, size_t b, const AttentionHead *head)
{
    LandmarkRows rows = {.f = saved + b * (b - 1) / 2 * (head->width + 1)};
    rows.lse = rows.f + b * head->width;
    return rows;
}

/* --- means --- */

void landmarks_add(const Landmarks *l, size_t position, const real *q, const real *k)
{
    size_t segment = landmarks_segment(l->head), width = l->head->width;
    size_t landmark = position / segment;
    if (landmark == landmarks_count(l->head))
        return;
    real *q_mean = l->q + landmark * width, *k_mean = l->k + landmark * width;
    if (position % segment == 0) {
        vector_zero(q_mean, width);
        vector_zero(k_mean, width);
    }
    vector_add_scaled(q_mean, q, 1 / (real)segment, width);
    vector_add_scaled(k_mean, k, 1 / (real)segment, width);
}

void landmarks_add_all(const Landmarks *l, const AttentionData *data)
{
    size_t stride = l->head->stride;
    for (size_t i = 0; i < landmarks_count(l->head) * landmarks_segment(l->head); i++)
        landmarks_add(l, i, data->q + i * stride, data->k + i * stride);
}

/* --- A and M --- */

/* A = softmax(Q~ K~^T / sqrt(D)), and its pseudoinverse */
static void invert(const Pseudoinverse *inverse, const Landmarks *l)
{
    size_t b = inverse->size, width = l->head->width;
    gemm(b, b, width, attention_scale(l->head), plain(l->q, width), transposed(l->k, width),
         GEMM_SET, inverse->a, b);
    for (size_t i = 0; i < b; i++)
        online_softmax_whole(inverse->a + i * b, b);
    pseudoinverse_forward(inverse);
}

void landmarks_values(const Landmarks *l, size_t b, const real *f, real *values)
{
    Pseudoinverse inverse = pseudoinverse_at(l->inverse, b);
    size_t width = l->head->width;
    invert(&inverse, l);
    /* M = A^+ F */
    gemm(b, width, b, 1, plain(inverse.result, b), plain(f, width), GEMM_SET, values, width);
}

static void invert_backward(const Pseudoinverse *inverse, const Landmarks *l)
{
    size_t b = inverse->size, width = l->head->width;
    pseudoinverse_backward(inverse);
    for (size_t i = 0; i < b; i++)
        online_softmax_whole_backward(inverse->da + i * b, inverse->a + i * b, b);
    /* dQ~ += dS K~ / sqrt(D)      dK~ += dS^T Q~ / sqrt(D) */
    gemm(b, width, b, attention_scale(l->head), plain(inverse->da, b), plain(l->k, width),
         GEMM_ADD, l->dq, width);
    gemm(b, width, b, attention_scale(l->head), transposed(inverse->da, b), plain(l->q, width),
         GEMM_ADD, l->dk, width);
}

/* M = Z F with Z = A^+:  dZ = dM F^T,  dF = Z^T dM */
static void values_backward(const Landmarks *l, size_t b, const real *f, const real *dvalues)
{
    Pseudoinverse inverse = pseudoinverse_at(l->inverse, b);
    size_t width = l->head->width;
    Factor dm = plain(dvalues, width);
    gemm(b, b, width, 1, dm, transposed(f, width), GEMM_SET, inverse.dresult, b);
    gemm(b, width, b, 1, transposed(inverse.result, b), dm, GEMM_SET, l->df, width);
    invert_backward(&inverse, l);
}

/* --- F --- */

/* A block of landmarks and positions that meet. */
typedef struct Meeting {
    size_t landmark, landmarks, position, positions;
} Meeting;

/* With b landmarks, all meet the new last segment ... */
static Meeting all_meet_last(size_t b, size_t segment)
{
    return (Meeting){0, b, (b - 1) * segment, segment};
}

/* ... and its landmark meets all earlier positions. */
static Meeting last_meets_all(size_t b, size_t segment)
{
    return (Meeting){b - 1, 1, 0, (b - 1) * segment};
}

/* S = Q~ K^T / sqrt(D) */
static void meeting_scores(const Landmarks *l, const LandmarkSequence *sequence, Meeting m)
{
    size_t width = l->head->width;
    gemm(m.landmarks, m.positions, width, attention_scale(l->head),
         plain(l->q + m.landmark * width, width),
         transposed(sequence->k + m.position * sequence->stride, sequence->stride), GEMM_SET,
         l->pairs, m.positions);
}

static void meet(const Landmarks *l, const LandmarkSequence *sequence, Meeting m)
{
    size_t width = l->head->width;
    if (m.positions == 0)
        return;
    meeting_scores(l, sequence, m);
    real *weighted = l->weighted + m.landmark * width;
    for (size_t i = 0; i < m.landmarks; i++) {
        size_t row = m.landmark + i;
        real factor = online_softmax_absorb(l->pairs + i * m.positions, m.positions,
                                            &l->max[row], &l->sum[row]);
        for (size_t j = 0; j < width; j++)
            weighted[i * width + j] *= factor;
    }
    /* F += P V, before the division */
    gemm(m.landmarks, width, m.positions, 1, plain(l->pairs, m.positions),
         plain(sequence->v + m.position * sequence->stride, sequence->stride), GEMM_ADD,
         weighted, width);
}

/* Computes F and L from the sums. */
static void divide(const Landmarks *l, size_t b, LandmarkRows rows)
{
    size_t width = l->head->width;
    for (size_t row = 0; row < b; row++) {
        real share = 1 / l->sum[row];
        for (size_t j = 0; j < width; j++)
            rows.f[row * width + j] = l->weighted[row * width + j] * share;
        rows.lse[row] = online_softmax_lse(l->max[row], l->sum[row]);
    }
}

void landmarks_complete(const Landmarks *l, size_t b, const LandmarkSequence *sequence,
                        LandmarkRows rows, real *values)
{
    size_t segment = landmarks_segment(l->head), width = l->head->width;
    online_softmax_start(&l->max[b - 1], &l->sum[b - 1]);
    vector_zero(l->weighted + (b - 1) * width, width);
    meet(l, sequence, last_meets_all(b, segment));
    meet(l, sequence, all_meet_last(b, segment));
    divide(l, b, rows);
    landmarks_values(l, b, rows.f, values);
}

/* --- backward --- */

/* Computes G and C from those of b + 1 landmarks; the last b has none, and lse is NULL. */
static void accumulate(const Landmarks *l, size_t b, LandmarkRows rows, const real *later_lse)
{
    size_t width = l->head->width;
    for (size_t row = 0; row < b; row++) {
        real factor = later_lse ? vector_exp(rows.lse[row] - later_lse[row]) : 0;
        real *restrict g = l->g + row * width;
        const real *df = l->df + row * width;
        for (size_t i = 0; i < width; i++)
            g[i] = df[i] + factor * g[i];
        l->c[row] = vector_dot(df, rows.f + row * width, width) + factor * l->c[row];
    }
}

static void meet_backward(const Landmarks *l, const AttentionData *data, Meeting m,
                          const real *lse)
{
    size_t width = l->head->width, stride = l->head->stride, at = m.position * stride;
    const real *g = l->g + m.landmark * width, *q = l->q + m.landmark * width;
    const LandmarkSequence sequence = {data->k, data->v, stride};
    if (m.positions == 0)
        return;
    meeting_scores(l, &sequence, m);
    /* dP = G V^T */
    gemm(m.landmarks, m.positions, width, 1, plain(g, width), transposed(data->v + at, stride),
         GEMM_SET, l->dpairs, m.positions);
    for (size_t i = 0; i < m.landmarks; i++)
        online_softmax_backward(l->pairs + i * m.positions, l->dpairs + i * m.positions,
                                m.positions, lse[m.landmark + i], l->c[m.landmark + i]);
    /* dV += P^T G */
    gemm(m.positions, width, m.landmarks, 1, transposed(l->pairs, m.positions), plain(g, width),
         GEMM_ADD, data->dv + at, stride);
    /* dQ~ += dS K / sqrt(D) */
    gemm(m.landmarks, width, m.positions, attention_scale(l->head),
         plain(l->dpairs, m.positions), plain(data->k + at, stride), GEMM_ADD,
         l->dq + m.landmark * width, width);
    /* dK += dS^T Q~ / sqrt(D) */
    gemm(m.positions, width, m.landmarks, attention_scale(l->head),
         transposed(l->dpairs, m.positions), plain(q, width), GEMM_ADD, data->dk + at, stride);
}

void landmarks_begin_backward(const Landmarks *l)
{
    size_t count = landmarks_count(l->head), means = count * l->head->width;
    vector_zero(l->dq, means);
    vector_zero(l->dk, means);
    vector_zero(l->g, means);
    vector_zero(l->c, count);
}

void landmarks_backward(const Landmarks *l, size_t b, const AttentionData *data, real *saved,
                        const real *dvalues)
{
    const AttentionHead *head = l->head;
    size_t segment = landmarks_segment(head);
    LandmarkRows rows = landmarks_saved(saved, b, head);
    bool last = b == landmarks_count(head);
    values_backward(l, b, rows.f, dvalues);
    accumulate(l, b, rows, last ? NULL : landmarks_saved(saved, b + 1, head).lse);
    meet_backward(l, data, last_meets_all(b, segment), rows.lse);
    meet_backward(l, data, all_meet_last(b, segment), rows.lse);
}

/* Distributes the gradient of a mean over its positions. */
void landmarks_end_backward(const Landmarks *l, const AttentionData *data)
{
    size_t segment = landmarks_segment(l->head), width = l->head->width;
    for (size_t i = 0; i < landmarks_count(l->head) * segment; i++) {
        size_t at = i * l->head->stride, mean = i / segment * width;
        vector_add_scaled(data->dq + at, l->dq + mean, 1 / (real)segment, width);
        vector_add_scaled(data->dk + at, l->dk + mean, 1 / (real)segment, width);
    }
}
