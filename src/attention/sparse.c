/* Softmax attention over a part of the past.
 *
 * In a sliding window a query sees the last w positions, itself included,
 *
 *   s_ij = q_i . k_j / sqrt(D)
 *   o_i = sum over i - w < j <= i of exp(s_ij) v_j / sum over the same j of exp(s_ij)
 *
 * so L layers reach L (w - 1) positions back. Decoding keeps a ring of w keys and values. With
 * --carry-state the ring is carried into the next context window, as in Transformer-XL; forward
 * keeps a copy of it, in order, for backward.
 *
 * In Sparse Transformers (Child et al. 2019) heads alternate between near and far positions.
 * Each is softmax attention over
 *
 *              even heads             odd heads
 *   strided    i - j < l              i - j a multiple of l
 *   fixed      j in the block of i    j among the last c positions of its block, or j = i
 *
 * for j <= i; l is the period, and the length of the blocks of fixed. Two layers together reach
 * every position; with l near sqrt(T) a query sees about sqrt(T) keys.
 *
 * The far head of strided splits the sequence into l independent ones: the positions r, r + l,
 * r + 2 l and so on, each with softmax attention over T / l positions and l times the strides.
 * For the far head of fixed, the summaries, which are the last c positions of each earlier
 * block, are gathered into entries; in its own block a query sees the range from the start of
 * the summary, or itself if that is earlier. */
#include "src/attention/panel.h"
#include "src/math/vector.h"

/* --- window --- */

static PanelReach window_reach(const AttentionHead *head)
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

static AttentionMemory window_memory(const AttentionHead *head)
{
    AttentionHead ring = ring_head(head);
    AttentionMemory memory = panel_memory(head);
    size_t most = head->carries ? head->options->window - 1 : 0;
    memory.saved += 2 * most * head->width;
    memory.state = panel_state_reals(&ring);
    return memory;
}

/* Copies the ring, in order, to keys and values (past, D). */
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
static void window_prepare(PanelSource *source, const AttentionData *data,
                           const AttentionHead *head)
{
    real *keys = data->saved + panel_memory(head).saved;
    real *values = keys + past(head) * head->width;
    source->past = past(head);
    source->keys[PANEL_PAST].k = keys;
    source->keys[PANEL_PAST].v = values;
    if (head->carries && !data->dq) {
        AttentionHead ring_sizes = ring_head(head);
        PanelState ring = panel_state(data->state, &ring_sizes);
        keep_past(keys, values, ring, head);
        carry_out(ring, data, head);
    }
}

static const AttentionEngine window_engine = {.memory = window_memory,
                                              .flop = panel_flop,
                                              .forward = panel_forward,
                                              .backward = panel_backward,
                                              .step = panel_step,
                                              .finite_state = true,
                                              .carry = CARRY_WHOLLY};

const AttentionKind attention_window = {
    .name = "window",
    .source = "Beltagy et al. 2020, arXiv 2004.05150",
    .help = "sliding-window softmax attention",
    .cost = "window D",
    .uses = "window",
    .has_weights = true,
    .normalised = true,
    .engine = &window_engine,
    .engine_options = &(const PanelKind){.reach = window_reach, .prepare = window_prepare},
};

/* --- near and far heads --- */

static bool is_far(const AttentionHead *head)
{
    return head->index % 2 == 1;
}

/* Sizes must suffice for every head of a kind. */
static AttentionHead with_index(const AttentionHead *head, size_t index)
{
    AttentionHead other = *head;
    other.index = index;
    return other;
}

/* --- strided --- */

static PanelReach strided_reach(const AttentionHead *head)
{
    return (PanelReach){.window = is_far(head) ? PANEL_ALL : head->options->period,
                        .block = PANEL_ALL};
}

static size_t strands(const AttentionHead *head)
{
    return head->length < head->options->period ? head->length : head->options->period;
}

/* The sequence of every l-th position from `first` on, for a far head. */
static AttentionHead strand_head(const AttentionHead *head, size_t first)
{
    size_t period = head->options->period;
    AttentionHead strand = with_index(head, 1);
    strand.length = (head->length - first + period - 1) / period;
    strand.stride *= period;
    strand.out_stride *= period;
    strand.dropout.key = random_subkey(head->dropout.key, first);
    return strand;
}

static AttentionMemory strided_memory(const AttentionHead *head)
{
    AttentionHead near = with_index(head, 0), longest = strand_head(head, 0);
    AttentionMemory memory = panel_memory(&near), far = panel_memory(&longest);
    if (memory.scratch < far.scratch)
        memory.scratch = far.scratch;
    memory.state = strands(head) * far.state;
    return memory;
}

/* Calls work for every such sequence; their saved lse lie one after another. */
static void for_strands(const AttentionData *data, const AttentionHead *head,
                        void (*work)(const AttentionData *data, const AttentionHead *head))
{
    real *saved = data->saved;
    for (size_t first = 0; first < strands(head); first++) {
        AttentionHead strand = strand_head(head, first);
        AttentionData part = attention_rows(data, first, head);
        part.saved = saved;
        work(&part, &strand);
        saved += strand.length;
    }
}

static void strided_forward(const AttentionData *data, const AttentionHead *head)
{
    if (is_far(head))
        for_strands(data, head, panel_forward);
    else
        panel_forward(data, head);
}

static void strided_backward(const AttentionData *data, const AttentionHead *head)
{
    if (is_far(head))
        for_strands(data, head, panel_backward);
    else
        panel_backward(data, head);
}

static void strided_step(const AttentionData *data, const AttentionHead *head)
{
    size_t period = head->options->period;
    if (!is_far(head)) {
        panel_step(data, head);
        return;
    }
    AttentionHead longest = strand_head(head, 0);
    AttentionData strand_data = *data;
    strand_data.state += head->position % period * panel_state_reals(&longest);
    longest.position /= period;
    panel_step(&strand_data, &longest);
}

/* The mean over the heads, of which the odd ones are far. */
static double mean_flop(double near, double far, const AttentionHead *head)
{
    return (near * (double)((head->heads + 1) / 2) + far * (double)(head->heads / 2)) /
           (double)head->heads;
}

static double strided_flop(const AttentionHead *head)
{
    AttentionHead near = with_index(head, 0);
    double far = 0;
    for (size_t first = 0; first < strands(head); first++) {
        AttentionHead strand = strand_head(head, first);
        far += panel_flop(&strand);
    }
    return mean_flop(panel_flop(&near), far, head);
}

static const AttentionEngine strided_engine = {.memory = strided_memory,
                                               .flop = strided_flop,
                                               .forward = strided_forward,
                                               .backward = strided_backward,
                                               .step = strided_step};

const AttentionKind attention_strided = {
    .name = "strided",
    .source = "Child et al. 2019, arXiv 1904.10509",
    .help =
        "Sparse Transformer, strided: heads alternate between the last positions and a stride",
    .cost = "(period + T / period) D",
    .uses = "period",
    .alternates = true,
    .has_weights = true,
    .normalised = true,
    .engine = &strided_engine,
    .engine_options = &(const PanelKind){.reach = strided_reach},
};

/* --- fixed --- */

static size_t summary(const AttentionHead *head)
{
    const AttentionOptions *options = head->options;
    return options->summary < options->period ? options->summary : options->period;
}

static PanelReach fixed_reach(const AttentionHead *head)
{
    PanelReach reach = {.window = PANEL_ALL, .block = head->options->period};
    if (is_far(head)) {
        reach.skipped = head->options->period - summary(head);
        reach.entries = summary(head);
    }
    return reach;
}

/* The position that an entry of a far head stands for. */
static size_t position_of(size_t entry, const AttentionHead *head)
{
    size_t period = head->options->period, count = summary(head);
    return entry / count * period + period - count + entry % count;
}

static AttentionMemory fixed_memory(const AttentionHead *head)
{
    AttentionHead far = with_index(head, 1);
    AttentionMemory memory = panel_memory(&far);
    memory.scratch += 4 * panel_entries(&far) * head->width;
    return memory;
}

/* Gathers the entries. They and their gradients lie after the engine's scratch. */
static void fixed_prepare(PanelSource *source, const AttentionData *data,
                          const AttentionHead *head)
{
    size_t width = head->width, count = panel_entries(head);
    real *k = data->scratch + panel_memory(head).scratch, *v = k + count * width;
    for (size_t i = 0; i < count; i++) {
        size_t at = position_of(i, head) * head->stride;
        memcpy(k + i * width, data->k + at, width * sizeof(real));
        memcpy(v + i * width, data->v + at, width * sizeof(real));
    }
    PanelKeys *entries = &source->keys[PANEL_ENTRIES];
    entries->k = k;
    entries->v = v;
    entries->dk = v + count * width;
    entries->dv = v + 2 * count * width;
}

static void fixed_end_backward(const PanelSource *source, const AttentionData *data,
                               const AttentionHead *head)
{
    const PanelKeys *entries = &source->keys[PANEL_ENTRIES];
    size_t width = head->width;
    for (size_t i = 0; i < panel_entries(head); i++) {
        size_t at = position_of(i, head) * head->stride;
        vector_add_scaled(data->dk + at, entries->dk + i * width, 1, width);
        vector_add_scaled(data->dv + at, entries->dv + i * width, 1, width);
    }
}

static void fixed_step(const AttentionData *data, const AttentionHead *head)
{
    size_t position = head->position, period = head->options->period, place = position % period,
           width = head->width;
    panel_step(data, head);
    size_t begin = period - summary(head);
    if (!is_far(head) || place < begin)
        return;
    PanelState s = panel_state(data->state, head);
    size_t entry = position / period * summary(head) + place - begin;
    memcpy(s.entry_k + entry * width, data->k, width * sizeof(real));
    memcpy(s.entry_v + entry * width, data->v, width * sizeof(real));
}

static double fixed_flop(const AttentionHead *head)
{
    AttentionHead near = with_index(head, 0), far = with_index(head, 1);
    return mean_flop(panel_flop(&near), panel_flop(&far), head);
}

static const AttentionEngine fixed_engine = PANEL_ENGINE(fixed_memory, fixed_flop, fixed_step);

const AttentionKind attention_fixed = {
    .name = "fixed",
    .source = "Child et al. 2019, arXiv 1904.10509",
    .help =
        "Sparse Transformer, fixed: heads alternate between own block and ends of all blocks",
    .cost = "(period + summary T / period) D",
    .uses = "period summary",
    .alternates = true,
    .has_weights = true,
    .normalised = true,
    .engine = &fixed_engine,
    .engine_options = &(const PanelKind){.reach = fixed_reach,
                                         .prepare = fixed_prepare,
                                         .end_backward = fixed_end_backward},
};
