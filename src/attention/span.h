/* States that are kept and carried, for engines that go through a text in chunks. Forward keeps
 * the state at the start of each span of chunks, but for the first where the text begins from
 * zeros; backward computes those inside a span again. */
#ifndef LINNET_SPAN_H
#define LINNET_SPAN_H

#include "src/attention/attention.h"
#include "src/vector.h"

typedef struct Spans {
    const AttentionHead *head;
    size_t positions; /* of a span */
    size_t state;     /* reals */
    real *kept;       /* (spans, or one less, state); not needed for counting */
} Spans;

static inline size_t spans_count(const Spans *spans)
{
    return (spans->head->length + spans->positions - 1) / spans->positions;
}

static inline size_t spans_kept_reals(const Spans *spans)
{
    return (spans_count(spans) - (spans->head->carries ? 0 : 1)) * spans->state;
}

/* Whether nothing is known yet at this position. */
static inline bool spans_start_from_zeros(const Spans *spans, size_t start)
{
    return start == 0 && !spans->head->carries;
}

static inline real *spans_at(const Spans *spans, size_t start)
{
    size_t place = start / spans->positions - (spans->head->carries ? 0 : 1);
    return spans->kept + place * spans->state;
}

/* Forward, at the start of a chunk: keeps the state if a span begins here. */
static inline void spans_keep(const Spans *spans, size_t start, const real *state)
{
    if (start % spans->positions == 0 && !spans_start_from_zeros(spans, start))
        memcpy(spans_at(spans, start), state, spans->state * sizeof(real));
}

/* Backward: the state at the start of a span. */
static inline void spans_fetch(const Spans *spans, size_t start, real *state)
{
    if (spans_start_from_zeros(spans, start))
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
