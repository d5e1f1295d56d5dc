#include "src/attention/chunkwise.h"
#include "src/attention/rows.h"

void chunk_product(bool zero, size_t m, size_t n, size_t k, Factor a, Factor b, real *c,
                   size_t c_stride)
{
    if (zero)
        rows_zero(c, c_stride, m, n);
    else
        gemm(m, n, k, 1, a, b, GEMM_SET, c, c_stride);
}

/* --- products with a triangle --- */

#define BAND ((size_t)32)

static size_t band_rows(Triangle m, size_t first)
{
    return m.rows - first < BAND ? m.rows - first : BAND;
}

/* In a band's own square. */
static void clear_above_diagonal(Triangle m, size_t first)
{
    size_t count = band_rows(m, first);
    for (size_t i = 0; i < count; i++) {
        real *row = m.data + (first + i) * m.stride + first;
        for (size_t j = 0; j < count; j++)
            row[j] = j > i ? 0 : row[j];
    }
}

void triangle_product(Triangle m, Factor a, Factor b, size_t width)
{
    for (size_t first = 0; first < m.rows; first += BAND) { /* bands of columns */
        Factor b_band = transposed(b.data + first * b.stride, b.stride);
        gemm(m.rows - first, band_rows(m, first), width, 1,
             plain(a.data + first * a.stride, a.stride), b_band, GEMM_SET,
             m.data + first * m.stride + first, m.stride);
        clear_above_diagonal(m, first);
    }
}

void triangle_add(real *y, size_t y_stride, Triangle m, Factor x, size_t width)
{
    for (size_t first = 0; first < m.rows; first += BAND) {
        size_t count = band_rows(m, first);
        gemm(count, width, first + count, 1, plain(m.data + first * m.stride, m.stride), x,
             GEMM_ADD, y + first * y_stride, y_stride);
    }
}

void triangle_transposed_add(real *y, size_t y_stride, Triangle m, Factor x, size_t width)
{
    for (size_t first = 0; first < m.rows; first += BAND)
        gemm(band_rows(m, first), width, m.rows - first, 1,
             transposed(m.data + first * m.stride + first, m.stride),
             plain(x.data + first * x.stride, x.stride), GEMM_ADD, y + first * y_stride,
             y_stride);
}

/* Rows of a block are solved one by one; the rest are products with solved rows. Products with
 * this few rows need no packing. */
#define BLOCK ((size_t)8)

static size_t block_rows(Triangle l, size_t first)
{
    return l.rows - first < BLOCK ? l.rows - first : BLOCK;
}

void triangle_solve(Triangle l, real *x, size_t stride, size_t width)
{
    for (size_t first = 0; first < l.rows; first += BLOCK) {
        size_t end = first + block_rows(l, first);
        /* X -= L X, with the solved rows above */
        if (first > 0)
            gemm(end - first, width, first, -1, plain(l.data + first * l.stride, l.stride),
                 plain(x, stride), GEMM_ADD, x + first * stride, stride);
        for (size_t i = first + 1; i < end; i++)
            for (size_t j = first; j < i; j++)
                vector_add_scaled(x + i * stride, x + j * stride, -l.data[i * l.stride + j],
                                  width);
    }
}

void triangle_solve_transposed(Triangle l, real *x, size_t stride, size_t width)
{
    size_t blocks = (l.rows + BLOCK - 1) / BLOCK;
    for (size_t first = blocks * BLOCK; first > 0;) {
        first -= BLOCK;
        size_t end = first + block_rows(l, first);
        /* X -= L^T X, with the solved rows below */
        if (end < l.rows)
            gemm(end - first, width, l.rows - end, -1,
                 transposed(l.data + end * l.stride + first, l.stride),
                 plain(x + end * stride, stride), GEMM_ADD, x + first * stride, stride);
        for (size_t i = end; i-- > first;)
            for (size_t j = i + 1; j < end; j++)
                vector_add_scaled(x + i * stride, x + j * stride, -l.data[j * l.stride + i],
                                  width);
    }
}

/* --- memory --- */

/* The struct of any recurrence, whose type the driver does not know. */
typedef union Work {
    Chunk chunk;
    unsigned char bytes[CHUNKWISE_MOST];
} Work;

static size_t features_of(const AttentionHead *head)
{
    const Recurrence *recurrence = head->kind->engine->recurrence;
    return recurrence->features ? recurrence->features(head) : head->width;
}

/* With an expansion a chunk has as many rows, and fewer positions. */
static size_t chunk_positions(const AttentionHead *head)
{
    return head->kind->engine->recurrence->chunk / head->copies;
}

/* Memory for the rows of a chunk. */
static void lay_out_rows(Chunk *c, Arena *arena, const AttentionHead *head)
{
    const Recurrence *recurrence = head->kind->engine->recurrence;
    size_t all = 2 * head->width + head->value_width + recurrence->expansion->gates;
    ARENA_REALS_EACH(arena, recurrence->chunk * all, &c->expanded, &c->dexpanded);
    ARENA_REALS_EACH(arena, recurrence->chunk * head->value_width, &c->out, &c->out_gradients);
    c->inner = *head;
    c->inner.stride = c->inner.gates_stride = all;
    c->inner.out_stride = head->value_width;
    c->head = &c->inner;
}

static Chunk *lay_out(Work *work, Arena *arena, const AttentionHead *head)
{
    const Recurrence *recurrence = head->kind->engine->recurrence;
    Chunk *c = &work->chunk;
    size_t chunk = recurrence->chunk;
    *c = (Chunk){.head = head,
                 .outer = head,
                 .width = head->width,
                 .value_width = head->value_width,
                 .features = features_of(head)};
    if (recurrence->expansion)
        lay_out_rows(c, arena, head);
    size_t row = c->features > c->value_width ? c->features : c->value_width;
    c->state_reals = c->features * c->value_width + recurrence->sums * row;
    c->p.stride = c->a.stride = chunk;
    ARENA_REALS_EACH(arena, chunk * c->features, &c->q, &c->k);
    ARENA_REALS_EACH(arena, chunk * chunk, &c->p.data, &c->a.data);
    c->dstate = arena_reals(arena, c->state_reals);
    c->states = arena_reals(arena, recurrence->span * c->state_reals);
    recurrence->lay_out(c, arena);
    return c;
}

static Chunk *lay_out_scratch(Work *work, const AttentionData *data, const AttentionHead *head)
{
    Arena arena = arena_over(data->scratch);
    return lay_out(work, &arena, head);
}

static size_t span_positions(const AttentionHead *head)
{
    return chunk_positions(head) * head->kind->engine->recurrence->span;
}

static size_t span_count(const AttentionHead *head)
{
    return (head->length + span_positions(head) - 1) / span_positions(head);
}

/* Rows are saved before the states. */
static size_t saved_rows(const AttentionHead *head)
{
    return head->kind->engine->recurrence->saves_row ? head->length : 0;
}

/* The state at the start of the sequence is saved only if it can differ from zero. */
AttentionMemory chunkwise_memory(const AttentionHead *head)
{
    Work work;
    Arena arena = {0};
    size_t state = lay_out(&work, &arena, head)->state_reals;
    size_t states = span_count(head) - (head->carries ? 0 : 1);
    return (AttentionMemory){.saved = saved_rows(head) + states * state,
                             .scratch = arena_used_reals(&arena),
                             .state = state + features_of(head) *
                                                  head->kind->engine->recurrence->step_rows};
}

static real *saved_state(const Chunk *c, const AttentionData *data, size_t span)
{
    size_t before = span - (c->outer->carries ? 0 : 1);
    return data->saved + saved_rows(c->outer) + before * c->state_reals;
}

/* --- places --- */

static size_t rows_at(const AttentionHead *head, size_t start)
{
    size_t left = head->length - start, chunk = chunk_positions(head);
    return left < chunk ? left : chunk;
}

/* The tensors of the rows. */
static AttentionData rows_data(const Chunk *c)
{
    size_t k = c->width, v = k + c->width, gates = v + c->value_width;
    const real *rows = c->expanded;
    real *d = c->dexpanded;
    AttentionData data = {.q = rows, .k = rows + k, .v = rows + v, .gates = rows + gates};
    data.dq = d, data.dk = d + k, data.dv = d + v, data.dgates = d + gates;
    data.params = c->positions.params, data.dparams = c->positions.dparams;
    data.out = c->out, data.dout = c->out_gradients;
    return data;
}

/* Replaces the positions by their rows, before prepare(). */
static void expand(Chunk *c)
{
    const ChunkExpansion *expansion = c->outer->kind->engine->recurrence->expansion;
    size_t width = c->value_width, copies = c->outer->copies;
    c->positions = c->data;
    for (size_t i = 0; i < c->rows; i++) {
        const AttentionData from = attention_rows(&c->positions, i, c->outer);
        real *dout = c->out_gradients + i * copies * width;
        for (size_t j = 0; j < copies; j++)
            expansion->load(c->expanded + (i * copies + j) * c->inner.stride, &from, j,
                            c->outer);
        vector_zero(dout, (copies - 1) * width);
        if (from.dout)
            memcpy(dout + (copies - 1) * width, from.dout, width * sizeof(real));
    }
    c->data = rows_data(c);
    c->rows *= copies;
    c->next_rows = 0; /* nothing to prefetch */
}

/* After forward(): the outputs of last rows. */
static void collect_outputs(const Chunk *c)
{
    size_t width = c->value_width, copies = c->outer->copies;
    for (size_t i = 0; c->head != c->outer && i < c->rows / copies; i++)
        memcpy(c->positions.out + i * c->outer->out_stride,
               c->out + ((i + 1) * copies - 1) * width, width * sizeof(real));
}

/* After backward(). */
static void collect_gradients(const Chunk *c)
{
    const ChunkExpansion *expansion = c->outer->kind->engine->recurrence->expansion;
    for (size_t row = c->rows; expansion && row-- > 0;) {
        size_t copies = c->outer->copies;
        AttentionData to = attention_rows(&c->positions, row / copies, c->outer);
        expansion->backward(c->dexpanded + row * c->inner.stride, &to, row % copies, c->outer);
    }
}

/* NEXT is the start of the chunk that will be processed next. */
static void move_to(Chunk *c, const AttentionData *data, size_t start, size_t slot, size_t next)
{
    const AttentionHead *head = c->outer;
    c->data = attention_rows(data, start, head);
    if (data->saved)
        c->data.saved = data->saved + (saved_rows(head) ? start : 0);
    c->start = start;
    c->rows = rows_at(head, start);
    c->ahead = (ptrdiff_t)next - (ptrdiff_t)start;
    c->next_rows = rows_at(head, next);
    c->slot = slot;
    c->slot_filled = false;
    c->state = c->states + slot * c->state_reals;
    c->state_is_zero = start == 0 && !head->carries;
    c->is_last = start + c->rows == head->length;
    if (head->kind->engine->recurrence->expansion)
        expand(c);
    c->p.rows = c->a.rows = c->rows;
    c->v = plain(c->data.v, c->head->stride);
    c->dout = plain(c->data.dout, c->head->out_stride);
}

static void move_upwards(Chunk *c, const AttentionData *data, size_t start, size_t slot)
{
    move_to(c, data, start, slot, start + rows_at(c->outer, start));
}

static void move_downwards(Chunk *c, const AttentionData *data, size_t start, size_t slot)
{
    size_t chunk = chunk_positions(c->outer);
    move_to(c, data, start, slot, start > 0 ? start - chunk : c->outer->length);
}

/* --- forward --- */

void chunkwise_forward(const AttentionData *data, const AttentionHead *head)
{
    const Recurrence *recurrence = head->kind->engine->recurrence;
    Work work;
    Chunk *c = lay_out_scratch(&work, data, head);
    size_t bytes = c->state_reals * sizeof(real), span = span_positions(head);
    if (head->carries)
        memcpy(c->states, data->state, bytes);
    else
        memset(c->states, 0, bytes);
    for (size_t start = 0; start < head->length; start += chunk_positions(head)) {
        move_upwards(c, data, start, 0);
        if (start % span == 0 && !c->state_is_zero)
            memcpy(saved_state(c, data, start / span), c->state, bytes);
        recurrence->prepare(c);
        recurrence->forward(c);
        collect_outputs(c);
        if (head->carries || !c->is_last)
            recurrence->update_state(c, c->state);
    }
    if (head->carries)
        memcpy(data->state, c->states, bytes);
}

/* --- backward --- */

/* Recomputes the states at the starts of a span's chunks from the first one. */
static void recompute_states(Chunk *c, const AttentionData *data, size_t first, size_t chunks)
{
    const Recurrence *recurrence = c->outer->kind->engine->recurrence;
    size_t size = c->state_reals, chunk = chunk_positions(c->outer);
    for (size_t slot = 0; slot + 1 < chunks; slot++) {
        move_upwards(c, data, first + slot * chunk, slot);
        recurrence->prepare(c);
        memcpy(c->state + size, c->state, size * sizeof(real));
        recurrence->update_state(c, c->state + size);
    }
}

static void span_backward(Chunk *c, const AttentionData *data, size_t first)
{
    const Recurrence *recurrence = c->outer->kind->engine->recurrence;
    size_t left = c->outer->length - first, chunk = chunk_positions(c->outer);
    size_t chunks = (left + chunk - 1) / chunk;
    if (chunks > recurrence->span)
        chunks = recurrence->span;
    recompute_states(c, data, first, chunks);
    for (size_t slot = chunks; slot-- > 0;) {
        move_downwards(c, data, first + slot * chunk, slot);
        c->slot_filled = slot + 1 < chunks;
        recurrence->prepare(c);
        recurrence->backward(c, c->dstate);
        collect_gradients(c);
    }
}

void chunkwise_backward(const AttentionData *data, const AttentionHead *head)
{
    Work work;
    Chunk *c = lay_out_scratch(&work, data, head);
    vector_zero(c->dstate, c->state_reals);
    for (size_t span = span_count(head); span-- > 0;) {
        if (span == 0 && !head->carries)
            vector_zero(c->states, c->state_reals);
        else
            memcpy(c->states, saved_state(c, data, span), c->state_reals * sizeof(real));
        span_backward(c, data, span * span_positions(head));
    }
}

/* --- decoding --- */

void chunkwise_step(const AttentionData *data, const AttentionHead *head)
{
    Work work;
    AttentionHead one = *head;
    one.length = 1;
    Chunk *c = lay_out_scratch(&work, data, &one);
    move_upwards(c, data, 0, 0);
    const AttentionData rows = c->data;
    c->rows = 1;
    c->state = data->state;
    for (size_t row = 0; row < head->copies; row++) {
        c->data = attention_rows(&rows, row, c->head);
        c->v = plain(c->data.v, c->head->stride);
        head->kind->engine->recurrence->step(c);
    }
    c->rows = head->copies;
    collect_outputs(c);
}
