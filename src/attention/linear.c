/* Linear attention (Katharopoulos et al. 2020): the exponential of q . k is replaced by a
 * product of positive features, f(x) = elu(x) + 1, and then the sums factor:
 *
 *   o_i = sum over j <= i of (f(q_i) . f(k_j)) v_j  =  f(q_i) S_i,    S_i = sum of f(k_j)^T v_j
 *   y_i = o_i / (f(q_i) . z_i + eps),                                 z_i = sum of f(k_j)
 *
 * S is a D by D matrix whatever the length: the past in a box of fixed size. One position after
 * another, that is a recurrent network; all pairs at once, it is a product of T by T matrices.
 * We do both: positions are taken in chunks of 64, pairs inside a chunk go through a small
 * masked product, and everything before the chunk comes through S.
 *
 *   forward, chunk by chunk:      P = tril(Q K^T)    O = P V + Q S    S += K^T V
 *   backward, last chunk first:   A = tril(dO V^T)   dQ = A K + dO S^T
 *                                 dK = A^T Q + V dS^T      dV = P^T dO + K dS     dS += Q^T dO
 *
 * where S is the state at the chunk's start and dS the gradient of the state at its end. The
 * denominator is a sum over j too, one vector z instead of the matrix S; it has its own way
 * through the backward pass, easy to forget. Rotary angles turn the features in the numerator
 * only: turned features can have negative products, and a denominator must not. */
#include "src/attention/attention.h"
#include "src/attention/triangle.h"
#include "src/layers/rotary.h"
#include "src/vector.h"

#define CHUNK   ((size_t)64)
#define SPAN    (4 * CHUNK)
#define EPSILON ((real)1e-6)

/* --- features --- */

static void feature_forward(real *restrict y, const real *restrict x, size_t width)
{
    for (size_t i = 0; i < width; i++)
        y[i] = vector_exp(x[i] > 0 ? 0 : x[i]) + (x[i] > 0 ? x[i] : 0);
}

/* f'(x) is 1 where y > 1, and y itself elsewhere. */
static void feature_backward(real *restrict dx, const real *restrict y, size_t width)
{
    for (size_t i = 0; i < width; i++)
        dx[i] *= y[i] < 1 ? y[i] : 1;
}

/* --- memory --- */

/* Forward leaves every denominator, and S and z as they are at the start of each span of chunks
 * but the first, where they are zero. Backward computes the states inside a span again, which
 * costs less than to fetch them from far memory. */
typedef struct Saved {
    real *denominators; /* (T) */
    real *states;       /* (spans - 1, D*D + D) */
} Saved;

static size_t state_size(const AttentionHead *head)
{
    return head->width * head->width + head->width;
}

static size_t later_spans(const AttentionHead *head)
{
    return head->length ? (head->length - 1) / SPAN : 0;
}

static size_t saved_reals(const AttentionHead *head)
{
    return head->length + later_spans(head) * state_size(head);
}

static Saved saved_of(real *saved, const AttentionHead *head)
{
    return (Saved){saved, saved + head->length};
}

/* One chunk at work. */
typedef struct Chunk {
    size_t start, rows;
    real *q, *k;               /* (rows, D) features */
    real *q_turned, *k_turned; /* the same memory when there are no angles */
    Triangle p, a;             /* (rows, rows) */
    real *dout;                /* (rows, D) gradient before the division */
    real *dn;                  /* (rows) gradient of the denominators */
    real *z;                   /* (D) up to the row at hand */
    real *states;              /* (1 or chunks of a span, D*D + D) S and z at a chunk's start */
    real *dstate;              /* dS and dz at a chunk's end */
} Chunk;

static size_t scratch_reals(const AttentionHead *head)
{
    return 5 * CHUNK * head->width + 2 * CHUNK * CHUNK + CHUNK + head->width +
           (SPAN / CHUNK + 1) * state_size(head);
}

static Chunk chunk_of(real *scratch, const AttentionHead *head)
{
    size_t block = CHUNK * head->width;
    Chunk c = {.q = scratch, .k = scratch + block};
    c.q_turned = head->rotary ? c.k + block : c.q;
    c.k_turned = head->rotary ? c.k + 2 * block : c.k;
    c.dout = c.k + 3 * block;
    c.p = (Triangle){.at = c.dout + block, .stride = CHUNK};
    c.a = (Triangle){.at = c.p.at + CHUNK * CHUNK, .stride = CHUNK};
    c.dn = c.a.at + CHUNK * CHUNK;
    c.z = c.dn + CHUNK;
    c.dstate = c.z + head->width;
    c.states = c.dstate + state_size(head);
    return c;
}

static void move_to(Chunk *c, size_t start, const AttentionHead *head)
{
    size_t left = head->length - start;
    c->start = start;
    c->rows = c->p.rows = c->a.rows = left < CHUNK ? left : CHUNK;
}

/* Asks for a row of the next chunk, to be there when its turn comes. */
static void fetch(const real *x, size_t row, size_t stride, const AttentionHead *head)
{
    enum { LINE = 64 / sizeof(real) };
    for (size_t i = 0; row < head->length && i < head->width; i += LINE)
        __builtin_prefetch(x + row * stride + i);
}

/* The chunk's rows of q or k as features, and turned where there are angles. */
static void load_features(real *features, real *turned, const real *x, const Chunk *c,
                          const AttentionHead *head)
{
    size_t width = head->width;
    for (size_t i = 0; i < c->rows; i++) {
        size_t row = c->start + i;
        fetch(x, row + CHUNK, head->stride, head);
        feature_forward(features + i * width, x + row * head->stride, width);
        if (!head->rotary)
            continue;
        memcpy(turned + i * width, features + i * width, width * sizeof(real));
        rotary_turn(turned + i * width, head->rotary + row * width, width, false);
    }
}

/* --- forward --- */

/* z += k;  f(q) . z */
static real next_denominator(real *restrict z, const real *restrict k, const real *restrict q,
                             size_t width)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < width; i++) {
        z[i] += k[i];
        sum += q[i] * z[i];
    }
    return sum + EPSILON;
}

/* Takes z from the chunk's start to its end. */
static void divide(real *out, real *denominators, real *z, const real *v, const Chunk *c,
                   const AttentionHead *head)
{
    size_t width = head->width;
    for (size_t i = 0; i < c->rows; i++) {
        size_t row = c->start + i;
        fetch(v, row + CHUNK, head->stride, head);
        fetch(out, row + CHUNK, head->out_stride, head);
        real denominator = next_denominator(z, c->k + i * width, c->q + i * width, width);
        real inverse = 1 / denominator;
        real *restrict y = out + row * head->out_stride;
        for (size_t j = 0; j < width; j++)
            y[j] *= inverse;
        denominators[row] = denominator;
    }
}

/* Takes S from the chunk's start to its end: S += K^T V. */
static void advance(real *s, const Chunk *c, const real *v, const AttentionHead *head)
{
    size_t width = head->width;
    gemm(width, width, c->rows, 1, transposed(c->k_turned, width), plain(v, head->stride),
         GEMM_ADD, s, width);
}

static void forward(real *out, real *saved_memory, real *scratch, const real *q, const real *k,
                    const real *v, const AttentionHead *head)
{
    size_t width = head->width, size = state_size(head);
    Saved saved = saved_of(saved_memory, head);
    Chunk c = chunk_of(scratch, head);
    real *s = c.states, *z = s + width * width;
    vector_zero(s, size);
    for (size_t start = 0; start < head->length; start += CHUNK) {
        move_to(&c, start, head);
        load_features(c.q, c.q_turned, q, &c, head);
        load_features(c.k, c.k_turned, k, &c, head);
        if (start > 0 && start % SPAN == 0)
            memcpy(saved.states + (start / SPAN - 1) * size, s, size * sizeof(real));
        const real *v_chunk = v + start * head->stride;
        real *o = out + start * head->out_stride;
        triangle_product(c.p, plain(c.q_turned, width), plain(c.k_turned, width), width);
        /* O = Q S */
        gemm(c.rows, width, width, 1, plain(c.q_turned, width), plain(s, width), GEMM_SET, o,
             head->out_stride);
        /* O += P V */
        triangle_add(o, head->out_stride, c.p, plain(v_chunk, head->stride), width);
        divide(out, saved.denominators, z, v, &c, head);
        advance(s, &c, v_chunk, head);
    }
}

/* --- backward --- */

/* y = o / n:  do = dy / n,  dn = -(dy . y) / n */
static void divide_backward(Chunk *c, const real *dout, const real *out,
                            const real *denominators, const AttentionHead *head)
{
    size_t width = head->width;
    for (size_t i = 0; i < c->rows; i++) {
        size_t row = c->start + i;
        const real *dy = dout + row * head->out_stride, *y = out + row * head->out_stride;
        real *restrict gradient = c->dout + i * width;
        real inverse = 1 / denominators[row];
        for (size_t j = 0; j < width; j++)
            gradient[j] = dy[j] * inverse;
        c->dn[i] = -vector_dot(dy, y, width) * inverse;
    }
}

static void products_backward(const Chunk *c, real *dq, real *dk, real *dv, const real *s,
                              const real *v, const AttentionHead *head)
{
    size_t width = head->width, stride = head->stride;
    real *ds = c->dstate;
    Factor q = plain(c->q_turned, width), k = plain(c->k_turned, width);
    Factor dout = plain(c->dout, width);
    triangle_product(c->p, q, k, width);
    triangle_product(c->a, dout, plain(v, stride), width);
    /* dQ = dO S^T + A K */
    gemm(c->rows, width, width, 1, dout, transposed(s, width), GEMM_SET, dq, stride);
    triangle_add(dq, stride, c->a, k, width);
    /* dK = V dS^T + A^T Q */
    gemm(c->rows, width, width, 1, plain(v, stride), transposed(ds, width), GEMM_SET, dk,
         stride);
    triangle_transposed_add(dk, stride, c->a, q, width);
    /* dV = K dS + P^T dO */
    gemm(c->rows, width, width, 1, k, plain(ds, width), GEMM_SET, dv, stride);
    triangle_transposed_add(dv, stride, c->p, dout, width);
    /* dS += Q^T dO */
    gemm(width, width, c->rows, 1, transposed(c->q_turned, width), dout, GEMM_ADD, ds, width);
}

/* n_i = q_i . z_i with z_i the sum of k_j up to i:  dq_i += dn_i z_i, and k_j gets the sum of
 * dn_i q_i from j on, which runs backwards across chunks in dz. */
static void denominator_backward(const Chunk *c, real *dq, real *dk, const real *z_at_start,
                                 const AttentionHead *head)
{
    size_t width = head->width;
    real *dz = c->dstate + width * width;
    memcpy(c->z, z_at_start, width * sizeof(real));
    for (size_t i = 0; i < c->rows; i++) {
        vector_add_scaled(c->z, c->k + i * width, 1, width);
        vector_add_scaled(dq + i * head->stride, c->z, c->dn[i], width);
    }
    for (size_t i = c->rows; i-- > 0;) {
        vector_add_scaled(dz, c->q + i * width, c->dn[i], width);
        vector_add_scaled(dk + i * head->stride, dz, 1, width);
    }
}

/* The states at the starts of a span's chunks, from the one that forward has left. */
static void compute_states(Chunk *c, size_t first, size_t end, Saved saved, const real *k,
                           const real *v, const AttentionHead *head)
{
    size_t size = state_size(head);
    if (first == 0)
        vector_zero(c->states, size);
    else
        memcpy(c->states, saved.states + (first / SPAN - 1) * size, size * sizeof(real));
    real *state = c->states;
    for (size_t start = first; start + CHUNK < end; start += CHUNK, state += size) {
        move_to(c, start, head);
        load_features(c->k, c->k_turned, k, c, head);
        memcpy(state + size, state, size * sizeof(real));
        advance(state + size, c, v + start * head->stride, head);
        for (size_t i = 0; i < c->rows; i++)
            vector_add_scaled(state + 2 * size - head->width, c->k + i * head->width, 1,
                              head->width);
    }
}

static void chunk_backward(Chunk *c, real *dq, real *dk, real *dv, const real *state,
                           const real *v, const AttentionHead *head)
{
    size_t width = head->width, stride = head->stride;
    products_backward(c, dq, dk, dv, state, v, head);
    for (size_t i = 0; head->rotary && i < c->rows; i++) {
        const real *angles = head->rotary + (c->start + i) * width;
        rotary_turn(dq + i * stride, angles, width, true);
        rotary_turn(dk + i * stride, angles, width, true);
    }
    denominator_backward(c, dq, dk, state + width * width, head);
    for (size_t i = 0; i < c->rows; i++) {
        feature_backward(dq + i * stride, c->q + i * width, width);
        feature_backward(dk + i * stride, c->k + i * width, width);
    }
}

static void backward(real *dq, real *dk, real *dv, const real *dout, const real *out,
                     const real *saved_memory, real *scratch, const real *q, const real *k,
                     const real *v, const AttentionHead *head)
{
    size_t size = state_size(head);
    Saved saved = saved_of((real *)saved_memory, head);
    Chunk c = chunk_of(scratch, head);
    vector_zero(c.dstate, size);
    for (size_t span = later_spans(head) + 1; span-- > 0;) {
        size_t first = span * SPAN;
        size_t end = first + SPAN < head->length ? first + SPAN : head->length;
        compute_states(&c, first, end, saved, k, v, head);
        for (size_t chunk = (end - first + CHUNK - 1) / CHUNK; chunk-- > 0;) {
            size_t start = first + chunk * CHUNK, at = start * head->stride;
            move_to(&c, start, head);
            load_features(c.q, c.q_turned, q, &c, head);
            load_features(c.k, c.k_turned, k, &c, head);
            divide_backward(&c, dout, out, saved.denominators, head);
            chunk_backward(&c, dq + at, dk + at, dv + at, c.states + chunk * size, v + at,
                           head);
        }
    }
}

/* --- decoding: the recurrent form --- */

static void step(real *out, real *state, real *scratch, const real *q, const real *k,
                 const real *v, size_t position, const AttentionHead *head)
{
    (void)position;
    size_t width = head->width;
    real *s = state, *z = state + width * width, *fq = scratch, *fk = scratch + width;
    feature_forward(fq, q, width);
    feature_forward(fk, k, width);
    vector_add_scaled(z, fk, 1, width);
    real denominator = vector_dot(fq, z, width) + EPSILON;
    if (head->rotary) {
        rotary_turn(fq, head->rotary, width, false);
        rotary_turn(fk, head->rotary, width, false);
    }
    vector_zero(out, width);
    for (size_t i = 0; i < width; i++) {
        vector_add_scaled(s + i * width, v, fk[i], width);
        vector_add_scaled(out, s + i * width, fq[i] / denominator, width);
    }
}

/* For each position: two products with half a chunk, and the state read and written. */
static double flop(const AttentionHead *head)
{
    double width = (double)head->width;
    return (double)head->length * (2 * (double)CHUNK * width + 4 * width * width);
}

const AttentionKind attention_linear = {
    .name = "linear",
    .help = "features elu(x)+1 instead of the exponential; time grows with the length",
    .turns_itself = true,
    .finite_state = true,
    .saved_reals = saved_reals,
    .scratch_reals = scratch_reals,
    .state_reals = state_size,
    .flop = flop,
    .forward = forward,
    .backward = backward,
    .step = step,
};
