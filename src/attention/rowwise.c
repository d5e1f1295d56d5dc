/* Linear attention with a decay for every feature of the keys, and the delta rule. The D decays
 * a_i multiply the rows of the state S. What the state stores under a row r is removed under a
 * key m, and a value is written under a key k:
 *
 *   S' = a_i S_(i-1),    S_i = S' - m_i^T (r_i S') + k_i^T v_i,    o_i = q_i S_i
 *
 * Without the delta rule r is 0; most kinds with it have m = k, and then write the one value
 * u = v - r S'. A kind says what these rows are.
 *
 * The chunkwise form, with chunks of 32 positions: let G_i be the sum of log a from the chunk's
 * start up to i, for each feature. A pair has the weight sum over features of
 * q_i k_j exp(G_i - G_j). With a reference H for each feature it is a product again, of
 *
 *   Q' = Q exp(G - H)    R' = R exp(G - H)    K' = K exp(H - G)    M' = M exp(H - G)
 *
 * Let B = exp(H), E = exp(G_last - H) and W = exp(G_last); after a matrix they multiply its
 * columns, before it its rows.
 *
 *   (I + L) U = - (R' B) S - stril(R' K'^T) V    or, if M = K,  (I + L) U = V - (R' B) S
 *   L = stril(R' M'^T)
 *
 *   forward:   O = (Q' B) S + the sum of tril(Q' K'^T) U       S = W S + the sum of (K' E)^T U
 *
 * over the pairs of keys and values (K, V) and (M, U); only (K, U) if M = K.
 *
 *   backward:  dK' = (U dS^T) E + A^T Q'     dU = P^T dO + (K' E) dS      of each pair, with
 *              P = tril(Q' K'^T)             A = tril(dO U^T)             dQ' += A K'
 *              dQ' += (dO S^T) B             dS = W dS + (Q' B)^T dO
 *
 * The delta rule adds what follows from (I + L)^T Y = dU: R' reads the state as Q' does, but
 * before its own position and with -Y for dO; Y is also dV if M = K.
 *
 *   dlog a_i = <S, dS> at the chunk's end + sum over j >= i of
 *              Q'_j dQ'_j + R'_j dR'_j - K'_j dK'_j - M'_j dM'_j
 *
 * for each feature; decay.c derives the last line. H lies in the middle of the chunk and log a
 * is at least -4, so no exponent exceeds 64. Above the diagonal, where pairs have no weight,
 * products may overflow; nobody reads them. But the middle lies in the future of the first
 * half. So B is a whole power of two: it only moves the exponents of Q' and K', the products
 * are the same to the last bit whatever H is, and no position learns anything of a later one.
 *
 * Shapes: rows of keys and queries (rows, D), of values (rows, Dv); factors (rows, D) or (D);
 * states and their gradients (D, Dv). */
#include "src/attention/rowwise.h"
#include "src/attention/rows.h"

enum { CHUNK = 32, SPAN = 8 };

/* --- memory --- */

typedef struct Rowwise {
    Chunk chunk; /* its queries and keys are Q' and K' */
    const RowwiseRule *rule;
    real *g, *sums;              /* (rows, D) log a, G */
    real *decay, *inverse_decay; /* (rows, D) exp(G - H), exp(H - G) */
    real *find, *erase;          /* (rows, D) R'; M', if the kind has it */
    real *values;                /* (rows, Dv) V, if it is not the input */
    real *scaled;                /* (rows, D) rows times factors */
    real *powers;                /* (D) B = 2^powers */
    real *in, *out, *whole;      /* (D) B, E, W */
    real *writings;              /* (span, CHUNK, Dv) U of every chunk of a span, */
    real *triangles;             /* (span, CHUNK, CHUNK) and L */
    Triangle l;                  /* that of this chunk */

    /* backward only */
    real *dlog;           /* (D) the sum of the last equation so far */
    real *dfind, *derase; /* (rows, D) dR', dM' */
    real *solved, *minus; /* (rows, Dv) Y, unless it is in dv; and -Y */
    real *dg;             /* (rows, D) the gradient of g */
    Factor v;             /* V */
} Rowwise;
_Static_assert(sizeof(Rowwise) <= CHUNKWISE_MOST, "the driver has room for it");

static void lay_out(void *work, Arena *arena)
{
    Rowwise *c = work;
    const Chunk chunk = c->chunk;
    size_t block = CHUNK * chunk.width, of_values = CHUNK * chunk.value_width;
    *c = (Rowwise){.chunk = chunk, .rule = chunk.head->kind->engine_options};
    ARENA_REALS_EACH(arena, block, &c->g, &c->sums, &c->decay, &c->inverse_decay, &c->scaled,
                     &c->dg);
    ARENA_REALS_EACH(arena, chunk.width, &c->powers, &c->in, &c->out, &c->whole, &c->dlog);
    if (c->rule->values)
        c->values = arena_reals(arena, of_values);
    if (c->rule->erase_key) {
        ARENA_REALS_EACH(arena, block, &c->erase, &c->derase);
        c->solved = arena_reals(arena, of_values);
    }
    if (!c->rule->erases)
        return;
    ARENA_REALS_EACH(arena, block, &c->find, &c->dfind);
    c->minus = arena_reals(arena, of_values);
    c->writings = arena_reals(arena, SPAN * of_values);
    c->triangles = arena_reals(arena, (size_t)SPAN * CHUNK * CHUNK);
}

/* --- pairs of keys and values --- */

typedef struct Pair {
    const real *k; /* (rows, D) K' or M' */
    Factor u;      /* V or U */
    real *dk, *du; /* (rows, D), (rows, Dv) their gradients, */
    size_t dk_stride, du_stride;
} Pair;

static size_t pairs_of(const Rowwise *c)
{
    return c->rule->erase_key ? 2 : 1;
}

static real *writing(const Rowwise *c)
{
    return c->writings + c->chunk.slot * CHUNK * c->chunk.value_width;
}

/* The last pair is that of the delta rule, if the kind follows it. */
static Pair pair_of(const Rowwise *c, size_t index)
{
    size_t of_values = c->chunk.value_width, stride = c->chunk.head->stride;
    Pair pair = {c->chunk.k, c->v, c->chunk.data.dk, c->chunk.data.dv, stride, stride};
    if (index == 1)
        pair = (Pair){c->erase, c->v, c->derase, c->solved, c->chunk.width, of_values};
    if (c->rule->erases && index + 1 == pairs_of(c))
        pair.u = plain(writing(c), of_values);
    return pair;
}

/* --- products --- */

/* Y = X f, column by column */
static void scale_columns(real *y, size_t y_stride, const real *x, size_t x_stride,
                          const real *restrict factors, const Rowwise *c)
{
    for (size_t i = 0; i < c->chunk.rows; i++)
        for (size_t j = 0; j < c->chunk.width; j++)
            y[i * y_stride + j] = x[i * x_stride + j] * factors[j];
}

/* Y = (X f) M, where M is a state or its gradient and may be known to be zero; X are rows of
 * keys, and Y of values. */
static void read_rows(real *y, size_t y_stride, const real *x, const real *factors,
                      const real *m, bool zero, const Rowwise *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    scale_columns(c->scaled, width, x, width, factors, c);
    chunk_product(zero, c->chunk.rows, of_values, width, plain(c->scaled, width),
                  plain(m, of_values), y, y_stride);
}

/* Y = (X M^T) f: X are rows of values, and Y of keys. */
static void read_keys(real *y, size_t y_stride, Factor x, const real *factors, const real *m,
                      bool zero, const Rowwise *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    chunk_product(zero, c->chunk.rows, width, of_values, x, transposed(m, of_values), y,
                  y_stride);
    scale_columns(y, y_stride, y, y_stride, factors, c);
}

/* M += (X f)^T Y */
static void add_products(real *m, const real *x, const real *factors, Factor y,
                         const Rowwise *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    scale_columns(c->scaled, width, x, width, factors, c);
    gemm(width, of_values, c->chunk.rows, 1, transposed(c->scaled, width), y, GEMM_ADD, m,
         of_values);
}

/* P = tril(X Y^T), or without the diagonal. */
static void scores(const Rowwise *c, Factor x, Factor y, size_t width, bool strict)
{
    triangle_product(c->chunk.p, x, y, width);
    for (size_t i = 0; strict && i < c->chunk.rows; i++)
        c->chunk.p.data[i * CHUNK + i] = 0;
}

/* --- loading --- */

static RowwiseRow row_of(const Rowwise *c, size_t i)
{
    size_t at = i * c->chunk.width;
    RowwiseRow row = {.g = c->g + at, .q = c->chunk.q + at, .k = c->chunk.k + at};
    row.v = c->values ? c->values + i * c->chunk.value_width : NULL;
    row.find = c->find ? c->find + at : NULL;
    row.erase = c->erase ? c->erase + at : NULL;
    return row;
}

static void load_row(const Rowwise *c, size_t i)
{
    const AttentionHead *head = c->chunk.head;
    RowwiseRow row = row_of(c, i);
    AttentionData data = attention_rows(&c->chunk.data, i, head);
    chunk_fetch_next(&c->chunk, c->chunk.data.q, head->stride, i);
    chunk_fetch_next(&c->chunk, c->chunk.data.k, head->stride, i);
    if (c->chunk.data.gates)
        chunk_fetch_next(&c->chunk, c->chunk.data.gates, head->gates_stride, i);
    if (c->chunk.data.rates)
        chunk_fetch_next(&c->chunk, c->chunk.data.rates, head->rates_stride, i);
    c->rule->load(&row, &data, head);
    for (size_t j = 0; j < c->chunk.width; j++)
        row.g[j] = row.g[j] < ROWWISE_LEAST ? ROWWISE_LEAST : row.g[j];
}

static void load_sums(const Rowwise *c)
{
    size_t width = c->chunk.width;
    memcpy(c->sums, c->g, c->chunk.rows * width * sizeof *c->g);
    for (size_t i = 1; i < c->chunk.rows; i++)
        vector_add_scaled(c->sums + i * width, c->sums + (i - 1) * width, 1, width);
}

static void load_reference(const Rowwise *c)
{
    const real log2_e = (real)1.4426950408889634;
    size_t width = c->chunk.width;
    const real *middle = c->sums + c->chunk.rows / 2 * width;
    const real *last = c->sums + (c->chunk.rows - 1) * width;
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

/* factors = exp(sign (G - H)) */
static void load_factors(real *restrict factors, real sign, const Rowwise *c)
{
    size_t width = c->chunk.width;
    for (size_t i = 0; i < c->chunk.rows; i++)
        for (size_t j = 0; j < width; j++)
            factors[i * width + j] = vector_exp_scaled(sign * c->sums[i * width + j],
                                                       (int32_t)(-sign * c->powers[j]));
}

static void multiply(real *restrict x, const real *restrict factors, const Rowwise *c)
{
    for (size_t i = 0; i < c->chunk.rows * c->chunk.width; i++)
        x[i] *= factors[i];
}

/* Computes U: what the delta rule writes. */
static void compute_writing(const Rowwise *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    real *u = writing(c);
    const Pair pair = pair_of(c, pairs_of(c) - 1);
    Factor find = plain(c->find, width), v = c->v;
    triangle_product(c->l, find, plain(pair.k, width), width);
    read_rows(u, of_values, c->find, c->in, c->chunk.state, c->chunk.state_is_zero, c);
    if (c->rule->erase_key) {
        scores(c, find, plain(c->chunk.k, width), width, true);
        triangle_add(u, of_values, c->chunk.p, v, of_values);
    }
    for (size_t i = 0; i < c->chunk.rows; i++)
        for (size_t j = 0; j < of_values; j++)
            u[i * of_values + j] = (c->rule->erase_key ? 0 : v.data[i * v.stride + j]) -
                                   u[i * of_values + j];
    triangle_solve(c->l, u, of_values, of_values);
}

/* All but Q'. What the delta rule writes stays in its slot. */
static void prepare(void *work)
{
    Rowwise *c = work;
    c->v = c->values ? plain(c->values, c->chunk.value_width) : c->chunk.v;
    c->l = (Triangle){c->triangles, c->chunk.rows, CHUNK};
    for (size_t i = 0; i < c->chunk.rows; i++)
        load_row(c, i);
    load_sums(c);
    load_reference(c);
    load_factors(c->inverse_decay, -1, c);
    multiply(c->chunk.k, c->inverse_decay, c);
    if (c->erase)
        multiply(c->erase, c->inverse_decay, c);
    if (!c->rule->erases)
        return;
    c->l.data += c->chunk.slot * CHUNK * CHUNK;
    load_factors(c->decay, 1, c);
    multiply(c->find, c->decay, c);
    if (!c->chunk.slot_filled)
        compute_writing(c);
}

static void load_queries(const Rowwise *c)
{
    if (!c->rule->erases)
        load_factors(c->decay, 1, c);
    multiply(c->chunk.q, c->decay, c);
}

/* --- forward --- */

static void forward(void *work)
{
    const Rowwise *c = work;
    size_t width = c->chunk.width, stride = c->chunk.head->out_stride;
    real *out = c->chunk.data.out;
    load_queries(c);
    read_rows(out, stride, c->chunk.q, c->in, c->chunk.state, c->chunk.state_is_zero, c);
    for (size_t p = 0; p < pairs_of(c); p++) {
        Pair pair = pair_of(c, p);
        scores(c, plain(c->chunk.q, width), plain(pair.k, width), width, false);
        triangle_add(out, stride, c->chunk.p, pair.u, c->chunk.value_width);
    }
}

static void update_state(void *work, real *state)
{
    const Rowwise *c = work;
    rows_scale(state, c->chunk.value_width, c->whole, c->chunk.width, c->chunk.value_width);
    for (size_t p = 0; p < pairs_of(c); p++) {
        Pair pair = pair_of(c, p);
        add_products(state, pair.k, c->out, pair.u, c);
    }
}

/* --- backward --- */

/* <S, dS> at the chunk's end, for each feature. S there is the decayed state of the start plus
 * what was written, whose share write_backward() adds. */
static void start_dlog(const Rowwise *c, const real *ds)
{
    size_t of_values = c->chunk.value_width;
    for (size_t j = 0; j < c->chunk.width; j++)
        c->dlog[j] = c->whole[j] *
                     vector_dot(c->chunk.state + j * of_values, ds + j * of_values, of_values);
}

/* dK' = (U dS^T) E      dU = (K' E) dS + P^T dO */
static void write_backward(const Rowwise *c, const Pair *pair, const real *ds)
{
    size_t width = c->chunk.width;
    real *dk = pair->dk;
    bool is_last = c->chunk.is_last;
    read_keys(dk, pair->dk_stride, pair->u, c->out, ds, is_last, c);
    for (size_t i = 0; i < c->chunk.rows; i++)
        for (size_t j = 0; j < width; j++)
            c->dlog[j] += pair->k[i * width + j] * dk[i * pair->dk_stride + j];
    read_rows(pair->du, pair->du_stride, pair->k, c->out, ds, is_last, c);
    scores(c, plain(c->chunk.q, width), plain(pair->k, width), width, false);
    triangle_transposed_add(pair->du, pair->du_stride, c->chunk.p, c->chunk.dout,
                            c->chunk.value_width);
}

/* The backward pass of reading: X are Q' or R', Z is the gradient of what they read.
 *
 *   dX = (Z S^T) B + A K'      dK' += A^T X      A = tril(Z U^T)      dS += (X B)^T Z */
static void read_backward(const Rowwise *c, real *ds, real *dx, size_t dx_stride, const real *x,
                          Factor z)
{
    size_t width = c->chunk.width;
    read_keys(dx, dx_stride, z, c->in, c->chunk.state, c->chunk.state_is_zero, c);
    for (size_t p = 0; p < pairs_of(c); p++) {
        Pair pair = pair_of(c, p);
        scores(c, z, pair.u, c->chunk.value_width, x == c->find);
        triangle_add(dx, dx_stride, c->chunk.p, plain(pair.k, width), width);
        triangle_transposed_add(pair.dk, pair.dk_stride, c->chunk.p, plain(x, width), width);
    }
    if (c->chunk.start > 0)
        add_products(ds, x, c->in, z, c);
}

static void erase_backward(const Rowwise *c, real *ds)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    Pair pair = pair_of(c, pairs_of(c) - 1);
    Factor minus = plain(c->minus, of_values);
    triangle_solve_transposed(c->l, pair.du, pair.du_stride, of_values);
    for (size_t i = 0; i < c->chunk.rows; i++)
        for (size_t j = 0; j < of_values; j++)
            c->minus[i * of_values + j] = -pair.du[i * pair.du_stride + j];
    if (c->rule->erase_key) {
        scores(c, plain(c->find, width), plain(c->chunk.k, width), width, true);
        triangle_transposed_add(c->chunk.data.dv, c->chunk.head->stride, c->chunk.p, minus,
                                of_values);
    }
    read_backward(c, ds, c->dfind, width, c->find, minus);
}

/* dlog += sign X dX; and from the gradient of scaled rows to that of the kind's. */
static void unscale(const Rowwise *c, real sign, const real *restrict x, real *restrict dx,
                    const real *restrict factors)
{
    real *restrict dlog = c->dlog;
#pragma omp simd
    for (size_t j = 0; j < c->chunk.width; j++) {
        dlog[j] += sign * x[j] * dx[j];
        dx[j] *= factors[j];
    }
}

static void row_backward(const Rowwise *c, size_t i)
{
    size_t width = c->chunk.width, at = i * width;
    AttentionData data = attention_rows(&c->chunk.data, i, c->chunk.head);
    RowwiseRow d = {.g = c->dg + at,
                    .q = data.dq,
                    .k = data.dk,
                    .v = data.dv,
                    .find = c->rule->erases ? c->dfind + at : NULL,
                    .erase = c->rule->erase_key ? c->derase + at : NULL,
                    .room = c->scaled};
    unscale(c, 1, c->chunk.q + at, d.q, c->decay + at);
    unscale(c, -1, c->chunk.k + at, d.k, c->inverse_decay + at);
    if (c->rule->erases)
        unscale(c, 1, c->find + at, d.find, c->decay + at);
    if (c->rule->erase_key)
        unscale(c, -1, c->erase + at, d.erase, c->inverse_decay + at);
    for (size_t j = 0; j < width; j++)
        d.g[j] = c->g[at + j] <= ROWWISE_LEAST ? 0 : c->dlog[j];
    c->rule->backward(&d, &data, c->chunk.head);
}

static void backward(void *work, real *ds)
{
    const Rowwise *c = work;
    load_queries(c);
    start_dlog(c, ds);
    for (size_t p = 0; p < pairs_of(c); p++) {
        Pair pair = pair_of(c, p);
        write_backward(c, &pair, ds);
    }
    rows_scale(ds, c->chunk.value_width, c->whole, c->chunk.width, c->chunk.value_width);
    read_backward(c, ds, c->chunk.data.dq, c->chunk.head->stride, c->chunk.q, c->chunk.dout);
    if (c->rule->erases)
        erase_backward(c, ds);
    for (size_t i = c->chunk.rows; i-- > 0;)
        row_backward(c, i);
}

/* --- decoding: the recurrent form --- */

static void step(void *work)
{
    const Rowwise *c = work;
    size_t of_values = c->chunk.value_width;
    real *state = c->chunk.state, *out = c->chunk.data.out, *u = c->writings;
    const real *v = c->values ? c->values : c->chunk.data.v;
    const real *erase = c->rule->erase_key ? c->erase : c->chunk.k;
    load_row(c, 0);
    if (c->rule->erases)
        vector_zero(u, of_values);
    vector_zero(out, of_values);
    for (size_t i = 0; i < c->chunk.width; i++) {
        real *restrict s = state + i * of_values, decay = vector_exp(c->g[i]);
        for (size_t j = 0; j < of_values; j++)
            s[j] *= decay;
        if (c->rule->erases)
            vector_add_scaled(u, s, -c->find[i], of_values);
    }
    for (size_t i = 0; i < c->chunk.width; i++) {
        real *restrict s = state + i * of_values;
        vector_add_scaled(s, v, c->chunk.k[i], of_values);
        if (c->rule->erases)
            vector_add_scaled(s, u, erase[i], of_values);
        vector_add_scaled(out, s, c->chunk.q[i], of_values);
    }
}

/* Per position: two products with half a chunk, one read and one write of the state; the delta
 * rule adds as many and another read; a key of its own adds products and a write. */
static double flop(const AttentionHead *head)
{
    const RowwiseRule *rule = head->kind->engine_options;
    double width = (double)head->width, values = (double)head->value_width;
    double half = 1 + rule->erases + rule->erase_key;
    double whole = 4 + 2 * rule->erases + 2 * rule->erase_key;
    return (double)head->length *
           (half * (double)CHUNK * (width + values) + whole * width * values);
}

static const Recurrence recurrence = {.chunk = CHUNK,
                                      .span = SPAN,
                                      .lay_out = lay_out,
                                      .prepare = prepare,
                                      .forward = forward,
                                      .update_state = update_state,
                                      .backward = backward,
                                      .step = step};

const AttentionEngine rowwise_engine = CHUNKWISE_ENGINE(recurrence, flop, CARRY_WHOLLY);
