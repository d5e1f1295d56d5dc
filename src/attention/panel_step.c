/* Which keys a query sees, for the training passes and for decoding; and decoding with softmax
 * attention, one query against the keys and values kept so far. */
#include "src/attention/panel.h"
#include "src/math/vector.h"

/* --- which keys a query sees --- */

PanelReach panel_reach(const AttentionHead *head)
{
    const PanelKind *kind = head->kind->detail;
    if (kind->reach)
        return kind->reach(head);
    return (PanelReach){.window = PANEL_ALL, .block = PANEL_ALL};
}

size_t panel_first_seen(const PanelReach *reach, size_t query)
{
    size_t first = query >= reach->window ? query - reach->window + 1 : 0;
    if (reach->block == PANEL_ALL)
        return first;
    size_t start = query / reach->block * reach->block + reach->skipped;
    start = start < query ? start : query;
    return start > first ? start : first;
}

size_t panel_entries_seen(const PanelReach *reach, size_t query)
{
    return reach->entries ? query / reach->block * reach->entries : 0;
}

size_t panel_entries(const AttentionHead *head)
{
    PanelReach reach = panel_reach(head);
    return head->length ? panel_entries_seen(&reach, head->length - 1) : 0;
}

size_t panel_kept(const AttentionHead *head)
{
    PanelReach reach = panel_reach(head);
    size_t most = reach.window < reach.block ? reach.window : reach.block;
    return head->length < most ? head->length : most;
}

double panel_flop(const AttentionHead *head)
{
    PanelReach reach = panel_reach(head);
    double pairs = 0;
    for (size_t i = 0; i < head->length; i++)
        pairs += (double)(i + 1 - panel_first_seen(&reach, i) + panel_entries_seen(&reach, i));
    return 4 * pairs * (double)head->width;
}

/* --- decoding --- */

/* The last block begins entries too, which no query will see. */
static size_t entries_begun(const AttentionHead *head)
{
    return panel_entries(head) + panel_reach(head).entries;
}

size_t panel_state_reals(const AttentionHead *head)
{
    const PanelKind *kind = head->kind->detail;
    size_t faded = kind->fades ? panel_kept(head) : 0;
    return 2 * (panel_kept(head) + entries_begun(head)) * head->width + faded;
}

PanelState panel_state(real *state, const AttentionHead *head)
{
    size_t own = panel_kept(head) * head->width;
    PanelState s = {.keys = state, .values = state + own};
    s.entry_k = s.values + own;
    s.entry_v = s.entry_k + entries_begun(head) * head->width;
    s.faded = s.entry_v + entries_begun(head) * head->width;
    return s;
}

/* out += exp(p - top) V;  returns the sum of the exponentials. */
static real absorb_values(real *out, const real *p, real top, const real *values, size_t count,
                          size_t width)
{
    real sum = 0;
    for (size_t j = 0; j < count; j++) {
        real e = vector_exp(p[j] - top);
        sum += e;
        vector_add_scaled(out, values + j * width, e, width);
    }
    return sum;
}

/* The visible rows of the ring are contiguous: either all of it, or, until it is full, those
 * from the first visible position on. */
void panel_step(const AttentionData *data, const AttentionHead *head)
{
    const PanelKind *kind = head->kind->detail;
    PanelReach reach = panel_reach(head);
    PanelState s = panel_state(data->carry, head);
    size_t width = head->width, rows = panel_kept(head), position = head->position;
    size_t first = panel_first_seen(&reach, position);
    size_t own = position + 1 - first, entries = panel_entries_seen(&reach, position);
    size_t at = own == rows ? 0 : first % rows * width;
    real *p = data->scratch, scale = attention_scale(head);
    memcpy(s.keys + position % rows * width, data->k, width * sizeof(real));
    memcpy(s.values + position % rows * width, data->v, width * sizeof(real));
    for (size_t j = 0; j < own; j++)
        p[j] = vector_dot(data->q, s.keys + at + j * width, width) * scale;
    if (kind->fades)
        vector_add_scaled(p, s.faded + at / width, 1, own);
    for (size_t j = 0; j < entries; j++)
        p[own + j] = vector_dot(data->q, s.entry_k + j * width, width) * scale + reach.bias;
    real sink = kind->has_sink && data->params ? data->params[0] : 0;
    real max = vector_max(p, own + entries);
    max = kind->has_sink && sink > max ? sink : max;
    vector_zero(data->out, width);
    real sum = kind->has_sink ? vector_exp(sink - max) : 0;
    sum += absorb_values(data->out, p, max, s.values + at, own, width);
    sum += absorb_values(data->out, p + own, max, s.entry_v, entries, width);
    for (size_t i = 0; i < width; i++)
        data->out[i] /= sum;
}
