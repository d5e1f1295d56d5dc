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
#include "src/gemm.h"
#include "src/layers/rotary.h"
#include "src/vector.h"

#define CHUNK   ((size_t)64)
#define EPSILON ((real)1e-6)

/* --- features --- */

static void feature_forward(real *restrict y, const real *restrict x, size_t width)
{
    for (size_t i = 0; i < width; i++)
        y[i] = x[i] > 0 ? x[i] + 1 : vector_exp(x[i]);
}

/* f'(x) is 1 where y > 1, and y itself elsewhere. */
static void feature_backward(real *restrict dx, const real *restrict y, size_t width)
{
    for (size_t i = 0; i < width; i++)
        dx[i] *= y[i] < 1 ? y[i] : 1;
}

/* --- memory --- */

/* Forward leaves every denominator, and S and z as they are at the start of each chunk. */
typedef struct Saved {
    real *denominators; /* (T) */
    real *states;       /* (chunks, D*D + D) */
} Saved;

static size_t state_size(const AttentionHead *head)
{
    return head->width * head->width + head->width;
}

static size_t saved_reals(const AttentionHead *head)
{
    return head->length + (head->length + CHUNK - 1) / CHUNK * state_size(head);
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
    real *p, *a;               /* (rows, rows) */
    real *dout;                /* (rows, D) gradient before the division */
    real *dn;                  /* (rows) gradient of the denominators */
    real *state;               /* running S and z, or dS and dz */
    real *z;                   /* (D) a running z for backward */
} Chunk;

static size_t scratch_reals(const AttentionHead *head)
{
    return 5 * CHUNK * head->width + 2 * CHUNK * CHUNK + CHUNK + state_size(head) + head->width;
}

static Chunk chunk_of(real *scratch, const AttentionHead *head)
{
    size_t block = CHUNK * head->width;
    Chunk c = {.q = scratch, .k = scratch + block};
    c.q_turned = head->rotary ? c.k + block : c.q;
    c.k_turned = head->rotary ? c.k + 2 * block : c.k;
    c.dout = c.k + 3 * block;
    c.p = c.dout + block;
    c.a = c.p + CHUNK * CHUNK;
    c.dn = c.a + CHUNK * CHUNK;
    c.state = c.dn + CHUNK;
    c.z = c.state + state_size(head);
    return c;
}

static void load_features(Chunk *c, size_t start, const real *q, const real *k,
                          const AttentionHead *head)
{
    size_t width = head->width, left = head->length - start;
    c->start = start;
    c->rows = left < CHUNK ? left : CHUNK;
    for (size_t i = 0; i < c->rows; i++) {
        feature_forward(c->q + i * width, q + (start + i) * head->stride, width);
        feature_forward(c->k + i * width, k + (start + i) * head->stride, width);
    }
    if (!head->rotary)
        return;
    memcpy(c->q_turned, c->q, c->rows * width * sizeof(real));
    memcpy(c->k_turned, c->k, c->rows * width * sizeof(real));
    for (size_t i = 0; i < c->rows; i++) {
        const real *angles = head->rotary + (start + i) * width;
        rotary_turn(c->q_turned + i * width, angles, width, false);
        rotary_turn(c->k_turned + i * width, angles, width, false);
    }
}

/* M = tril(A B^T): inside a chunk, of what a position meets at or before itself. */
static void masked_product(real *m, const real *a, size_t a_stride, const real *b,
                           size_t b_stride, const Chunk *c, size_t width)
{
    gemm(c->rows, c->rows, width, 1, plain(a, a_stride), transposed(b, b_stride), GEMM_SET, m,
         CHUNK);
    for (size_t i = 0; i < c->rows; i++)
        vector_zero(m + i * CHUNK + i + 1, c->rows - i - 1);
}

/* --- forward --- */

static void divide(real *out, real *denominators, real *z, const Chunk *c,
                   const AttentionHead *head)
{
    size_t width = head->width;
    for (size_t i = 0; i < c->rows; i++) {
        vector_add_scaled(z, c->k + i * width, 1, width);
        real denominator = vector_dot(c->q + i * width, z, width) + EPSILON;
        real *restrict y = out + (c->start + i) * head->out_stride;
        for (size_t j = 0; j < width; j++)
            y[j] /= denominator;
        denominators[c->start + i] = denominator;
    }
}

static void forward(real *out, real *saved_memory, real *scratch, const real *q, const real *k,
                    const real *v, const AttentionHead *head)
{
    size_t width = head->width, size = state_size(head);
    Saved saved = saved_of(saved_memory, head);
    Chunk c = chunk_of(scratch, head);
    real *s = c.state, *z = c.state + width * width;
    vector_zero(c.state, size);
    for (size_t start = 0; start < head->length; start += CHUNK) {
        load_features(&c, start, q, k, head);
        memcpy(saved.states + start / CHUNK * size, c.state, size * sizeof(real));
        const real *v_chunk = v + start * head->stride;
        real *o = out + start * head->out_stride;
        masked_product(c.p, c.q_turned, width, c.k_turned, width, &c, width);
        /* O = P V */
        gemm(c.rows, width, c.rows, 1, plain(c.p, CHUNK), plain(v_chunk, head->stride),
             GEMM_SET, o, head->out_stride);
        /* O += Q S */
        gemm(c.rows, width, width, 1, plain(c.q_turned, width), plain(s, width), GEMM_ADD, o,
             head->out_stride);
        /* S += K^T V */
        gemm(width, width, c.rows, 1, transposed(c.k_turned, width),
             plain(v_chunk, head->stride), GEMM_ADD, s, width);
        divide(out, saved.denominators, z, &c, head);
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
        for (size_t j = 0; j < width; j++)
            gradient[j] = dy[j] / denominators[row];
        c->dn[i] = -vector_dot(dy, y, width) / denominators[row];
    }
}

static void products_backward(const Chunk *c, real *dq, real *dk, real *dv, real *ds,
                              const real *s, const real *v, const AttentionHead *head)
{
    size_t width = head->width, stride = head->stride;
    masked_product(c->p, c->q_turned, width, c->k_turned, width, c, width);
    masked_product(c->a, c->dout, width, v, stride, c, width);
    /* dQ = A K + dO S^T */
    gemm(c->rows, width, c->rows, 1, plain(c->a, CHUNK), plain(c->k_turned, width), GEMM_SET,
         dq, stride);
    gemm(c->rows, width, width, 1, plain(c->dout, width), transposed(s, width), GEMM_ADD, dq,
         stride);
    /* dK = A^T Q + V dS^T */
    gemm(c->rows, width, c->rows, 1, transposed(c->a, CHUNK), plain(c->q_turned, width),
         GEMM_SET, dk, stride);
    gemm(c->rows, width, width, 1, plain(v, stride), transposed(ds, width), GEMM_ADD, dk,
         stride);
    /* dV = P^T dO + K dS */
    gemm(c->rows, width, c->rows, 1, transposed(c->p, CHUNK), plain(c->dout, width), GEMM_SET,
         dv, stride);
    gemm(c->rows, width, width, 1, plain(c->k_turned, width), plain(ds, width), GEMM_ADD, dv,
         stride);
    /* dS += Q^T dO */
    gemm(width, width, c->rows, 1, transposed(c->q_turned, width), plain(c->dout, width),
         GEMM_ADD, ds, width);
}

/* n_i = q_i . z_i with z_i the sum of k_j up to i:  dq_i += dn_i z_i, and k_j gets the sum of
 * dn_i q_i from j on, which runs backwards across chunks in dz. */
static void denominator_backward(const Chunk *c, real *dq, real *dk, real *dz,
                                 const real *z_at_start, const AttentionHead *head)
{
    size_t width = head->width;
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

static void backward(real *dq, real *dk, real *dv, const real *dout, const real *out,
                     const real *saved_memory, real *scratch, const real *q, const real *k,
                     const real *v, const AttentionHead *head)
{
    size_t width = head->width, stride = head->stride, size = state_size(head);
    Saved saved = saved_of((real *)saved_memory, head);
    Chunk c = chunk_of(scratch, head);
    real *ds = c.state, *dz = c.state + width * width;
    vector_zero(c.state, size);
    for (size_t chunk = (head->length + CHUNK - 1) / CHUNK; chunk-- > 0;) {
        const real *s = saved.states + chunk * size, *z = s + width * width;
        size_t start = chunk * CHUNK;
        real *dq_chunk = dq + start * stride, *dk_chunk = dk + start * stride;
        load_features(&c, start, q, k, head);
        divide_backward(&c, dout, out, saved.denominators, head);
        products_backward(&c, dq_chunk, dk_chunk, dv + start * stride, ds, s,
                          v + start * stride, head);
        for (size_t i = 0; head->rotary && i < c.rows; i++) {
            const real *angles = head->rotary + (start + i) * width;
            rotary_turn(dq_chunk + i * stride, angles, width, true);
            rotary_turn(dk_chunk + i * stride, angles, width, true);
        }
        denominator_backward(&c, dq_chunk, dk_chunk, dz, z, head);
        for (size_t i = 0; i < c.rows; i++) {
            feature_backward(dq_chunk + i * stride, c.q + i * width, width);
            feature_backward(dk_chunk + i * stride, c.k + i * width, width);
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

/* For each position: two products inside its chunk, and the state read and written. */
static double flop(const AttentionHead *head)
{
    double width = (double)head->width;
    return (double)head->length * (4 * (double)CHUNK * width + 4 * width * width);
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
