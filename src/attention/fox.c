/* The forgetting transformer, FoX (Lin et al. 2025): softmax attention whose scores fade with
 * the positions between query and key, at a rate that each position chooses,
 *
 *   s_ij = q_i . k_j / sqrt(D) + c_i - c_j,    c_i = sum over s <= i of log sigmoid(gate_s)
 *   o_i = sum over j <= i of exp(s_ij) v_j / sum of exp(s_ij)
 *
 * so a key counts as the product of the forget gates after it. Distances show in the weights,
 * and no position encoding is needed. Biases start between 0 and 5 over the heads: half-lives
 * of one position to about a hundred. Decoding keeps c_i - c_j beside each key. */
#include "src/attention/panel.h"
#include "src/math/vector.h"

static AttentionMemory memory(const AttentionHead *head)
{
    AttentionMemory memory = panel_memory(head);
    memory.scratch += 3 * head->length;
    return memory;
}

/* The logarithms and the engine's sums and gradients lie after the scratch of the engine. */
static void prepare(PanelSource *source, const AttentionData *data, const AttentionHead *head)
{
    real *logs = data->scratch + panel_memory(head).scratch;
    PanelKeys *keys = &source->keys[PANEL_OWN];
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
static void end_backward(const PanelSource *source, const AttentionData *data,
                         const AttentionHead *head)
{
    real sum = 0;
    for (size_t i = head->length; i-- > 0;) {
        sum += source->keys[PANEL_OWN].dsums[i];
        size_t at = i * head->gates_stride;
        data->dgates[at] = sum * vector_sigmoid(-data->gates[at]);
    }
}

/* All earlier keys fade a little more. */
static void step(const AttentionData *data, const AttentionHead *head)
{
    real *faded = panel_state(data->carry, head).faded;
    real decay = vector_log_sigmoid(data->gates[0]);
    for (size_t j = 0; j < head->position; j++)
        faded[j] += decay;
    faded[head->position] = 0;
    panel_step(data, head);
}

static size_t one_gate(const AttentionHead *head)
{
    (void)head;
    return 1;
}

static void start_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    (void)key;
    bias[0] = head->heads > 1 ? 5 * (real)head->index / (real)(head->heads - 1) : (real)2.5;
}

const AttentionKind attention_fox = {
    PANEL_KIND(.fades = true, .prepare = prepare, .end_backward = end_backward),
    .name = "fox",
    .help = "forgetting transformer (FoX): softmax whose scores fade by learned forget gates",
    .cost = "T D",
    .normalised = true,
    .knows_positions = true,
    .memory = memory,
    .gates = one_gate,
    .start_gates = start_gates,
    .flop = panel_flop,
    .step = step,
};
