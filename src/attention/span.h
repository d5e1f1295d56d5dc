/* For engines that go through a text in chunks, with a state: where it is kept, carried and
 * known to be zero. Forward keeps the state at the start of each span of chunks, but for the
 * first where the text begins from zeros; backward, from the last span to the first, computes
 * those inside a span again. */
#ifndef LINNET_SPAN_H
#define LINNET_SPAN_H

#include "src/attention/attention.h"
#include "src/attention/rows.h"
#include "src/gemm.h"

typedef struct Spans {
    const AttentionHead *head;
    size_t chunk, chunks; /* positions of a chunk, and chunks of a span */
    size_t state;         /* reals */
    real *kept;           /* (spans, or one less, state); not needed for counting */
} Spans;

static inline size_t spans_positions(const Spans *spans)
{
    return spans->chunk * spans->chunks;
}

static inline size_t spans_count(const Spans *spans)
{
    return (spans->head->length + spans_positions(spans) - 1) / spans_positions(spans);
}

static inline size_t spans_kept_reals(const Spans *spans)
{
    return (spans_count(spans) - (spans->head->carries ? 0 : 1)) * spans->state;
}

/* Where a span begins and ends, and in how many chunks it is cut. */
typedef struct Span {
    size_t first, end, chunks;
} Span;

static inline Span spans_span(const Spans *spans, size_t index)
{
    Span span = {.first = index * spans_positions(spans)};
    size_t left = spans->head->length - span.first;
    span.end = span.first + (left < spans_positions(spans) ? left : spans_positions(spans));
    span.chunks = (span.end - span.first + spans->chunk - 1) / spans->chunk;
    return span;
}

/* --- what is known to be zero --- */

/* The state at a chunk's start, where nothing has been written yet; */
static inline bool spans_start_from_zeros(const AttentionHead *head, size_t start)
{
    return start == 0 && !head->carries;
}

/* and the gradient of that at a chunk's end, where nothing behind reads it. */
static inline bool spans_end_unread(const AttentionHead *head, size_t end)
{
    return end == head->length;
}

/* C = A B, (m, k) by (k, n), where one of them may be known to be zero. */
static inline void spans_product(bool zero, size_t m, size_t n, size_t k, Factor a, Factor b,
                                 real *c, size_t c_stride)
{
    if (zero)
        rows_zero(c, c_stride, m, n);
    else
        gemm(m, n, k, 1, a, b, GEMM_SET, c, c_stride);
}

/* --- what is kept and carried --- */

static inline real *spans_at(const Spans *spans, size_t start)
{
    size_t place = start / spans_positions(spans) - (spans->head->carries ? 0 : 1);
    return spans->kept + place * spans->state;
}

/* Forward, at the start of a chunk: keeps the state if a span begins here. */
static inline void spans_keep(const Spans *spans, size_t start, const real *state)
{
    if (start % spans_positions(spans) == 0 && !spans_start_from_zeros(spans->head, start))
        memcpy(spans_at(spans, start), state, spans->state * sizeof(real));
}

/* Backward: the state at the start of a span. */
static inline void spans_fetch(const Spans *spans, size_t start, real *state)
{
    if (spans_start_from_zeros(spans->head, start))
        vector_zero(state, spans->state);
    else
        memcpy(state, spans_at(spans, start), spans->state * sizeof(real));
}

/* The state that a text begins with; and what it leaves, if that is asked for. */
static inline void spans_carry_in(const Spans *spans, const AttentionData *data, real *state)
{
    if (spans->head->carries)
        memcpy(state, data->carry, spans->state * sizeof(real));
    else
        vector_zero(state, spans->state);
}

static inline void spans_carry_out(const Spans *spans, const AttentionData *data,
                                   const real *state)
{
    if (spans->head->carries)
        memcpy(data->carry, state, spans->state * sizeof(real));
}

#endif
