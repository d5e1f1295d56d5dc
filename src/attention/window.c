/* Softmax attention over a sliding window: a query sees the last w positions, itself included,
 *
 *   s_ij = q_i . k_j / sqrt(D)
 *   o_i = sum over i - w < j <= i of exp(s_ij) v_j / sum over the same j of exp(s_ij)
 *
 * so L layers reach L (w - 1) positions back. Decoding keeps a ring of w keys and values. With
 * --carry-state the ring is carried into the next context window, as in Transformer-XL; forward
 * keeps a copy of it, in order, for backward. */
#include "src/attention/panel.h"
#include "src/math/vector.h"

static PanelReach reach(const AttentionHead *head)
{
    return (PanelReach){.window = head->options->window, .block = PANEL_ALL};
}

/* Positions before the sequence that its first query sees. */
static size_t past(const AttentionHead *head)
{
    size_t most = head->options->window - 1;
    if (!head->carries)
        return 0;
    return head->position < most ? head->position : most;
}

/* A carried ring has room for everything that any query sees. */
static AttentionHead ring_head(const AttentionHead *head)
{
    AttentionHead ring = *head;
    if (head->carries)
        ring.length = head->options->window;
    return ring;
}

static AttentionMemory memory(const AttentionHead *head)
{
    AttentionHead ring = ring_head(head);
    AttentionMemory memory = panel_memory(head);
    size_t most = head->carries ? head->options->window - 1 : 0;
    memory.saved += 2 * most * head->width;
    memory.state = panel_state_reals(&ring);
    return memory;
}

/* Copies the ring, in order. */
static void keep_past(real *keys, real *values, PanelState ring, const AttentionHead *head)
{
    size_t width = head->width, count = past(head);
    for (size_t i = 0; i < count; i++) {
        size_t from = (head->position - count + i) % head->options->window * width;
        memcpy(keys + i * width, ring.keys + from, width * sizeof(real));
        memcpy(values + i * width, ring.values + from, width * sizeof(real));
    }
}

/* Stores in the ring what later queries may see. */
static void carry_out(PanelState ring, const AttentionData *data, const AttentionHead *head)
{
    size_t width = head->width, window = head->options->window;
    for (size_t i = head->length > window ? head->length - window : 0; i < head->length; i++) {
        size_t to = (head->position + i) % window * width;
        memcpy(ring.keys + to, data->k + i * head->stride, width * sizeof(real));
        memcpy(ring.values + to, data->v + i * head->stride, width * sizeof(real));
    }
}

/* The past lies after what the engine saves. Forward copies it there. */
static void prepare(PanelSource *source, const AttentionData *data, const AttentionHead *head)
{
    real *keys = data->saved + panel_memory(head).saved;
    real *values = keys + past(head) * head->width;
    source->past = past(head);
    source->keys[PANEL_PAST].k = keys;
    source->keys[PANEL_PAST].v = values;
    if (head->carries && !data->dq) {
        AttentionHead ring_sizes = ring_head(head);
        PanelState ring = panel_state(data->carry, &ring_sizes);
        keep_past(keys, values, ring, head);
        carry_out(ring, data, head);
    }
}

const AttentionKind attention_window = {
    PANEL_KIND(.reach = reach, .prepare = prepare),
    .name = "window",
    .help = "sliding-window softmax attention",
    .cost = "window D",
    .uses = "window",
    .normalised = true,
    .finite_state = true,
    .carry = CARRY_WHOLLY,
    .memory = memory,
    .flop = panel_flop,
    .step = panel_step,
};
