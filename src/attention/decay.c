/* Linear attention with a decaying state, and the delta rule. The state S is a D by D matrix:
 *
 *   S_i = a_i S_(i-1) + k_i^T u_i,    o_i = q_i S_i
 *
 * The decay a_i lies between 0 and 1: 1 itself, a constant of the head, or the output of a
 * gate. The written value u_i is v_i; with the delta rule it is the difference between v_i and
 * what the state already stores under the key, times a learned rate b_i:
 *
 *   u_i = b_i (v_i - s k_i a_i S_(i-1)),    b_i = sigmoid(gate) or twice that
 *   o_i = (q_i - d s k_i) S_i
 *
 * where s is 1 and d is 0 unless the kind has feedback: then both are parameters of the head.
 *
 * The chunkwise form, with chunks of 64 positions: W_ij is the product of the decays after j up
 * to i (1 on the diagonal, 0 above it), F_i that of the decays from the chunk's start up to i,
 * R_i that of the decays after i up to the chunk's end.
 *
 *   forward:   U = V    or    (I + L) U = b (V - s F (K S)),    L = b s stril(K K^T) W
 *              P = tril(Q K^T) W      O = P U + F (Q S)       S = F_last S + (R K)^T U
 *
 * A vector before a matrix multiplies its rows; W multiplies entry by entry. U solves a
 * triangular system because each position sees what the earlier ones have written.
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
 * where q is the corrected query. decay.h says what step sizes change.
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
 * such as a parity needs (Grazzi et al. 2025). */
#include "src/attention/decay.h"
#include "src/attention/rows.h"

enum { CHUNK = DECAY_CHUNK, SPAN = 4 };

/* --- memory --- */

typedef struct Decay {
    Chunk at; /* queries are scaled; with the delta rule they and the keys are normalised */
    const DecayRule *rule;
    real *q_unit, *k_unit;  /* (rows) 1 / norm */
    real *beta, beta_limit; /* (rows), and their limit */
    real strength;          /* s */
    real correction;        /* d s */
    real *raw, *g;          /* (rows) the decays' gates; their log decays, or the gradient */
    real *decay;            /* (rows) a_i: the share of the state that position i keeps */
    real *from_start;       /* (rows) F_i */
    real *to_end;           /* (rows) R_i */
    real *between;          /* (rows, CHUNK) W_ij, 0 for later j */
    real *scaled;           /* (rows, D) rows times factors */
    Factor u;               /* what is written: the values, or, with the delta rule, */
    real *writings, *write; /* (rows, D) these: of every chunk of a span, and of this one */
    Steps steps;            /* if the kind has them */
    const real *start;      /* the state that the chunk's positions read */
    real *triangles;        /* L of every chunk of a span, */
    Triangle l;             /* and of this one */

    /* backward only */
    real *e, *dk_read; /* (rows, D) E and dK' */
    real kept;         /* <S, dS> at the chunk's end */
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
    for (size_t i = 0; i < c->at.rows; i++)
        c->from_start[i] = product = vector_clean(product * c->decay[i]);
    product = 1;
    for (size_t i = c->at.rows; i-- > 0; product = vector_clean(product * c->decay[i]))
        c->to_end[i] = product;
}

/* M = M W, entry by entry. A row goes on to the end of its cache line, where W is zero and M is
 * finite or will not be read. */
static void weigh(const Decay *c, Triangle m)
{
    enum { LINE = 16 };
    for (size_t i = 0; i < m.rows; i++) {
        real *restrict row = m.at + i * CHUNK;
        const real *restrict between = c->between + i * CHUNK;
        for (size_t j = 0; j < (i / LINE + 1) * LINE; j++)
            row[j] *= between[j];
    }
}

/* Constant decays, once for all chunks. */
static void load_constants(const Decay *c)
{
    const AttentionHead *head = c->at.head;
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
    const Chunk at = c->at;
    size_t block = CHUNK * at.width;
    *c = (Decay){.at = at, .rule = at.head->kind->detail};
    c->beta_limit = at.head->options->negative_eigenvalues ? 2 : 1;
    ROWS_TAKE(arena, CHUNK, &c->q_unit, &c->k_unit, &c->beta, &c->raw, &c->g);
    ROWS_TAKE(arena, CHUNK, &c->decay, &c->from_start, &c->to_end);
    c->between = arena_reals(arena, (size_t)CHUNK * CHUNK);
    c->scaled = arena_reals(arena, block);
    if (c->rule->delta) {
        ROWS_TAKE(arena, block, &c->e, &c->dk_read);
        c->writings = arena_reals(arena, SPAN * block);
        c->triangles = arena_reals(arena, (size_t)SPAN * CHUNK * CHUNK);
    }
    if (c->rule->steps)
        c->steps = steps_lay_out(arena, &c->at, c->rule->trapezoid);
    if (arena->base)
        load_constants(c);
}

static void place_writing(Decay *c)
{
    size_t width = c->at.width, slot = c->at.slot;
    c->u = c->at.v;
    if (!c->rule->delta)
        return;
    c->write = c->writings + slot * CHUNK * width;
    c->u = plain(c->write, width);
    c->l = (Triangle){c->triangles + slot * CHUNK * CHUNK, c->at.rows, CHUNK};
}

/* --- queries and keys --- */

/* The chunk's rows of q or k times a scale; for the delta rule each is normalised instead. */
static void load_rows(real *restrict to, real *restrict units, const real *x, real scale,
                      const Decay *c)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    for (size_t i = 0; i < c->at.rows; i++) {
        const real *from = x + i * stride;
        chunk_fetch_next(&c->at, x, stride, i);
        if (c->rule->delta)
            scale = units[i] = row_unit(from, width);
        for (size_t j = 0; j < width; j++)
            to[i * width + j] = from[j] * scale;
    }
}

/* --- gates and decays --- */

/* Beta's gate comes first. */
static size_t place_of_decay(const Decay *c)
{
    return c->rule->delta ? 1 : 0;
}

static void load_gate(real *gates, size_t gate, const Decay *c)
{
    for (size_t i = 0; i < c->at.rows; i++)
        gates[i] = c->at.data.gates[i * c->at.head->gates_stride + gate];
}

static void load_gates(Decay *c)
{
    if (c->rule->delta) {
        load_gate(c->beta, 0, c);
        for (size_t i = 0; i < c->at.rows; i++)
            c->beta[i] = c->beta_limit * vector_sigmoid(c->beta[i]);
    }
    if (c->rule->logarithms) {
        load_gate(c->raw, place_of_decay(c), c);
        c->rule->logarithms(c->g, c->raw, c->at.data.params, c->at.rows);
        for (size_t i = 0; i < c->at.rows; i++)
            c->decay[i] = vector_exp(c->g[i]);
    }
    if (c->rule->steps)
        steps_load(&c->steps, &c->at, c->g, c->decay);
    if (depends_on_data(c->rule))
        load_between(c, c->at.rows);
    load_ends(c);
    c->strength = 1;
    if (c->rule->feedback) {
        c->strength = vector_sigmoid(c->at.data.params[DECAY_FEEDBACK]);
        c->correction = c->at.data.params[DECAY_FEEDBACK + 1] * c->strength;
    }
}

/* --- products --- */

/* Y = f (X M), where M is a state or its gradient and may be known to be zero. */
static void multiply_state(real *y, size_t y_stride, Factor x, Factor m, bool zero,
                           const real *factors, const Decay *c)
{
    size_t width = c->at.width;
    chunk_product(zero, c->at.rows, width, width, x, m, y, y_stride);
    if (!zero)
        rows_scale(y, y_stride, factors, c->at.rows, width);
}

/* M += (f X)^T Y */
static void add_products(real *m, const real *factors, const real *x, Factor y, const Decay *c)
{
    size_t width = c->at.width;
    memcpy(c->scaled, x, c->at.rows * width * sizeof *x);
    rows_scale(c->scaled, width, factors, c->at.rows, width);
    gemm(width, width, c->at.rows, 1, transposed(c->scaled, width), y, GEMM_ADD, m, width);
}

/* The share of a state that is left after the whole chunk. */
static real whole_decay(const Decay *c)
{
    return c->from_start[c->at.rows - 1];
}

static void fade_state(real *state, const Decay *c)
{
    real decay = whole_decay(c);
    for (size_t i = 0; i < c->at.width * c->at.width; i++)
        state[i] *= decay;
}

/* --- forward --- */

/* P = tril(Q K^T) W */
static void score_queries(const Decay *c)
{
    size_t width = c->at.width;
    triangle_product(c->at.p, plain(c->at.q, width), plain(c->at.k, width), width);
    weigh(c, c->at.p);
    for (size_t i = 0; c->rule->steps && i < c->at.rows; i++)
        c->at.p.at[i * CHUNK + i] = c->steps.current[i] * vector_dot(c->at.q + i * width,
                                                                     c->steps.keys + i * width,
                                                                     width);
}

/* Computes what the delta rule writes. */
static void compute_writing(Decay *c)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    const real *v = c->at.data.v;
    real *u = c->write;
    Factor k = plain(c->at.k, width);
    /* L = b s stril(K K^T) W */
    triangle_product(c->l, k, k, width);
    weigh(c, c->l);
    rows_scale(c->l.at, CHUNK, c->beta, c->at.rows, CHUNK);
    for (size_t i = 0; c->strength != 1 && i < c->at.rows * CHUNK; i++)
        c->l.at[i] *= c->strength;
    /* (I + L) U = b (V - s F (K S)) */
    multiply_state(u, width, k, plain(c->start, width), c->at.state_is_zero, c->from_start, c);
    for (size_t i = 0; i < c->at.rows; i++)
        for (size_t j = 0; j < width; j++)
            u[i * width + j] = c->beta[i] *
                               (v[i * stride + j] - c->strength * u[i * width + j]);
    triangle_solve(c->l, u, width, width);
}

static void load_keys(Decay *c)
{
    place_writing(c);
    load_rows(c->at.k, c->k_unit, c->at.data.k, 1, c);
    load_gates(c);
    if (c->rule->steps)
        steps_load_keys(&c->steps, &c->at);
    c->start = c->steps.state ? c->steps.state : c->at.state;
}

/* All but the queries. What the delta rule writes stays in its slot. */
static void load(void *work)
{
    Decay *c = work;
    load_keys(c);
    if (c->rule->delta && !c->at.slot_filled)
        compute_writing(c);
}

static void load_queries(Decay *c)
{
    load_rows(c->at.q, c->q_unit, c->at.data.q, attention_scale(c->at.head), c);
    if (c->rule->steps)
        steps_rotate(&c->steps, &c->at, c->at.q, c->at.width, false);
    if (c->rule->feedback)
        vector_add_scaled(c->at.q, c->at.k, -c->correction, c->at.rows * c->at.width);
}

/* With the trapezoid rule, positions read a state that differs from the one carried. */
static void replace_start(const Decay *c, real *state)
{
    if (!c->steps.state)
        return;
    memcpy(state, c->steps.state, c->at.width * c->at.width * sizeof *state);
    steps_end(&c->steps, &c->at, state);
}

/* S = F_last S + (R K)^T U */
static void advance(void *work, real *state)
{
    const Decay *c = work;
    replace_start(c, state);
    fade_state(state, c);
    add_products(state, c->to_end, c->at.k, c->u, c);
}

/* O += D V */
static void skip(const Decay *c)
{
    for (size_t i = 0; c->rule->steps && i < c->at.rows; i++)
        vector_add_scaled(c->at.data.out + i * c->at.head->out_stride,
                          c->at.data.v + i * c->at.head->stride, c->at.data.params[DECAY_SKIP],
                          c->at.width);
}

static void read_state(void *work)
{
    Decay *c = work;
    size_t width = c->at.width, stride = c->at.head->out_stride;
    real *out = c->at.data.out;
    Factor q = plain(c->at.q, width);
    load_queries(c);
    score_queries(c);
    /* O = F (Q S) + P U */
    multiply_state(out, stride, q, plain(c->start, width), c->at.state_is_zero, c->from_start,
                   c);
    triangle_add(out, stride, c->at.p, c->u, width);
    skip(c);
}

/* --- backward --- */

/* dK = R (U dS^T)    dU = R (K dS) + P^T dO    dS = F_last dS;    dV holds dU. */
static void write_backward(Decay *c, real *ds)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    bool is_last = c->at.is_last;
    Factor k = plain(c->at.k, width);
    multiply_state(c->at.data.dk, stride, c->u, transposed(ds, width), is_last, c->to_end, c);
    multiply_state(c->at.data.dv, stride, k, plain(ds, width), is_last, c->to_end, c);
    score_queries(c);
    triangle_transposed_add(c->at.data.dv, stride, c->at.p, c->at.dout, width);
    /* The state at the end is the decayed one of the start plus what was written. */
    c->kept = 0;
    if (depends_on_data(c->rule) && !is_last) {
        c->kept = whole_decay(c) * vector_dot(c->start, ds, width * width);
        for (size_t i = 0; i < c->at.rows; i++)
            c->kept += vector_dot(c->at.k + i * width, c->at.data.dk + i * stride, width);
    }
    fade_state(ds, c);
}

/* The backward pass of reading: X are queries or keys, G is the gradient of what they read.
 *
 *   A = tril(G U^T) W    dX = F (G S^T) + A K    dK += A^T X    dS += (F X)^T G */
static void read_backward(Decay *c, real *ds, real *dx, size_t dx_stride, const real *x,
                          Factor g)
{
    size_t width = c->at.width;
    triangle_product(c->at.p, g, c->u, width);
    weigh(c, c->at.p);
    for (size_t i = 0; x == c->at.k && i < c->at.rows; i++)
        c->at.p.at[i * CHUNK + i] = 0; /* a key reads from before its own position */
    for (size_t i = 0; c->rule->steps && i < c->at.rows; i++) {
        c->steps.diagonal[i] = c->at.p.at[i * CHUNK + i];
        c->at.p.at[i * CHUNK + i] = 0;
    }
    multiply_state(dx, dx_stride, g, transposed(c->start, width), c->at.state_is_zero,
                   c->from_start, c);
    triangle_add(dx, dx_stride, c->at.p, plain(c->at.k, width), width);
    triangle_transposed_add(c->at.data.dk, c->at.head->stride, c->at.p, plain(x, width), width);
    if (c->at.start > 0 || c->steps.state)
        add_products(ds, c->from_start, x, g, c);
}

/* From dU to dV, to beta's gate and to the keys as readers. */
static void erase_backward(Decay *c, real *ds)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    triangle_solve_transposed(c->l, c->at.data.dv, stride, width);
    for (size_t i = 0; i < c->at.rows; i++) {
        real *restrict dv = c->at.data.dv + i * stride, *restrict e = c->e + i * width;
        real beta = c->beta[i], product = vector_dot(dv, c->write + i * width, width);
        c->at.data.dgates[i * c->at.head->gates_stride] = product * (1 - beta / c->beta_limit);
        for (size_t j = 0; j < width; j++) {
            dv[j] *= beta;
            e[j] = -c->strength * dv[j];
        }
    }
    read_backward(c, ds, c->dk_read, width, c->at.k, plain(c->e, width));
}

static void skip_backward(const Decay *c)
{
    for (size_t i = 0; i < c->at.rows; i++) {
        const real *dout = c->at.data.dout + i * c->at.head->out_stride;
        size_t at = i * c->at.head->stride;
        vector_add_scaled(c->at.data.dv + at, dout, c->at.data.params[DECAY_SKIP], c->at.width);
        c->at.data.dparams[DECAY_SKIP] += vector_dot(dout, c->at.data.v + at, c->at.width);
    }
}

static void decays_backward(Decay *c, real *ds)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    real sum = c->kept;
    for (size_t i = c->at.rows; i-- > 0;) {
        const real *k = c->at.k + i * width;
        sum += vector_dot(c->at.q + i * width, c->at.data.dq + i * stride, width) -
               vector_dot(k, c->at.data.dk + i * stride, width);
        if (c->rule->delta)
            sum += vector_dot(k, c->dk_read + i * width, width);
        c->g[i] = sum;
    }
    if (c->rule->steps) {
        skip_backward(c);
        steps_backward(&c->steps, &c->at, c->g, ds);
        return;
    }
    c->rule->logarithms_backward(c->g, c->raw, c->at.data.params, c->at.data.dparams,
                                 c->at.rows);
    for (size_t i = 0; i < c->at.rows; i++)
        c->at.data.dgates[i * c->at.head->gates_stride + place_of_decay(c)] = c->g[i];
}

/* k . dk' is s ds for the keys as readers; the correction of the queries depends on s and d. */
static void feedback_backward(const Decay *c)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    real *dparams = c->at.data.dparams + DECAY_FEEDBACK, reading = 0, correcting = 0;
    for (size_t i = 0; i < c->at.rows; i++) {
        const real *k = c->at.k + i * width, *dq = c->at.data.dq + i * stride;
        reading += vector_dot(k, c->dk_read + i * width, width);
        correcting -= vector_dot(k, dq, width);
        vector_add_scaled(c->at.data.dk + i * stride, dq, -c->correction, width);
    }
    dparams[0] += (reading + c->correction * correcting) * (1 - c->strength);
    dparams[1] += c->strength * correcting;
}

/* From the gradients of scaled rows to those of the inputs. */
static void rows_backward(Decay *c)
{
    size_t width = c->at.width, stride = c->at.head->stride;
    real scale = attention_scale(c->at.head);
    for (size_t i = 0; i < c->at.rows; i++) {
        size_t at = i * stride;
        real *restrict dq = c->at.data.dq + i * stride, *restrict dk = c->at.data.dk +
                                                                       i * stride;
        if (c->rule->delta) {
            vector_add_scaled(dk, c->dk_read + i * width, 1, width);
            row_unit_backward(dq, c->at.data.q + at, c->q_unit[i], width);
            row_unit_backward(dk, c->at.data.k + at, c->k_unit[i], width);
        } else {
            for (size_t j = 0; j < width; j++)
                dq[j] *= scale;
        }
    }
}

static void backward(void *work, real *ds)
{
    Decay *c = work;
    load_queries(c);
    write_backward(c, ds);
    read_backward(c, ds, c->at.data.dq, c->at.head->stride, c->at.q, c->at.dout);
    if (c->rule->delta)
        erase_backward(c, ds);
    if (depends_on_data(c->rule))
        decays_backward(c, ds);
    if (c->rule->feedback)
        feedback_backward(c);
    rows_backward(c);
}

/* --- decoding: the recurrent form --- */

static void step(void *work)
{
    Decay *c = work;
    size_t width = c->at.width;
    real *state = c->at.state;
    load_keys(c);
    load_queries(c);
    replace_start(c, state);
    real decay = c->decay[0], *out = c->at.data.out;
    if (c->rule->delta) {
        vector_zero(c->write, width);
        for (size_t i = 0; i < width; i++)
            vector_add_scaled(c->write, state + i * width, c->strength * c->at.k[i] * decay,
                              width);
        for (size_t i = 0; i < width; i++)
            c->write[i] = c->beta[0] * (c->at.data.v[i] - c->write[i]);
    }
    vector_zero(out, width);
    for (size_t i = 0; i < width; i++) {
        real *restrict s = state + i * width;
        for (size_t j = 0; j < width; j++)
            s[j] = decay * s[j] + c->at.k[i] * c->u.at[j];
        vector_add_scaled(out, s, c->at.q[i], width);
    }
    skip(c);
}

#define FUNCTIONS                                                                       \
    .chunk = CHUNK, .span = SPAN, .lay_out = lay_out, .load = load, .read = read_state, \
    .advance = advance, .backward = backward, .step = step

const Recurrence decay_recurrence = {FUNCTIONS};
const Recurrence decay_trapezoid_recurrence = {FUNCTIONS, .sums = 3};
const Recurrence decay_product_recurrence = {FUNCTIONS, .expansion = &deltaproduct_expansion};

/* --- sizes --- */

size_t decay_gates(const AttentionHead *head)
{
    const DecayRule *rule = head->kind->detail;
    if (rule->steps)
        return rule->trapezoid ? 2 + head->width / 2 : 1;
    return (size_t)rule->delta + (rule->logarithms != NULL);
}

/* Per position: two products with half a chunk, one read and one write of the state; the delta
 * rule adds the products of the keys, the triangular solution, and another read. */
double decay_flop(const AttentionHead *head)
{
    const DecayRule *rule = head->kind->detail;
    double width = (double)head->width, products = rule->delta ? 4 : 2;
    return (double)head->length *
           (products * (double)CHUNK * width + (products + 2) * width * width);
}
