/* Linear attention with a decaying state, and the delta rule. The state S is a matrix with
 * a row for each feature of the keys and a column for each of the values:
 *
 *   S_i = a_i S_(i-1) + k_i^T u_i,    o_i = q_i S_i
 *
 * The decay a_i lies between 0 and 1: 1 itself, a constant of the head, or the output of a
 * gate. The written value u_i is v_i; with the delta rule it is the difference between v_i and
 * what the state already stores under the key, times a learned rate b_i:
 *
 *   u_i = b_i (v_i - k_i a_i S_(i-1)),    b_i = sigmoid(gate) or twice that
 *
 * A kind with feedback looks up s k_i, in the state before its decay,
 *
 *   u_i = b_i (v_i - s k_i S_(i-1)),    q_i = unit(q - d s k)
 *
 * where s and d are parameters of the head; otherwise s is 1 and d is 0.
 *
 * The chunkwise form, with chunks of 64 positions: W_ij is the product of the decays after j up
 * to i (1 on the diagonal, 0 above it), F_i that of the decays from the chunk's start up to i,
 * R_i that of the decays after i up to the chunk's end.
 *
 *   forward:   U = V    or    (I + L) U = b (V - s F (K S)),    L = b s stril(K K^T) W
 *              P = tril(Q K^T) W      O = P U + F (Q S)       S = F_last S + (R K)^T U
 *
 * A vector before a matrix multiplies its rows; W multiplies entry by entry. U solves a
 * triangular system because each position sees what the earlier ones have written. With
 * feedback the F and W of the second line are those of the position before: F_(i-1), W_(i-1)j.
 *
 *   backward:  dK = R (U dS^T)        dU = P^T dO + R (K dS)        dS = F_last dS
 *              A = tril(dO U^T) W     dQ = A K + F (dO S^T)
 *                                     dK += A^T Q                   dS += (F Q)^T dO
 *
 * Without the delta rule dU is dV, and that is all. With it, keys also read the state, as
 * queries do but before their own position. Their gradients dK' as readers follow from the same
 * formulas with E for dO, and are added to dK:
 *
 *   (I + L)^T B = dU      dV = b B      E = -s dV      db_i = B_i . U_i / b_i
 *
 * The gradient of the log decays needs no product of its own. q_i . dq_i says how the loss
 * changes when everything that position i reads is scaled up, and a_i and all earlier decays
 * scale it. k_i . dk_i says the same of what position i writes, which all later decays scale.
 * So
 *
 *   dlog a_i = <S, dS> at the chunk's end + sum over j >= i of (q.dq + k.dk' - k.dk)_j
 *
 * where q is the unit query that position i reads with; with feedback k.dk' of position j
 * counts for i < j only. decay.h says what step sizes change.
 *
 * These kinds are the case of rowwise.c in which all features fade alike, but an engine of
 * their own pays: one factor for a pair instead of one for each feature needs no exponentials
 * for q and k, allows chunks of 64, and a decay near 0, whose logarithm rowwise.c would limit.
 * As rules of rowwise.c, with the factors of a row computed once, forward and backward of
 * retention, gated and gated-delta took 1.09 to 1.21 times the processor time (4 heads of 32,
 * 128 and 1024 positions, one thread, AVX2, medians of paired runs).
 *
 * With keys of norm 1 and b at most 2, replacing a value never makes the state grow. Above 1,
 * what was stored changes its sign: an eigenvalue of the update is negative, as tracking states
 * such as a parity needs (Grazzi et al. 2025).
 *
 * Shapes: rows of keys and queries (rows, D), of values (rows, Dv); factors and decays (rows);
 * states and their gradients (D, Dv). */
#include "src/attention/decay.h"
#include "src/attention/rows.h"

enum { CHUNK = DECAY_CHUNK, SPAN = 4 };

/* --- memory --- */

typedef struct Decay {
    Chunk chunk; /* queries are scaled; with the delta rule they and the keys are normalised */
    const DecayRule *rule;
    real *q_unit, *k_unit;  /* (rows) 1 / norm */
    real *beta, beta_limit; /* (rows), and their limit */
    real strength;          /* s */
    real correction;        /* d s */
    real *corrected;        /* (rows, D) q - d s k, with feedback */
    real *raw, *g;          /* (rows) the decays' gates; their log decays, or the gradient */
    real *decay;            /* (rows) a_i: the share of the state that position i keeps */
    real *from_start;       /* (rows) F_i */
    real *lookup_start;     /* (rows) the F of lookups: F_i, or F_(i-1) with feedback */
    real *to_end;           /* (rows) R_i */
    real *between;          /* (rows, CHUNK) W_ij, 0 for later j */
    real *scaled;           /* (rows, D) keys or queries times factors */
    Factor u;               /* what is written: the values, or `write` with the delta rule */
    real *writings, *write; /* (span, CHUNK, Dv), and (rows, Dv) that of this chunk */
    Steps steps;            /* if the kind has them */
    const real *start;      /* (D, Dv) the state that the chunk's positions read */
    real *triangles;        /* (span, CHUNK, CHUNK) L of every chunk of a span */
    Triangle l;             /* that of this chunk */

    /* backward only */
    real *e, *dk_read;  /* (rows, Dv) E, (rows, D) dK' */
    real state_product; /* <S, dS> at the chunk's end */
} Decay;
_Static_assert(sizeof(Decay) <= CHUNKWISE_MOST, "the driver has room for it");

static bool depends_on_data(const DecayRule *rule)
{
    return rule->logarithms || rule->steps;
}

/* Products of decays are not computed from differences of sums of logarithms, where a decay
 * near 0 would ruin the others. Row after row: W_ij = a_i W_(i-1)j. */
static void load_between(const Decay *c, size_t rows)
{
    vector_zero(c->between, CHUNK);
    c->between[0] = 1;
    for (size_t i = 1; i < rows; i++) {
        real *row = c->between + i * CHUNK;
        const real *before = row - CHUNK;
        real decay = c->decay[i];
        for (size_t j = 0; j < CHUNK; j++)
            row[j] = vector_clean(before[j] * decay);
        row[i] = 1;
    }
}

/* F and R, which depend on the number of rows. */
static void load_ends(const Decay *c)
{
    real product = 1;
    for (size_t i = 0; i < c->chunk.rows; i++) {
        if (c->rule->feedback)
            c->lookup_start[i] = product;
        c->from_start[i] = product = vector_clean(product * c->decay[i]);
    }
    product = 1;
    for (size_t i = c->chunk.rows; i-- > 0; product = vector_clean(product * c->decay[i]))
        c->to_end[i] = product;
}

/* M = M W, entry by entry; a row of lookups that come before the decay has the W of the row
 * before. A row goes on to the end of its cache line, where W is zero and M is finite or will
 * not be read. */
static void multiply_by_decays(const Decay *c, Triangle m, bool lookups)
{
    enum { LINE = 16 };
    const size_t lag = lookups && c->rule->feedback ? 1 : 0;
    for (size_t i = lag; i < m.rows; i++) {
        real *restrict row = m.data + i * CHUNK;
        const real *restrict between = c->between + (i - lag) * CHUNK;
        for (size_t j = 0; j < (i / LINE + 1) * LINE; j++)
            row[j] *= between[j];
    }
}

/* Constant decays, once for all chunks. */
static void load_constants(const Decay *c)
{
    const AttentionHead *head = c->chunk.head;
    size_t rows = head->length < CHUNK ? head->length : CHUNK;
    if (depends_on_data(c->rule))
        return;
    real decay = c->rule->constant ? c->rule->constant(head) : 1;
    for (size_t i = 0; i < rows; i++)
        c->decay[i] = decay;
    load_between(c, rows);
}

static void lay_out(void *work, Arena *arena)
{
    Decay *c = work;
    const Chunk chunk = c->chunk;
    size_t block = CHUNK * chunk.width, of_values = CHUNK * chunk.value_width;
    *c = (Decay){.chunk = chunk, .rule = chunk.head->kind->engine_options};
    c->beta_limit = chunk.head->options->negative_eigenvalues ? 2 : 1;
    ARENA_REALS_EACH(arena, CHUNK, &c->q_unit, &c->k_unit, &c->beta, &c->raw, &c->g);
    ARENA_REALS_EACH(arena, CHUNK, &c->decay, &c->from_start, &c->to_end);
    c->lookup_start = c->from_start;
    if (c->rule->feedback) {
        c->lookup_start = arena_reals(arena, CHUNK);
        c->corrected = arena_reals(arena, block);
    }
    c->between = arena_reals(arena, (size_t)CHUNK * CHUNK);
    c->scaled = arena_reals(arena, block);
    if (c->rule->delta) {
        c->e = arena_reals(arena, of_values);
        c->dk_read = arena_reals(arena, block);
        c->writings = arena_reals(arena, SPAN * of_values);
        c->triangles = arena_reals(arena, (size_t)SPAN * CHUNK * CHUNK);
    }
    if (c->rule->steps)
        c->steps = steps_lay_out(arena, &c->chunk, c->rule->trapezoid);
    if (arena->base)
        load_constants(c);
}

static void place_writing(Decay *c)
{
    size_t slot = c->chunk.slot;
    c->u = c->chunk.v;
    if (!c->rule->delta)
        return;
    c->write = c->writings + slot * CHUNK * c->chunk.value_width;
    c->u = plain(c->write, c->chunk.value_width);
    c->l = (Triangle){c->triangles + slot * CHUNK * CHUNK, c->chunk.rows, CHUNK};
}

/* --- queries and keys --- */

/* The models with step sizes add d v to outputs that are not scaled. */
static real query_scale(const Decay *c)
{
    return c->rule->steps ? 1 : attention_scale(c->chunk.head);
}

/* The chunk's rows of q or k times a scale; for the delta rule each is normalised before. */
static void load_rows(real *restrict to, real *restrict units, const real *x, size_t stride,
                      real scale, const Decay *c)
{
    size_t width = c->chunk.width;
    for (size_t i = 0; i < c->chunk.rows; i++) {
        const real *from = x + i * stride;
        chunk_fetch_next(&c->chunk, x, stride, i);
        units[i] = c->rule->delta ? row_unit(from, width) : 1;
        for (size_t j = 0; j < width; j++)
            to[i * width + j] = from[j] * (scale * units[i]);
    }
}

/* The queries before they are normalised. */
static const real *raw_queries(const Decay *c, size_t *stride)
{
    *stride = c->rule->feedback ? c->chunk.width : c->chunk.head->stride;
    return c->rule->feedback ? c->corrected : c->chunk.data.q;
}

/* --- gates and decays --- */

/* Beta's gate comes first. */
static size_t place_of_decay(const Decay *c)
{
    return c->rule->delta ? 1 : 0;
}

static void load_gate(real *gates, size_t gate, const Decay *c)
{
    for (size_t i = 0; i < c->chunk.rows; i++)
        gates[i] = c->chunk.data.gates[i * c->chunk.head->gates_stride + gate];
}

static void load_gates(Decay *c)
{
    if (c->rule->delta) {
        load_gate(c->beta, 0, c);
        for (size_t i = 0; i < c->chunk.rows; i++)
            c->beta[i] = c->beta_limit * vector_sigmoid(c->beta[i]);
    }
    if (c->rule->logarithms) {
        load_gate(c->raw, place_of_decay(c), c);
        c->rule->logarithms(c->g, c->raw, c->chunk.data.params, c->chunk.rows);
        for (size_t i = 0; i < c->chunk.rows; i++)
            c->decay[i] = vector_exp(c->g[i]);
    }
    if (c->rule->steps)
        steps_load(&c->steps, &c->chunk, c->g, c->decay);
    if (depends_on_data(c->rule))
        load_between(c, c->chunk.rows);
    load_ends(c);
    c->strength = 1;
    if (c->rule->feedback) {
        c->strength = vector_sigmoid(c->chunk.data.params[DECAY_FEEDBACK]);
        c->correction = c->chunk.data.params[DECAY_FEEDBACK + 1] * c->strength;
    }
}

/* --- products --- */

/* Y = f (X M), where M is a state or its gradient and may be known to be zero; X are rows of
 * keys, and Y of values. */
static void read_rows(real *y, size_t y_stride, const real *x, const real *m, bool zero,
                      const real *factors, const Decay *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    chunk_product(zero, c->chunk.rows, of_values, width, plain(x, width), plain(m, of_values),
                  y, y_stride);
    if (!zero)
        rows_scale(y, y_stride, factors, c->chunk.rows, of_values);
}

/* Y = f (X M^T): X are rows of values, and Y of keys. */
static void read_keys(real *y, size_t y_stride, Factor x, const real *m, bool zero,
                      const real *factors, const Decay *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    chunk_product(zero, c->chunk.rows, width, of_values, x, transposed(m, of_values), y,
                  y_stride);
    if (!zero)
        rows_scale(y, y_stride, factors, c->chunk.rows, width);
}

/* M += (f X)^T Y */
static void add_products(real *m, const real *factors, const real *x, Factor y, const Decay *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    memcpy(c->scaled, x, c->chunk.rows * width * sizeof *x);
    rows_scale(c->scaled, width, factors, c->chunk.rows, width);
    gemm(width, of_values, c->chunk.rows, 1, transposed(c->scaled, width), y, GEMM_ADD, m,
         of_values);
}

/* The share of a state that is left after the whole chunk. */
static real whole_decay(const Decay *c)
{
    return c->from_start[c->chunk.rows - 1];
}

static void fade_state(real *state, const Decay *c)
{
    real decay = whole_decay(c);
    for (size_t i = 0; i < c->chunk.width * c->chunk.value_width; i++)
        state[i] *= decay;
}

/* --- forward --- */

/* P = tril(Q K^T) W */
static void score_queries(const Decay *c)
{
    size_t width = c->chunk.width;
    triangle_product(c->chunk.p, plain(c->chunk.q, width), plain(c->chunk.k, width), width);
    multiply_by_decays(c, c->chunk.p, false);
    for (size_t i = 0; c->rule->steps && i < c->chunk.rows; i++)
        c->chunk.p.data[i * CHUNK + i] = c->steps.current[i] *
                                         vector_dot(c->chunk.q + i * width,
                                                    c->steps.keys + i * width, width);
}

/* Computes what the delta rule writes. */
static void compute_writing(Decay *c)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width,
           stride = c->chunk.head->stride;
    const real *v = c->chunk.data.v;
    real *u = c->write;
    Factor k = plain(c->chunk.k, width);
    /* L = b s stril(K K^T) W */
    triangle_product(c->l, k, k, width);
    multiply_by_decays(c, c->l, true);
    rows_scale(c->l.data, CHUNK, c->beta, c->chunk.rows, CHUNK);
    for (size_t i = 0; c->strength != 1 && i < c->chunk.rows * CHUNK; i++)
        c->l.data[i] *= c->strength;
    /* (I + L) U = b (V - s F (K S)) */
    read_rows(u, of_values, c->chunk.k, c->start, c->chunk.state_is_zero, c->lookup_start, c);
    for (size_t i = 0; i < c->chunk.rows; i++)
        for (size_t j = 0; j < of_values; j++)
            u[i * of_values + j] = c->beta[i] *
                                   (v[i * stride + j] - c->strength * u[i * of_values + j]);
    triangle_solve(c->l, u, of_values, of_values);
}

static void load_keys(Decay *c)
{
    place_writing(c);
    load_rows(c->chunk.k, c->k_unit, c->chunk.data.k, c->chunk.head->stride, 1, c);
    load_gates(c);
    if (c->rule->steps)
        steps_load_keys(&c->steps, &c->chunk);
    c->start = c->steps.state ? c->steps.state : c->chunk.state;
}

/* All but the queries. What the delta rule writes stays in its slot. */
static void prepare(void *work)
{
    Decay *c = work;
    load_keys(c);
    if (c->rule->delta && !c->chunk.slot_filled)
        compute_writing(c);
}

static void load_queries(Decay *c)
{
    size_t stride, of_inputs = c->chunk.head->stride;
    const real *q = raw_queries(c, &stride);
    for (size_t i = 0; c->rule->feedback && i < c->chunk.rows; i++) {
        real *restrict row = c->corrected + i * c->chunk.width;
        memcpy(row, c->chunk.data.q + i * of_inputs, c->chunk.width * sizeof *row);
        vector_add_scaled(row, c->chunk.data.k + i * of_inputs, -c->correction, c->chunk.width);
    }
    load_rows(c->chunk.q, c->q_unit, q, stride, query_scale(c), c);
    if (c->rule->steps)
        steps_rotate(&c->steps, &c->chunk, c->chunk.q, c->chunk.width, false);
}

/* With the trapezoid rule, positions read a state that differs from the one carried. */
static void replace_start(const Decay *c, real *state)
{
    if (!c->steps.state)
        return;
    memcpy(state, c->steps.state, c->chunk.width * c->chunk.value_width * sizeof *state);
    steps_end(&c->steps, &c->chunk, state);
}

/* S = F_last S + (R K)^T U */
static void update_state(void *work, real *state)
{
    const Decay *c = work;
    replace_start(c, state);
    fade_state(state, c);
    add_products(state, c->to_end, c->chunk.k, c->u, c);
}

/* O += D V */
static void skip(const Decay *c)
{
    for (size_t i = 0; c->rule->steps && i < c->chunk.rows; i++)
        vector_add_scaled(c->chunk.data.out + i * c->chunk.head->out_stride,
                          c->chunk.data.v + i * c->chunk.head->stride,
                          c->chunk.data.params[DECAY_SKIP], c->chunk.value_width);
}

static void forward(void *work)
{
    Decay *c = work;
    size_t stride = c->chunk.head->out_stride;
    real *out = c->chunk.data.out;
    load_queries(c);
    score_queries(c);
    /* O = F (Q S) + P U */
    read_rows(out, stride, c->chunk.q, c->start, c->chunk.state_is_zero, c->from_start, c);
    triangle_add(out, stride, c->chunk.p, c->u, c->chunk.value_width);
    skip(c);
}

/* --- backward --- */

/* dK = R (U dS^T)    dU = R (K dS) + P^T dO    dS = F_last dS;    dV holds dU. */
static void write_backward(Decay *c, real *ds)
{
    size_t width = c->chunk.width, of_values = c->chunk.value_width,
           stride = c->chunk.head->stride;
    bool is_last = c->chunk.is_last;
    read_keys(c->chunk.data.dk, stride, c->u, ds, is_last, c->to_end, c);
    read_rows(c->chunk.data.dv, stride, c->chunk.k, ds, is_last, c->to_end, c);
    score_queries(c);
    triangle_transposed_add(c->chunk.data.dv, stride, c->chunk.p, c->chunk.dout, of_values);
    /* The state at the end is the decayed one of the start plus what was written. */
    c->state_product = 0;
    if (depends_on_data(c->rule) && !is_last) {
        c->state_product = whole_decay(c) * vector_dot(c->start, ds, width * of_values);
        for (size_t i = 0; i < c->chunk.rows; i++)
            c->state_product += vector_dot(c->chunk.k + i * width,
                                           c->chunk.data.dk + i * stride, width);
    }
    fade_state(ds, c);
}

/* The backward pass of reading: X are queries or keys, G is the gradient of what they read.
 *
 *   A = tril(G U^T) W    dX = F (G S^T) + A K    dK += A^T X    dS += (F X)^T G */
static void read_backward(Decay *c, real *ds, real *dx, size_t dx_stride, const real *x,
                          Factor g)
{
    size_t width = c->chunk.width;
    const bool lookups = x == c->chunk.k;
    const real *from_start = lookups ? c->lookup_start : c->from_start;
    triangle_product(c->chunk.p, g, c->u, c->chunk.value_width);
    multiply_by_decays(c, c->chunk.p, lookups);
    for (size_t i = 0; lookups && i < c->chunk.rows; i++)
        c->chunk.p.data[i * CHUNK + i] = 0; /* a key reads from before its own position */
    for (size_t i = 0; c->rule->steps && i < c->chunk.rows; i++) {
        c->steps.diagonal[i] = c->chunk.p.data[i * CHUNK + i];
        c->chunk.p.data[i * CHUNK + i] = 0;
    }
    read_keys(dx, dx_stride, g, c->start, c->chunk.state_is_zero, from_start, c);
    triangle_add(dx, dx_stride, c->chunk.p, plain(c->chunk.k, width), width);
    triangle_transposed_add(c->chunk.data.dk, c->chunk.head->stride, c->chunk.p,
                            plain(x, width), width);
    if (c->chunk.start > 0 || c->steps.state)
        add_products(ds, from_start, x, g, c);
}

/* From dU to dV, to beta's gate and to the keys as readers. */
static void erase_backward(Decay *c, real *ds)
{
    size_t of_values = c->chunk.value_width, stride = c->chunk.head->stride;
    triangle_solve_transposed(c->l, c->chunk.data.dv, stride, of_values);
    for (size_t i = 0; i < c->chunk.rows; i++) {
        real *restrict dv = c->chunk.data.dv + i * stride, *restrict e = c->e + i * of_values;
        real beta = c->beta[i], product = vector_dot(dv, c->write + i * of_values, of_values);
        c->chunk.data.dgates[i * c->chunk.head->gates_stride] = product *
                                                                (1 - beta / c->beta_limit);
        for (size_t j = 0; j < of_values; j++) {
            dv[j] *= beta;
            e[j] = -c->strength * dv[j];
        }
    }
    read_backward(c, ds, c->dk_read, c->chunk.width, c->chunk.k, plain(c->e, of_values));
}

static void skip_backward(const Decay *c)
{
    for (size_t i = 0; i < c->chunk.rows; i++) {
        const real *dout = c->chunk.data.dout + i * c->chunk.head->out_stride;
        size_t at = i * c->chunk.head->stride;
        vector_add_scaled(c->chunk.data.dv + at, dout, c->chunk.data.params[DECAY_SKIP],
                          c->chunk.value_width);
        c->chunk.data.dparams[DECAY_SKIP] += vector_dot(dout, c->chunk.data.v + at,
                                                        c->chunk.value_width);
    }
}

static void decays_backward(Decay *c, real *ds)
{
    size_t width = c->chunk.width, stride = c->chunk.head->stride;
    real sum = c->state_product;
    for (size_t i = c->chunk.rows; i-- > 0;) {
        const real *k = c->chunk.k + i * width;
        sum += vector_dot(c->chunk.q + i * width, c->chunk.data.dq + i * stride, width) -
               vector_dot(k, c->chunk.data.dk + i * stride, width);
        if (c->rule->delta && !c->rule->feedback)
            sum += vector_dot(k, c->dk_read + i * width, width);
        c->g[i] = sum;
        if (c->rule->feedback)
            sum += vector_dot(k, c->dk_read + i * width, width);
    }
    if (c->rule->steps) {
        skip_backward(c);
        steps_backward(&c->steps, &c->chunk, c->g, ds);
        return;
    }
    c->rule->logarithms_backward(c->g, c->raw, c->chunk.data.params, c->chunk.data.dparams,
                                 c->chunk.rows);
    for (size_t i = 0; i < c->chunk.rows; i++)
        c->chunk.data.dgates[i * c->chunk.head->gates_stride + place_of_decay(c)] = c->g[i];
}

/* k . dk' is s ds for the keys as readers; the correction of the queries depends on s and d. dq
 * is that of the corrected query, and dk that of the input. */
static void feedback_backward(const Decay *c)
{
    size_t width = c->chunk.width, stride = c->chunk.head->stride;
    real *dparams = c->chunk.data.dparams + DECAY_FEEDBACK, reading = 0, correcting = 0;
    for (size_t i = 0; i < c->chunk.rows; i++) {
        const real *dq = c->chunk.data.dq + i * stride;
        reading += vector_dot(c->chunk.k + i * width, c->dk_read + i * width, width);
        correcting -= vector_dot(c->chunk.data.k + i * stride, dq, width);
        vector_add_scaled(c->chunk.data.dk + i * stride, dq, -c->correction, width);
    }
    dparams[0] += (reading + c->correction * correcting) * (1 - c->strength);
    dparams[1] += c->strength * correcting;
}

/* From the gradients of scaled rows to those of the inputs, or of the corrected queries. */
static void rows_backward(Decay *c)
{
    size_t width = c->chunk.width, stride = c->chunk.head->stride, q_stride;
    const real *q = raw_queries(c, &q_stride);
    real scale = query_scale(c);
    for (size_t i = 0; i < c->chunk.rows; i++) {
        real *restrict dq = c->chunk.data.dq + i * stride, *restrict dk = c->chunk.data.dk +
                                                                          i * stride;
        for (size_t j = 0; j < width; j++)
            dq[j] *= scale;
        if (!c->rule->delta)
            continue;
        vector_add_scaled(dk, c->dk_read + i * width, 1, width);
        row_unit_backward(dq, q + i * q_stride, c->q_unit[i], width);
        row_unit_backward(dk, c->chunk.data.k + i * stride, c->k_unit[i], width);
    }
}

static void backward(void *work, real *ds)
{
    Decay *c = work;
    load_queries(c);
    write_backward(c, ds);
    read_backward(c, ds, c->chunk.data.dq, c->chunk.head->stride, c->chunk.q, c->chunk.dout);
    if (c->rule->delta)
        erase_backward(c, ds);
    if (depends_on_data(c->rule))
        decays_backward(c, ds);
    rows_backward(c);
    if (c->rule->feedback)
        feedback_backward(c);
}

/* --- decoding: the recurrent form --- */

static void step(void *work)
{
    Decay *c = work;
    size_t width = c->chunk.width, of_values = c->chunk.value_width;
    real *state = c->chunk.state;
    load_keys(c);
    load_queries(c);
    replace_start(c, state);
    real decay = c->decay[0], *out = c->chunk.data.out;
    if (c->rule->delta) {
        real lookup = c->strength * (c->rule->feedback ? 1 : decay);
        vector_zero(c->write, of_values);
        for (size_t i = 0; i < width; i++)
            vector_add_scaled(c->write, state + i * of_values, lookup * c->chunk.k[i],
                              of_values);
        for (size_t j = 0; j < of_values; j++)
            c->write[j] = c->beta[0] * (c->chunk.data.v[j] - c->write[j]);
    }
    vector_zero(out, of_values);
    for (size_t i = 0; i < width; i++) {
        real *restrict s = state + i * of_values;
        for (size_t j = 0; j < of_values; j++)
            s[j] = decay * s[j] + c->chunk.k[i] * c->u.data[j];
        vector_add_scaled(out, s, c->chunk.q[i], of_values);
    }
    skip(c);
}

/* --- sizes --- */

/* Per copy of a position: two products with half a chunk, one read and one write of the state;
 * the delta rule adds the products of the keys, the triangular solution, and another read. */
static double flop(const AttentionHead *head)
{
    const DecayRule *rule = head->kind->engine_options;
    double width = (double)head->width, values = (double)head->value_width;
    double products = rule->delta ? 2 : 1;
    return (double)(head->copies * head->length) *
           (products * (double)CHUNK * (width + values) + (2 * products + 2) * width * values);
}

#define FUNCTIONS                                                                             \
    .chunk = CHUNK, .span = SPAN, .lay_out = lay_out, .prepare = prepare, .forward = forward, \
    .update_state = update_state, .backward = backward, .step = step

static const Recurrence recurrence = {FUNCTIONS};
static const Recurrence trapezoid_recurrence = {FUNCTIONS, .sums = 3};
static const Recurrence product_recurrence = {FUNCTIONS, .expansion = &deltaproduct_expansion};

const AttentionEngine decay_engine = CHUNKWISE_ENGINE(recurrence, flop, CARRY_WHOLLY);
const AttentionEngine decay_trapezoid_engine = CHUNKWISE_ENGINE(trapezoid_recurrence, flop,
                                                                CARRY_WHOLLY);
const AttentionEngine decay_product_engine = CHUNKWISE_ENGINE(product_recurrence, flop,
                                                              CARRY_WHOLLY);
