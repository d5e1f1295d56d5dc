/* Linear attention whose state fades, and the delta rule. The state S is a D by D matrix:
 *
 *   S_i = a_i S_(i-1) + k_i^T u_i,    o_i = q_i S_i
 *
 * The decay a_i is a number from 0 to 1: 1 itself, or one for each head, or one that a gate
 * gives. What is written, u_i, is the value v_i; or, by the delta rule, a share of what the
 * value has more than what the state already answers to the key:
 *
 *   u_i = b_i (v_i - k_i a_i S_(i-1)),    b_i = sigmoid(gate)
 *
 * Positions are taken in chunks of 64. With W_ij the product of the decays after j up to i (1
 * on the diagonal, 0 above it), F_i that of the decays from the chunk's start up to i, and R_i
 * that of those after i up to its end, a chunk is, all positions at once,
 *
 *   forward:   U = V    or    (I + L) U = b (V - F (K S)),    L = b stril(K K^T) W
 *              P = tril(Q K^T) W      O = P U + F (Q S)       S = F_last S + (R K)^T U
 *
 * where a vector before a matrix multiplies its rows, and W goes entry by entry. U solves a
 * triangular system, since each position sees what those before it have written.
 *
 *   backward:  dK = R (U dS^T)        dU = P^T dO + R (K dS)        dS = F_last dS
 *              A = tril(dO U^T) W     dQ = A K + F (dO S^T)
 *                                     dK += A^T Q                   dS += (F Q)^T dO
 *
 * That is all without the delta rule, and dU is dV. With it, keys read too, namely what they
 * are to replace: as queries do, but from before their own position, with E in the place of dO,
 * and with gradients dK' as readers that come on top of dK:
 *
 *   (I + L)^T B = dU      dV = b B      E = -dV      db_i = B_i . U_i / b_i
 *
 * The gradient of the decays' logarithms needs no product of its own. q_i . dq_i is how much
 * the loss gains when all that position i reads becomes larger, which a_i and every earlier
 * decay bring about; k_i . dk_i the same for what it writes, which every later decay makes
 * smaller:
 *
 *   dlog a_i = <S, dS> at the chunk's end + sum over j >= i of (q.dq + k.dk' - k.dk)_j
 *
 * With keys of length 1 and b up to 1, what is in the state never grows by being replaced. */
#include "src/attention/decay.h"
#include "src/attention/fading.h"
#include "src/attention/solve.h"
#include "src/attention/span.h"

#define CHUNK  ((size_t)FADING_ROWS)
#define CHUNKS ((size_t)4) /* of a span */

/* --- memory --- */

/* One chunk at work. */
typedef struct Chunk {
    const AttentionData *data;
    const AttentionHead *head;
    const DecayRule *rule;
    size_t start, rows;
    real *q, *k;            /* (rows, D) scaled queries, and keys; or both of length 1 */
    real *q_unit, *k_unit;  /* (rows) what made the length 1 */
    real *beta;             /* (rows) */
    real *raw, *g;          /* (rows) the decays' gates, and their logarithms or the gradient */
    Fading fading;          /* the decays, F, R and W */
    Triangle p;             /* P, then A */
    real *scaled;           /* (rows, D) any rows times any numbers */
    real *states, *s;       /* S at the start of each chunk of a span, and of this one */
    Factor u;               /* what is written: the values, or, by the delta rule, */
    real *writings, *write; /* (rows, D) these, for each chunk of a span, and this one */
    real *triangles;        /* L for each chunk of a span, */
    Triangle l;             /* and this one */

    /* backward only */
    real *dstate; /* dS at the chunk's end */
    Factor dout;
    real *dq, *dk, *dv; /* where the chunk's gradients go */
    real *e, *dk_read;  /* (rows, D) E and dK' */
    real kept;          /* <S, dS> at the chunk's end */
} Chunk;

static Chunk take_chunk(Arena *arena, const AttentionHead *head)
{
    size_t block = CHUNK * head->width, state = decay_state_reals(head);
    Chunk c = {.head = head, .rule = head->kind->detail};
    real **const columns[] = {&c.q_unit, &c.k_unit, &c.beta, &c.raw, &c.g};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = arena_reals(arena, CHUNK);
    c.fading = fading_take(arena);
    c.q = arena_reals(arena, block);
    c.k = arena_reals(arena, block);
    c.scaled = arena_reals(arena, block);
    c.p = (Triangle){.at = arena_reals(arena, CHUNK * CHUNK), .stride = CHUNK};
    c.dstate = arena_reals(arena, state);
    c.states = arena_reals(arena, CHUNKS * state);
    if (!c.rule->delta)
        return c;
    c.e = arena_reals(arena, block);
    c.dk_read = arena_reals(arena, block);
    c.writings = arena_reals(arena, CHUNKS * block);
    c.triangles = arena_reals(arena, CHUNKS * CHUNK * CHUNK);
    return c;
}

size_t decay_scratch_reals(const AttentionHead *head)
{
    Arena arena = {0};
    take_chunk(&arena, head);
    return arena_used_reals(&arena);
}

size_t decay_state_reals(const AttentionHead *head)
{
    return head->width * head->width;
}

static Spans spans_of(real *kept, const AttentionHead *head)
{
    return (Spans){head, CHUNK, CHUNKS, decay_state_reals(head), kept};
}

/* What was written is computed again too, which is cheaper than to keep it in far memory. */
size_t decay_saved_reals(const AttentionHead *head)
{
    Spans spans = spans_of(NULL, head);
    return spans_kept_reals(&spans);
}

/* The slot is the chunk's place among those of a span. */
static void move_to(Chunk *c, size_t start, size_t slot)
{
    size_t left = c->head->length - start, width = c->head->width;
    c->start = start;
    c->rows = c->p.rows = left < CHUNK ? left : CHUNK;
    c->s = c->states + slot * width * width;
    c->u = plain(c->data->v + start * c->head->stride, c->head->stride);
    if (!c->rule->delta)
        return;
    c->write = c->writings + slot * CHUNK * width;
    c->u = plain(c->write, width);
    c->l = (Triangle){c->triangles + slot * CHUNK * CHUNK, c->rows, CHUNK};
}

/* --- queries and keys --- */

static real query_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt((double)head->width);
}

/* The chunk's rows of q or k times a scale, or, for the delta rule, times units of their own.
 */
static void load_rows(real *restrict to, real *restrict units, const real *x, real scale,
                      const Chunk *c)
{
    size_t width = c->head->width, stride = c->head->stride;
    for (size_t i = 0; i < c->rows; i++) {
        const real *from = x + (c->start + i) * stride;
        if (c->start + i + CHUNK < c->head->length)
            vector_fetch(from + CHUNK * stride, width);
        if (c->rule->delta)
            scale = units[i] = row_unit(from, width);
        for (size_t j = 0; j < width; j++)
            to[i * width + j] = from[j] * scale;
    }
}

/* --- gates and decays --- */

/* Decays that are the same in every chunk. */
static void load_constants(Chunk *c)
{
    size_t rows = c->head->length < CHUNK ? c->head->length : CHUNK;
    if (c->rule->logarithms)
        return;
    real decay = c->rule->constant ? c->rule->constant(c->head) : 1;
    for (size_t i = 0; i < rows; i++)
        c->fading.decay[i] = decay;
    fading_between(&c->fading, rows);
}

static Chunk chunk_of(const AttentionData *data, const AttentionHead *head)
{
    Arena arena = arena_over(data->scratch);
    Chunk c = take_chunk(&arena, head);
    c.data = data;
    load_constants(&c);
    return c;
}

/* Where a gate of one of the chunk's rows lies: beta's comes first. */
static size_t gate_at(const Chunk *c, size_t row, size_t gate)
{
    return (c->start + row) * c->head->gates_stride + gate;
}

static size_t decay_gate(const Chunk *c)
{
    return c->rule->delta ? 1 : 0;
}

static void load_gate(real *gates, size_t gate, const Chunk *c)
{
    for (size_t i = 0; i < c->rows; i++)
        gates[i] = c->data->gates[gate_at(c, i, gate)];
}

static void load_gates(Chunk *c)
{
    if (c->rule->delta) {
        load_gate(c->beta, 0, c);
        for (size_t i = 0; i < c->rows; i++)
            c->beta[i] = vector_sigmoid(c->beta[i]);
    }
    if (c->rule->logarithms) {
        load_gate(c->raw, decay_gate(c), c);
        c->rule->logarithms(c->g, c->raw, c->data->own, c->rows);
        for (size_t i = 0; i < c->rows; i++)
            c->fading.decay[i] = vector_exp(c->g[i]);
        fading_between(&c->fading, c->rows);
    }
    fading_to_ends(&c->fading, c->rows);
}

/* --- products --- */

/* Y = f (X M), where M is a state or the gradient of one, and may be known to be zero. */
static void through(real *y, size_t y_stride, Factor x, Factor m, bool zero,
                    const real *factors, const Chunk *c)
{
    size_t width = c->head->width;
    spans_product(zero, c->rows, width, width, x, m, y, y_stride);
    if (!zero)
        rows_scale(y, y_stride, factors, c->rows, width);
}

/* M += (f X)^T Y */
static void into(real *m, const real *factors, const real *x, Factor y, const Chunk *c)
{
    size_t width = c->head->width;
    memcpy(c->scaled, x, c->rows * width * sizeof *x);
    rows_scale(c->scaled, width, factors, c->rows, width);
    gemm(width, width, c->rows, 1, transposed(c->scaled, width), y, GEMM_ADD, m, width);
}

/* What the whole chunk leaves of a state. */
static real whole_decay(const Chunk *c)
{
    return c->fading.from_start[c->rows - 1];
}

static void fade_state(real *state, const Chunk *c)
{
    real decay = whole_decay(c);
    for (size_t i = 0; i < decay_state_reals(c->head); i++)
        state[i] *= decay;
}

/* --- forward --- */

/* What the delta rule writes. */
static void compute_writing(Chunk *c)
{
    size_t width = c->head->width, stride = c->head->stride;
    const real *v = c->data->v + c->start * stride;
    real *u = c->write;
    Factor k = plain(c->k, width);
    /* L = b stril(K K^T) W */
    triangle_product(c->l, k, k, width);
    fading_weigh(&c->fading, c->l);
    rows_scale(c->l.at, CHUNK, c->beta, c->rows, CHUNK);
    /* (I + L) U = b (V - F (K S)) */
    through(u, width, k, plain(c->s, width), spans_start_from_zeros(c->head, c->start),
            c->fading.from_start, c);
    for (size_t i = 0; i < c->rows; i++)
        for (size_t j = 0; j < width; j++)
            u[i * width + j] = c->beta[i] * (v[i * stride + j] - u[i * width + j]);
    solve_lower(c->l, u, width, width);
}

/* Everything but the queries. */
static void load(Chunk *c)
{
    load_rows(c->k, c->k_unit, c->data->k, 1, c);
    load_gates(c);
    if (c->rule->delta)
        compute_writing(c);
}

/* A state from the chunk's start to its end: S = F_last S + (R K)^T U. */
static void advance(real *state, const Chunk *c)
{
    fade_state(state, c);
    into(state, c->fading.to_end, c->k, c->u, c);
}

static void read_state(Chunk *c)
{
    size_t width = c->head->width, stride = c->head->out_stride;
    real *out = c->data->out + c->start * stride;
    Factor q = plain(c->q, width);
    /* P = tril(Q K^T) W */
    triangle_product(c->p, q, plain(c->k, width), width);
    fading_weigh(&c->fading, c->p);
    /* O = F (Q S) + P U */
    through(out, stride, q, plain(c->s, width), spans_start_from_zeros(c->head, c->start),
            c->fading.from_start, c);
    triangle_add(out, stride, c->p, c->u, width);
}

void decay_forward(const AttentionData *data, const AttentionHead *head)
{
    Chunk c = chunk_of(data, head);
    Spans spans = spans_of(data->saved, head);
    spans_carry_in(&spans, data, c.states);
    for (size_t start = 0; start < head->length; start += CHUNK) {
        move_to(&c, start, 0);
        spans_keep(&spans, start, c.states);
        load(&c);
        load_rows(c.q, c.q_unit, data->q, query_scale(head), &c);
        read_state(&c);
        if (head->carries || !spans_end_unread(head, c.start + c.rows))
            advance(c.states, &c);
    }
    spans_carry_out(&spans, data, c.states);
}

/* --- backward --- */

/* dK = R (U dS^T)    dU = R (K dS) + P^T dO    dS = F_last dS;    dU lies in dV. */
static void write_backward(Chunk *c)
{
    size_t width = c->head->width, stride = c->head->stride;
    bool unread = spans_end_unread(c->head, c->start + c->rows);
    real *ds = c->dstate;
    Factor q = plain(c->q, width), k = plain(c->k, width);
    through(c->dk, stride, c->u, transposed(ds, width), unread, c->fading.to_end, c);
    through(c->dv, stride, k, plain(ds, width), unread, c->fading.to_end, c);
    triangle_product(c->p, q, k, width);
    fading_weigh(&c->fading, c->p);
    triangle_transposed_add(c->dv, stride, c->p, c->dout, width);
    /* The state at the end is what is left of the one at the start, and what was written. */
    c->kept = 0;
    if (c->rule->logarithms && !unread) {
        c->kept = whole_decay(c) * vector_dot(c->s, ds, width * width);
        for (size_t i = 0; i < c->rows; i++)
            c->kept += vector_dot(c->k + i * width, c->dk + i * stride, width);
    }
    fade_state(ds, c);
}

/* Of queries or keys X, from the gradient G of what they have read:
 *
 *   A = tril(G U^T) W    dX = F (G S^T) + A K    dK += A^T X    dS += (F X)^T G */
static void read_backward(Chunk *c, real *dx, size_t dx_stride, const real *x, Factor g)
{
    size_t width = c->head->width;
    triangle_product(c->p, g, c->u, width);
    fading_weigh(&c->fading, c->p);
    for (size_t i = 0; x == c->k && i < c->rows; i++)
        c->p.at[i * CHUNK + i] = 0; /* a key reads from before its own position */
    through(dx, dx_stride, g, transposed(c->s, width),
            spans_start_from_zeros(c->head, c->start), c->fading.from_start, c);
    triangle_add(dx, dx_stride, c->p, plain(c->k, width), width);
    triangle_transposed_add(c->dk, c->head->stride, c->p, plain(x, width), width);
    if (c->start > 0)
        into(c->dstate, c->fading.from_start, x, g, c);
}

/* From dU to dV, to beta's gate and to the keys as readers. */
static void erase_backward(Chunk *c)
{
    size_t width = c->head->width, stride = c->head->stride;
    solve_lower_transposed(c->l, c->dv, stride, width);
    for (size_t i = 0; i < c->rows; i++) {
        real *restrict dv = c->dv + i * stride, *restrict e = c->e + i * width;
        real beta = c->beta[i], product = vector_dot(dv, c->write + i * width, width);
        c->data->dgates[gate_at(c, i, 0)] = product * (1 - beta); /* db b (1 - b) */
        for (size_t j = 0; j < width; j++) {
            dv[j] *= beta;
            e[j] = -dv[j];
        }
    }
    read_backward(c, c->dk_read, width, c->k, plain(c->e, width));
}

static void decays_backward(Chunk *c)
{
    size_t width = c->head->width, stride = c->head->stride;
    real sum = c->kept;
    for (size_t i = c->rows; i-- > 0;) {
        const real *k = c->k + i * width;
        sum += vector_dot(c->q + i * width, c->dq + i * stride, width) -
               vector_dot(k, c->dk + i * stride, width);
        if (c->rule->delta)
            sum += vector_dot(k, c->dk_read + i * width, width);
        c->g[i] = sum;
    }
    c->rule->logarithms_backward(c->g, c->raw, c->data->own, c->data->down, c->rows);
    for (size_t i = 0; i < c->rows; i++)
        c->data->dgates[gate_at(c, i, decay_gate(c))] = c->g[i];
}

/* From the gradients of scaled rows to those of the rows that were given. */
static void rows_backward(Chunk *c)
{
    size_t width = c->head->width, stride = c->head->stride;
    real scale = query_scale(c->head);
    for (size_t i = 0; i < c->rows; i++) {
        size_t at = (c->start + i) * stride;
        real *restrict dq = c->dq + i * stride, *restrict dk = c->dk + i * stride;
        if (c->rule->delta) {
            vector_add_scaled(dk, c->dk_read + i * width, 1, width);
            row_unit_backward(dq, c->data->q + at, c->q_unit[i], width);
            row_unit_backward(dk, c->data->k + at, c->k_unit[i], width);
        } else {
            for (size_t j = 0; j < width; j++)
                dq[j] *= scale;
        }
    }
}

static void chunk_backward(Chunk *c)
{
    const AttentionHead *head = c->head;
    const AttentionData *data = c->data;
    size_t at = c->start * head->stride, out_at = c->start * head->out_stride;
    c->dq = data->dq + at;
    c->dk = data->dk + at;
    c->dv = data->dv + at;
    c->dout = plain(data->dout + out_at, head->out_stride);
    write_backward(c);
    read_backward(c, c->dq, head->stride, c->q, c->dout);
    if (c->rule->delta)
        erase_backward(c);
    if (c->rule->logarithms)
        decays_backward(c);
    rows_backward(c);
}

/* The states at the starts of a span's chunks, from the one that forward has left, and what is
 * written in each; the chunks are loaded one after another, the last one stays. */
static void compute_span(Chunk *c, const Spans *spans, Span span)
{
    size_t size = spans->state;
    spans_fetch(spans, span.first, c->states);
    for (size_t slot = 0; slot < span.chunks; slot++) {
        move_to(c, span.first + slot * CHUNK, slot);
        load(c);
        if (slot + 1 == span.chunks)
            return;
        memcpy(c->s + size, c->s, size * sizeof(real));
        advance(c->s + size, c);
    }
}

void decay_backward(const AttentionData *data, const AttentionHead *head)
{
    Chunk c = chunk_of(data, head);
    Spans spans = spans_of(data->saved, head);
    vector_zero(c.dstate, spans.state);
    for (size_t index = spans_count(&spans); index-- > 0;) {
        Span span = spans_span(&spans, index);
        compute_span(&c, &spans, span);
        for (size_t slot = span.chunks; slot-- > 0;) {
            if (slot + 1 < span.chunks) {
                move_to(&c, span.first + slot * CHUNK, slot);
                load_rows(c.k, c.k_unit, data->k, 1, &c);
                load_gates(&c);
            }
            load_rows(c.q, c.q_unit, data->q, query_scale(head), &c);
            chunk_backward(&c);
        }
    }
}

/* --- decoding: the recurrent form --- */

void decay_step(const AttentionData *data, real *state, size_t position,
                const AttentionHead *head)
{
    (void)position;
    size_t width = head->width;
    AttentionHead one = *head;
    one.length = 1;
    Chunk c = chunk_of(data, &one);
    move_to(&c, 0, 0);
    load_rows(c.k, c.k_unit, data->k, 1, &c);
    load_rows(c.q, c.q_unit, data->q, query_scale(head), &c);
    load_gates(&c);
    real decay = c.fading.decay[0];
    if (c.rule->delta) {
        vector_zero(c.write, width);
        for (size_t i = 0; i < width; i++)
            vector_add_scaled(c.write, state + i * width, c.k[i] * decay, width);
        for (size_t i = 0; i < width; i++)
            c.write[i] = c.beta[0] * (data->v[i] - c.write[i]);
    }
    vector_zero(data->out, width);
    for (size_t i = 0; i < width; i++) {
        real *restrict s = state + i * width;
        for (size_t j = 0; j < width; j++)
            s[j] = decay * s[j] + c.k[i] * c.u.at[j];
        vector_add_scaled(data->out, s, c.q[i], width);
    }
}

/* --- sizes --- */

size_t decay_one_gate(const AttentionHead *head)
{
    (void)head;
    return 1;
}

/* For each position: two products with half a chunk, and the state read and written; by the
 * delta rule the keys' products with each other, the solution, and the state read once more. */
double decay_flop(const AttentionHead *head)
{
    const DecayRule *rule = head->kind->detail;
    double width = (double)head->width, products = rule->delta ? 4 : 2;
    return (double)head->length *
           (products * (double)CHUNK * width + (products + 2) * width * width);
}
