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
#include "src/attention/triangle.h"

enum { CHUNK = 32, SPAN = 8 };

#define ROOT ((real)16)
/* Lower gates count as this one and have no gradient: log a, 16 times smaller, is then -2.5. */
#define LEAST_GATE ((real)-40)

/* --- memory --- */

/* The current chunk. */
typedef struct Chunk {
    const AttentionData *data;
    const AttentionHead *head;
    ChunkWalk walk;
    ChunkPlace at;
    real *sums;      /* (rows, D) G */
    real *up, *down; /* (rows, D) exp(G - R) / sqrt(D), exp(R - G) */
    real *q, *k;     /* (rows, D) Q' and K' */
    real *scaled;    /* (rows, D) rows times factors */
    real *powers;    /* (D) B = 2^powers */
    real *in;        /* (D) B */
    real *out;       /* (D) E */
    real *whole;     /* (D) W */
    real *dlog;      /* (D) the sum of the last equation so far */
    Triangle p, a;   /* (rows, rows) */
} Chunk;

static const ChunkEngine engine;

static size_t state_reals(const AttentionHead *head)
{
    return head->width * head->width;
}

static Chunk take_chunk(Arena *arena, const AttentionHead *head)
{
    size_t block = CHUNK * head->width;
    Chunk c = {.head = head};
    real **const blocks[] = {&c.sums, &c.up, &c.down, &c.q, &c.k, &c.scaled};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        *blocks[i] = arena_reals(arena, block);
    real **const rows[] = {&c.powers, &c.in, &c.out, &c.whole, &c.dlog};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i] = arena_reals(arena, head->width);
    c.p = (Triangle){.at = arena_reals(arena, CHUNK * CHUNK), .stride = CHUNK};
    c.a = (Triangle){.at = arena_reals(arena, CHUNK * CHUNK), .stride = CHUNK};
    c.walk = chunkwise_take(&engine, arena, head);
    return c;
}

static size_t scratch_reals(const AttentionHead *head)
{
    Arena arena = {0};
    take_chunk(&arena, head);
    return arena_used_reals(&arena);
}

static Chunk chunk_of(const AttentionData *data, const AttentionHead *head)
{
    Arena arena = arena_over(data->scratch);
    Chunk c = take_chunk(&arena, head);
    c.data = data;
    return c;
}

static size_t saved_reals(const AttentionHead *head)
{
    return chunkwise_saved_reals(&engine, head);
}

/* --- gates, queries and keys --- */

static const real *gates_of(const Chunk *c, size_t row)
{
    return c->data->gates + (c->at.start + row) * c->head->gates_stride;
}

static real log_decay(real gate)
{
    return vector_log_sigmoid(gate < LEAST_GATE ? LEAST_GATE : gate) / ROOT;
}

static void load_sums(Chunk *c)
{
    const AttentionHead *head = c->head;
    size_t width = head->width;
    for (size_t i = 0; i < c->at.rows; i++) {
        const real *gates = gates_of(c, i);
        real *restrict sums = c->sums + i * width;
        if (i < c->at.next_rows)
            vector_fetch(c->data->gates + (c->at.next + i) * head->gates_stride, width);
        for (size_t j = 0; j < width; j++)
            sums[j] = log_decay(gates[j]);
        if (i > 0)
            vector_add_scaled(sums, sums - width, 1, width);
    }
}

static void load_reference(Chunk *c)
{
    const real log2_e = (real)1.4426950408889634;
    size_t width = c->head->width;
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
                      real scale, real sign, const Chunk *c)
{
    const AttentionHead *head = c->head;
    size_t width = head->width;
    for (size_t i = 0; i < c->at.rows; i++) {
        const real *from = x + (c->at.start + i) * head->stride, *sums = c->sums + i * width;
        if (i < c->at.next_rows)
            vector_fetch(x + (c->at.next + i) * head->stride, width);
        for (size_t j = 0; j < width; j++) {
            int32_t power = (int32_t)(-sign * c->powers[j]);
            real factor = scale * vector_exp_scaled(sign * sums[j], power);
            factors[i * width + j] = factor;
            features[i * width + j] = from[j] * factor;
        }
    }
}

static void load_queries(Chunk *c)
{
    load_rows(c->q, c->up, c->data->q, 1 / (real)sqrt((double)c->head->width), 1, c);
}

static void load(void *work, const ChunkPlace *place, bool again)
{
    Chunk *c = work;
    (void)again;
    c->at = *place;
    c->p.rows = c->a.rows = place->rows;
    load_sums(c);
    load_reference(c);
    load_rows(c->k, c->down, c->data->k, 1, -1, c);
}

/* --- products --- */

/* Y = X f, column by column */
static void scale_columns(real *y, size_t y_stride, const real *x, size_t x_stride,
                          const real *restrict factors, const Chunk *c)
{
    for (size_t i = 0; i < c->at.rows; i++)
        for (size_t j = 0; j < c->head->width; j++)
            y[i * y_stride + j] = x[i * x_stride + j] * factors[j];
}

/* Y = X M, where M is a state or its gradient and may be known to be zero. */
static void through(real *y, size_t y_stride, Factor x, Factor m, bool zero, const Chunk *c)
{
    size_t width = c->head->width;
    chunkwise_product(zero, c->at.rows, width, width, x, m, y, y_stride);
}

/* M = W M + (X f)^T Y */
static void into(real *m, const real *x, const real *factors, Factor y, const Chunk *c)
{
    size_t width = c->head->width;
    rows_scale(m, width, c->whole, width, width);
    scale_columns(c->scaled, width, x, width, factors, c);
    gemm(width, width, c->at.rows, 1, transposed(c->scaled, width), y, GEMM_ADD, m, width);
}

static Factor values_of(const Chunk *c)
{
    return plain(c->data->v + c->at.start * c->head->stride, c->head->stride);
}

/* --- forward --- */

/* P = tril(Q' K'^T)    O = (Q' B) S + P V */
static void read_state(void *work)
{
    Chunk *c = work;
    size_t width = c->head->width, stride = c->head->out_stride;
    real *out = c->data->out + c->at.start * stride;
    load_queries(c);
    triangle_product(c->p, plain(c->q, width), plain(c->k, width), width);
    scale_columns(c->scaled, width, c->q, width, c->in, c);
    through(out, stride, plain(c->scaled, width), plain(c->at.state, width), c->at.from_zeros,
            c);
    triangle_add(out, stride, c->p, values_of(c), width);
}

/* S = W S + (K' E)^T V */
static void advance(void *work, real *state)
{
    const Chunk *c = work;
    into(state, c->k, c->out, values_of(c), c);
}

static void forward(const AttentionData *data, const AttentionHead *head)
{
    Chunk c = chunk_of(data, head);
    chunkwise_forward(&c.walk, &c, data->saved, data->carry);
}

/* --- backward --- */

/* Where a chunk's gradients go. */
typedef struct Gradients {
    real *dq, *dk, *dv;
    Factor dout;
} Gradients;

/* <S, dS> at the chunk's end, for each feature. S there is the decayed state of the start plus
 * what was written, whose share dk holds so far. */
static void start_dlog(Chunk *c, const real *ds, const real *dk)
{
    const real *s = c->at.state;
    size_t width = c->head->width;
    for (size_t j = 0; j < width; j++)
        c->dlog[j] = c->whole[j] * vector_dot(s + j * width, ds + j * width, width);
    for (size_t i = 0; i < c->at.rows; i++)
        for (size_t j = 0; j < width; j++)
            c->dlog[j] += c->k[i * width + j] * dk[i * c->head->stride + j];
}

static void products_backward(Chunk *c, real *ds, const Gradients *to)
{
    size_t width = c->head->width, stride = c->head->stride;
    bool unread = c->at.unread;
    Factor q = plain(c->q, width), k = plain(c->k, width);
    triangle_product(c->p, q, k, width);
    triangle_product(c->a, to->dout, values_of(c), width);
    /* dK' = (V dS^T) E + A^T Q' */
    through(to->dk, stride, values_of(c), transposed(ds, width), unread, c);
    scale_columns(to->dk, stride, to->dk, stride, c->out, c);
    start_dlog(c, ds, to->dk);
    triangle_transposed_add(to->dk, stride, c->a, q, width);
    /* dV = (K' E) dS + P^T dO */
    scale_columns(c->scaled, width, c->k, width, c->out, c);
    through(to->dv, stride, plain(c->scaled, width), plain(ds, width), unread, c);
    triangle_transposed_add(to->dv, stride, c->p, to->dout, width);
    /* dQ' = (dO S^T) B + A K' */
    through(to->dq, stride, to->dout, transposed(c->at.state, width), c->at.from_zeros, c);
    scale_columns(to->dq, stride, to->dq, stride, c->in, c);
    triangle_add(to->dq, stride, c->a, k, width);
    /* dS = W dS + (Q' B)^T dO */
    if (c->at.start > 0)
        into(ds, c->q, c->in, to->dout, c);
}

/* From the gradients of features to those of the inputs. */
static void rows_backward(Chunk *c, const Gradients *to)
{
    size_t width = c->head->width;
    real *restrict dlog = c->dlog;
    for (size_t i = c->at.rows; i-- > 0;) {
        const real *q = c->q + i * width, *k = c->k + i * width, *gates = gates_of(c, i);
        const real *up = c->up + i * width, *down = c->down + i * width;
        real *restrict dq = to->dq + i * c->head->stride;
        real *restrict dk = to->dk + i * c->head->stride;
        real *restrict dgates = c->data->dgates + (c->at.start + i) * c->head->gates_stride;
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

static void chunk_backward(void *work, real *ds)
{
    Chunk *c = work;
    const AttentionHead *head = c->head;
    const AttentionData *data = c->data;
    size_t at = c->at.start * head->stride;
    Gradients to = {data->dq + at, data->dk + at, data->dv + at,
                    plain(data->dout + c->at.start * head->out_stride, head->out_stride)};
    load_queries(c);
    products_backward(c, ds, &to);
    rows_backward(c, &to);
}

static const ChunkEngine engine = {.chunk = CHUNK,
                                   .span = SPAN,
                                   .state_reals = state_reals,
                                   .load = load,
                                   .read = read_state,
                                   .advance = advance,
                                   .backward = chunk_backward};

static void backward(const AttentionData *data, const AttentionHead *head)
{
    Chunk c = chunk_of(data, head);
    chunkwise_backward(&c.walk, &c, data->saved);
}

/* --- decoding: the recurrent form --- */

static void step(const AttentionData *data, real *state, size_t position,
                 const AttentionHead *head)
{
    (void)position;
    size_t width = head->width;
    real scale = 1 / (real)sqrt((double)width);
    vector_zero(data->out, width);
    for (size_t i = 0; i < width; i++) {
        real *restrict s = state + i * width;
        real decay = vector_exp(log_decay(data->gates[i]));
        for (size_t j = 0; j < width; j++)
            s[j] = decay * s[j] + data->k[i] * data->v[j];
        vector_add_scaled(data->out, s, scale * data->q[i], width);
    }
}

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
    .name = "gla",
    .help = "GLA: gated linear attention with a data-dependent decay per feature",
    .cost = "D^2",
    .knows_positions = true,
    .finite_state = true,
    .carry = CARRY_WHOLLY,
    .wants_norm = true,
    .wants_gate = true,
    .saved_reals = saved_reals,
    .scratch_reals = scratch_reals,
    .state_reals = state_reals,
    .gates = gates,
    .gate_rank = 16,
    .flop = flop,
    .forward = forward,
    .backward = backward,
    .step = step,
};
