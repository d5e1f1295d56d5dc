/* Softmax attention (Vaswani et al. 2017), each query over all of its past:
 *
 *   s_ij = q_i . k_j / sqrt(D),   o_i = sum over j <= i of exp(s_ij) v_j / sum of exp(s_ij)
 *
 * softmax1 lets a query attend to nothing: one more key of score b and value 0 joins the
 * denominator:
 *
 *   o_i = sum over j <= i of exp(s_ij) v_j / (exp(b) + sum of exp(s_ij))
 *
 * b is 0, or with --sink a parameter of each head that starts at 0.
 *
 * The forgetting transformer, FoX (Lin et al. 2025): softmax attention whose scores fade with
 * the positions between query and key, at a rate that each position chooses,
 *
 *   s_ij = q_i . k_j / sqrt(D) + c_i - c_j,    c_i = sum over s <= i of log sigmoid(gate_s)
 *   o_i = sum over j <= i of exp(s_ij) v_j / sum of exp(s_ij)
 *
 * so a key counts as the product of the forget gates after it. Distances show in the weights,
 * and no position encoding is needed. Biases start between 0 and 5 over the heads: half-lives
 * of one position to about a hundred. Decoding keeps c_i - c_j beside each key.
 *
 * panel.c computes all three. */
#include "src/attention/panel.h"
#include "src/math/vector.h"

static const AttentionEngine softmax_engine = PANEL_ENGINE(panel_memory, panel_flop,
                                                           panel_step);

const AttentionKind attention_softmax = {
    .name = "softmax",
    .source = "Vaswani et al. 2017, arXiv 1706.03762",
    .help = "exact softmax attention; time grows with the square of the length",
    .cost = "T D",
    .has_weights = true,
    .normalised = true,
    .engine = &softmax_engine,
    .engine_options = &(const PanelKind){0},
};

/* --- softmax1 --- */

static size_t sink_reals(const AttentionHead *head)
{
    return head->options->sink ? 1 : 0;
}

static void start_sink(real *params, const AttentionHead *head, RandomKey key)
{
    (void)key;
    if (head->options->sink)
        params[0] = 0;
}

const AttentionKind attention_softmax1 = {
    .name = "softmax1",
    .source = "Miller 2023, Attention Is Off By One",
    .help = "softmax with an extra 1 in the denominator, so that a head may attend to nothing",
    .cost = "T D",
    .uses = "sink",
    .has_weights = true,
    .param_count = {.more = sink_reals},
    .start_params = start_sink,
    .engine = &softmax_engine,
    .engine_options = &(const PanelKind){.has_sink = true},
};

/* --- fox --- */

static AttentionMemory fox_memory(const AttentionHead *head)
{
    AttentionMemory memory = panel_memory(head);
    memory.scratch += 3 * head->length;
    return memory;
}

/* The logarithms and the engine's sums and gradients lie after the scratch of the engine. */
static void fox_prepare(PanelSource *source, const AttentionData *data,
                        const AttentionHead *head)
{
    real *logs = data->scratch + panel_memory(head).scratch;
    PanelKeys *keys = &source->keys[PANEL_SEQUENCE];
    for (size_t i = 0; i < head->length; i++)
        logs[i] = vector_log_sigmoid(data->gates[i * head->gates_stride]);
    keys->logs = logs;
    keys->sums = logs + head->length;
    if (!data->dq)
        return;
    keys->dsums = keys->sums + head->length;
    vector_zero(keys->dsums, head->length);
}

/* A gate is part of the sums of its own position and all later ones. */
static void fox_end_backward(const PanelSource *source, const AttentionData *data,
                             const AttentionHead *head)
{
    real sum = 0;
    for (size_t i = head->length; i-- > 0;) {
        sum += source->keys[PANEL_SEQUENCE].dsums[i];
        size_t at = i * head->gates_stride;
        data->dgates[at] = sum * vector_sigmoid(-data->gates[at]);
    }
}

/* All earlier keys fade a little more. */
static void fox_step(const AttentionData *data, const AttentionHead *head)
{
    real *decay_sums = panel_state(data->state, head).decay_sums;
    real decay = vector_log_sigmoid(data->gates[0]);
    for (size_t j = 0; j < head->position; j++)
        decay_sums[j] += decay;
    decay_sums[head->position] = 0;
    panel_step(data, head);
}

static const AttentionEngine fox_engine = PANEL_ENGINE(fox_memory, panel_flop, fox_step);

const AttentionKind attention_fox = {
    .name = "fox",
    .source = "Lin et al. 2025, arXiv 2503.02130",
    .help = "forgetting transformer (FoX): softmax whose scores fade by learned forget gates",
    .cost = "T D",
    .has_weights = true,
    .normalised = true,
    .encodes_positions = true,
    .gates = {.count = {.fixed = 1}},
    .form = 1,
    .changed = "in hybrids its layers have no RoPE (since 0.2)",
    .engine = &fox_engine,
    .engine_options = &(const PanelKind){.fades = true,
                                         .prepare = fox_prepare,
                                         .end_backward = fox_end_backward},
};
