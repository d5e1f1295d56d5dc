/* Decoding with softmax attention: one query against the keys and values kept so far. */
#include "src/attention/panel.h"
#include "src/math/gemm.h"
#include "src/math/vector.h"

#include <assert.h>

/* The last block begins entries too, which no query will see. */
static size_t entries_begun(const AttentionHead *head)
{
    return panel_entries(head) + panel_reach(head).entries;
}

size_t panel_state_reals(const AttentionHead *head)
{
    const PanelKind *kind = head->kind->engine_options;
    size_t decay_sums = kind->fades ? panel_ring_rows(head) : 0;
    return 2 * (panel_ring_rows(head) + entries_begun(head)) * head->width + decay_sums;
}

PanelState panel_state(real *state, const AttentionHead *head)
{
    size_t ring_reals = panel_ring_rows(head) * head->width;
    PanelState s = {.keys = state, .values = state + ring_reals};
    s.entry_k = s.values + ring_reals;
    s.entry_v = s.entry_k + entries_begun(head) * head->width;
    s.decay_sums = s.entry_v + entries_begun(head) * head->width;
    return s;
}

/* out += exp(p - top) V, and p becomes these exponentials; returns their sum. */
static real absorb_values(real *out,          /* (D) */
                          real *p, real top,  /* (count) */
                          const real *values, /* (count, D) */
                          size_t count, size_t width)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        p[j] = vector_exp(p[j] - top);
        sum += p[j];
    }
    gemm(1, width, count, 1, plain(p, count), plain(values, width), GEMM_ADD, out, width);
    return sum;
}

/* The scores of some keys, (count, D). */
static void score(real *p, const real *q, const real *keys, size_t count,
                  const AttentionHead *head)
{
    gemm(1, count, head->width, attention_scale(head), plain(q, head->width),
         transposed(keys, head->width), GEMM_SET, p, count);
}

/* The visible rows of the ring are contiguous: either all of it, or, until it is full, those
 * from the first visible position on. */
void panel_step(const AttentionData *data, const AttentionHead *head)
{
    const PanelKind *kind = head->kind->engine_options;
    PanelReach reach = panel_reach(head);
    PanelState s = panel_state(data->state, head);
    size_t width = head->width, rows = panel_ring_rows(head), position = head->position;
    size_t first = panel_first_seen(&reach, position);
    size_t seen = position + 1 - first, entries = panel_entries_seen(&reach, position);
    assert(seen <= rows && rows > 0);
    size_t offset = seen == rows ? 0 : first % rows * width, row = position % rows * width;
    real *p = data->scratch;
    memcpy(s.keys + row, data->k, width * sizeof(real));
    memcpy(s.values + row, data->v, width * sizeof(real));
    score(p, data->q, s.keys + offset, seen, head);
    if (kind->fades)
        vector_add_scaled(p, s.decay_sums + offset / width, 1, seen);
    score(p + seen, data->q, s.entry_k, entries, head);
    for (size_t j = 0; j < entries; j++)
        p[seen + j] += reach.bias;
    real sink = kind->has_sink && data->params ? data->params[0] : 0;
    real max = vector_max(p, seen + entries);
    max = kind->has_sink && sink > max ? sink : max;
    vector_zero(data->out, width);
    real sum = kind->has_sink ? vector_exp(sink - max) : 0;
    sum += absorb_values(data->out, p, max, s.values + offset, seen, width);
    sum += absorb_values(data->out, p + seen, max, s.entry_v, entries, width);
    for (size_t i = 0; i < width; i++)
        data->out[i] /= sum;
}
