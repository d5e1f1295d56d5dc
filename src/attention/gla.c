/* Gated linear attention (Yang et al. 2023): every feature of the keys decays at a rate of its
 * own, which depends on the position. The D decays a_i multiply the rows of the state,
 *
 *   S_i = a_i S_(i-1) + k_i^T v_i,    o_i = q_i S_i / sqrt(D),    a_i = sigmoid(gates)^(1/16)
 *
 * The chunkwise form, with chunks of 32 positions: let G_i be the sum of log a from the chunk's
 * start up to i, for each feature. A pair has the weight sum over features of
 * q_i k_j exp(G_i - G_j). With a reference R for each feature it is a product again, of
 *
 *   Q' = Q exp(G - R) / sqrt(D)      K' = K exp(R - G)
 *
 * Let B = exp(R), E = exp(G_last - R) and W = exp(G_last); after a matrix they multiply its
 * columns, before it its rows.
 *
 *   forward:   P = tril(Q' K'^T)     O = P V + (Q' B) S          S = W S + (K' E)^T V
 *
 *   backward:  A = tril(dO V^T)      dQ' = A K' + (dO S^T) B     dV = P^T dO + (K' E) dS
 *                                    dK' = A^T Q' + (V dS^T) E   dS = W dS + (Q' B)^T dO
 *
 *   dlog a_i = <S, dS> at the chunk's end + sum over j >= i of Q'_j dQ'_j - K'_j dK'_j
 *
 * for each feature; decay.c derives the last line. R lies in the middle of the chunk and log a
 * is at least -2.5, so no exponent exceeds 40, and those above the diagonal, which belong to no
 * pair, stay below 80. But the middle lies in the future of the first half. So R is a whole
 * power of two: it only moves the exponents of Q' and K', the products are the same to the last
 * bit whatever R is, and no position learns anything of a later one. */
#include "src/attention/chunkwise.h"
#include "src/attention/rows.h"

enum { CHUNK = 32, SPAN = 8 };

#define ROOT ((real)16)
/* Lower gates count as this one and have no gradient: log a, 16 times smaller, is then -2.5. */
#define LEAST_GATE ((real)-40)

/* --- memory --- */

typedef struct Gla {
    Chunk at;        /* its queries and keys are Q' and K' */
    real *sums;      /* (rows, D) G */
    real *up, *down; /* (rows, D) exp(G - R) / sqrt(D), exp(R - G) */
    real *scaled;    /* (rows, D) rows times factors */
    real *powers;    /* (D) B = 2^powers */
    real *in;        /* (D) B */
    real *out;       /* (D) E */
    real *whole;     /* (D) W */
    real *dlog;      /* (D) the sum of the last equation so far */
} Gla;
_Static_assert(sizeof(Gla) <= CHUNKWISE_MOST, "the driver has room for it");

static void take(void *work, Arena *arena)
{
    Gla *c = work;
    const Chunk at = c->at;
    *c = (Gla){.at = at};
    ROWS_TAKE(arena, CHUNK * at.width, &c->sums, &c->up, &c->down, &c->scaled);
    ROWS_TAKE(arena, at.width, &c->powers, &c->in, &c->out, &c->whole, &c->dlog);
}

/* --- gates, queries and keys --- */

static real log_decay(real gate)
{
    return vector_log_sigmoid(gate < LEAST_GATE ? LEAST_GATE : gate) / ROOT;
}

static void load_sums(Gla *c)
{
    size_t width = c->at.width, stride = c->at.head->gates_stride;
    for (size_t i = 0; i < c->at.rows; i++) {
        const real *gates = c->at.data.gates + i * stride;
        real *restrict sums = c->sums + i * width;
        chunk_fetch_next(&c->at, c->at.data.gates, stride, i);
        for (size_t j = 0; j < width; j++)
            sums[j] = log_decay(gates[j]);
        if (i > 0)
            vector_add_scaled(sums, sums - width, 1, width);
    }
}

static void load_reference(Gla *c)
{
    const real log2_e = (real)1.4426950408889634;
    size_t width = c->at.width;
    const real *middle = c->sums + c->at.rows / 2 * width;
    const real *last = c->sums + (c->at.rows - 1) * width;
#pragma omp simd
    for (size_t j = 0; j < width; j++) {
        real share = middle[j] * log2_e;
        int32_t power = share > -1000 ? (int32_t)share : 0; /* no integer holds NaN */
        c->powers[j] = (real)power;
        c->in[j] = vector_exp_scaled(0, power);
        c->out[j] = vector_exp_scaled(last[j], -power);
        c->whole[j] = vector_exp(last[j]);
    }
}

/* The chunk's rows of q or k as features: factors = scale exp(sign (G - R)). */
static void load_rows(real *restrict features, real *restrict factors, const real *x,
                      real scale, real sign, const Gla *c)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    for (size_t i = 0; i < c->at.rows; i++) {
        const real *from = x + i * stride, *sums = c->sums + i * width;
        chunk_fetch_next(&c->at, x, stride, i);
        for (size_t j = 0; j < width; j++) {
            int32_t power = (int32_t)(-sign * c->powers[j]);
            real factor = scale * vector_exp_scaled(sign * sums[j], power);
            factors[i * width + j] = factor;
            features[i * width + j] = from[j] * factor;
        }
    }
}

static void load_queries(Gla *c)
{
    load_rows(c->at.q, c->up, c->at.data.q, attention_scale(c->at.head), 1, c);
}

static void load(void *work)
{
    Gla *c = work;
    load_sums(c);
    load_reference(c);
    load_rows(c->at.k, c->down, c->at.data.k, 1, -1, c);
}

/* --- products --- */

/* Y = X f, column by column */
static void scale_columns(real *y, size_t y_stride, const real *x, size_t x_stride,
                          const real *restrict factors, const Gla *c)
{
    for (size_t i = 0; i < c->at.rows; i++)
        for (size_t j = 0; j < c->at.width; j++)
            y[i * y_stride + j] = x[i * x_stride + j] * factors[j];
}

/* Y = X M, where M is a state or its gradient and may be known to be zero. */
static void through(real *y, size_t y_stride, Factor x, Factor m, bool zero, const Gla *c)
{
    size_t width = c->at.width;
    chunk_product(zero, c->at.rows, width, width, x, m, y, y_stride);
}

/* M = W M + (X f)^T Y */
static void into(real *m, const real *x, const real *factors, Factor y, const Gla *c)
{
    size_t width = c->at.width;
    rows_scale(m, width, c->whole, width, width);
    scale_columns(c->scaled, width, x, width, factors, c);
    gemm(width, width, c->at.rows, 1, transposed(c->scaled, width), y, GEMM_ADD, m, width);
}

/* --- forward --- */

/* P = tril(Q' K'^T)    O = (Q' B) S + P V */
static void read_state(void *work)
{
    Gla *c = work;
    size_t width = c->at.width, stride = c->at.head->out_stride;
    real *out = c->at.data.out;
    load_queries(c);
    triangle_product(c->at.p, plain(c->at.q, width), plain(c->at.k, width), width);
    scale_columns(c->scaled, width, c->at.q, width, c->in, c);
    through(out, stride, plain(c->scaled, width), plain(c->at.state, width), c->at.from_zeros,
            c);
    triangle_add(out, stride, c->at.p, c->at.v, width);
}

/* S = W S + (K' E)^T V */
static void advance(void *work, real *state)
{
    const Gla *c = work;
    into(state, c->at.k, c->out, c->at.v, c);
}

/* --- backward --- */

/* <S, dS> at the chunk's end, for each feature. S there is the decayed state of the start plus
 * what was written, whose share dk holds so far. */
static void start_dlog(Gla *c, const real *ds)
{
    const real *s = c->at.state, *dk = c->at.data.dk;
    size_t width = c->at.width;
    for (size_t j = 0; j < width; j++)
        c->dlog[j] = c->whole[j] * vector_dot(s + j * width, ds + j * width, width);
    for (size_t i = 0; i < c->at.rows; i++)
        for (size_t j = 0; j < width; j++)
            c->dlog[j] += c->at.k[i * width + j] * dk[i * c->at.head->stride + j];
}

static void products_backward(Gla *c, real *ds)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    bool unread = c->at.unread;
    real *dq = c->at.data.dq, *dk = c->at.data.dk, *dv = c->at.data.dv;
    Factor q = plain(c->at.q, width), k = plain(c->at.k, width), v = c->at.v, dout = c->at.dout;
    triangle_product(c->at.p, q, k, width);
    triangle_product(c->at.a, dout, v, width);
    /* dK' = (V dS^T) E + A^T Q' */
    through(dk, stride, v, transposed(ds, width), unread, c);
    scale_columns(dk, stride, dk, stride, c->out, c);
    start_dlog(c, ds);
    triangle_transposed_add(dk, stride, c->at.a, q, width);
    /* dV = (K' E) dS + P^T dO */
    scale_columns(c->scaled, width, c->at.k, width, c->out, c);
    through(dv, stride, plain(c->scaled, width), plain(ds, width), unread, c);
    triangle_transposed_add(dv, stride, c->at.p, dout, width);
    /* dQ' = (dO S^T) B + A K' */
    through(dq, stride, dout, transposed(c->at.state, width), c->at.from_zeros, c);
    scale_columns(dq, stride, dq, stride, c->in, c);
    triangle_add(dq, stride, c->at.a, k, width);
    /* dS = W dS + (Q' B)^T dO */
    if (c->at.start > 0)
        into(ds, c->at.q, c->in, dout, c);
}

/* From the gradients of features to those of the inputs. */
static void rows_backward(Gla *c)
{
    const AttentionData *data = &c->at.data;
    size_t width = c->at.width, stride = c->at.head->stride;
    size_t gates_stride = c->at.head->gates_stride;
    real *restrict dlog = c->dlog;
    for (size_t i = c->at.rows; i-- > 0;) {
        const real *q = c->at.q + i * width, *k = c->at.k + i * width;
        const real *gates = data->gates + i * gates_stride;
        const real *up = c->up + i * width, *down = c->down + i * width;
        real *restrict dq = data->dq + i * stride, *restrict dk = data->dk + i * stride;
        real *restrict dgates = data->dgates + i * gates_stride;
#pragma omp simd
        for (size_t j = 0; j < width; j++) {
            dlog[j] += q[j] * dq[j] - k[j] * dk[j];
            real slope = vector_sigmoid(-gates[j]) / ROOT;
            dgates[j] = gates[j] < LEAST_GATE ? 0 : dlog[j] * slope;
            dq[j] *= up[j];
            dk[j] *= down[j];
        }
    }
}

static void backward(void *work, real *ds)
{
    Gla *c = work;
    load_queries(c);
    products_backward(c, ds);
    rows_backward(c);
}

/* --- decoding: the recurrent form --- */

static void step(void *work, real *state)
{
    const Gla *c = work;
    const AttentionData *data = &c->at.data;
    size_t width = c->at.width;
    real scale = attention_scale(c->at.head);
    vector_zero(data->out, width);
    for (size_t i = 0; i < width; i++) {
        real *restrict s = state + i * width;
        real decay = vector_exp(log_decay(data->gates[i]));
        for (size_t j = 0; j < width; j++)
            s[j] = decay * s[j] + data->k[i] * data->v[j];
        vector_add_scaled(data->out, s, scale * data->q[i], width);
    }
}

static const Recurrence recurrence = {.chunk = CHUNK,
                                      .span = SPAN,
                                      .take = take,
                                      .load = load,
                                      .read = read_state,
                                      .advance = advance,
                                      .backward = backward,
                                      .step = step};

/* --- sizes --- */

static size_t gates(const AttentionHead *head)
{
    return head->width;
}

/* Per position: two products with half a chunk, one read and one write of the state. */
static double flop(const AttentionHead *head)
{
    double width = (double)head->width;
    return (double)head->length * (2 * (double)CHUNK * width + 4 * width * width);
}

const AttentionKind attention_gla = {
    CHUNKWISE_KIND(recurrence),
    .name = "gla",
    .help = "GLA: gated linear attention with a data-dependent decay per feature",
    .cost = "D^2",
    .knows_positions = true,
    .carry = CARRY_WHOLLY,
    .wants_norm = true,
    .wants_gate = true,
    .gates = gates,
    .gate_rank = 16,
    .flop = flop,
};
