/* Softmax attention over a sliding window: a query sees the last w positions, itself included,
 *
 *   s_ij = q_i . k_j / sqrt(D)
 *   o_i = sum over i - w < j <= i of exp(s_ij) v_j / sum over the same j of exp(s_ij)
 *
 * so L layers reach L (w - 1) positions back. Decoding keeps a ring of w keys and values. With
 * --carry-state the ring is carried into the next context window, as in Transformer-XL; forward
 * keeps a copy of it, in order, for backward. */
#include "src/attention/panel.h"
#include "src/vector.h"

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

/* The past lies after what the engine saves. */
static PanelSource source_of(const AttentionData *data, const AttentionHead *head)
{
    real *kept = data->saved + panel_memory(head).saved;
    return (PanelSource){.q = data->q,
                         .k = data->k,
                         .stride = head->stride,
                         .past_k = kept,
                         .past_v = kept + past(head) * head->width,
                         .past = past(head)};
}

/* Copies the ring, in order. */
static void keep_past(const AttentionData *data, const AttentionHead *head)
{
    AttentionHead ring_sizes = ring_head(head);
    PanelState ring = panel_state(data->carry, &ring_sizes);
    size_t width = head->width, count = past(head);
    real *keys = data->saved + panel_memory(head).saved, *values = keys + count * width;
    for (size_t i = 0; i < count; i++) {
        size_t from = (head->position - count + i) % head->options->window * width;
        memcpy(keys + i * width, ring.keys + from, width * sizeof(real));
        memcpy(values + i * width, ring.values + from, width * sizeof(real));
    }
}

/* Stores in the ring what later queries may see. */
static void carry_out(const AttentionData *data, const AttentionHead *head)
{
    AttentionHead ring_sizes = ring_head(head);
    PanelState ring = panel_state(data->carry, &ring_sizes);
    size_t width = head->width, window = head->options->window;
    for (size_t i = head->length > window ? head->length - window : 0; i < head->length; i++) {
        size_t to = (head->position + i) % window * width;
        memcpy(ring.keys + to, data->k + i * head->stride, width * sizeof(real));
        memcpy(ring.values + to, data->v + i * head->stride, width * sizeof(real));
    }
}

static void forward(const AttentionData *data, const AttentionHead *head)
{
    PanelSource source = source_of(data, head);
    if (head->carries)
        keep_past(data, head);
    panel_source_forward(&source, data, head);
    if (head->carries)
        carry_out(data, head);
}

static void backward(const AttentionData *data, const AttentionHead *head)
{
    PanelSource source = source_of(data, head);
    panel_source_backward(&source, data, head);
}

const AttentionKind attention_window = {
    .name = "window",
    .help = "sliding-window softmax attention",
    .cost = "window D",
    .uses = "window",
    .has_weights = true,
    .normalised = true,
    .finite_state = true,
    .carry = CARRY_WHOLLY,
    .memory = memory,
    .flop = panel_flop,
    .forward = forward,
    .backward = backward,
    .step = panel_step,
    .detail = &(const PanelKind){.reach = reach},
};
