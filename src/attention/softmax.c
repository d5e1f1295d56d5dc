/* Softmax attention (Vaswani et al. 2017), each query over all of its past:
 *
 *   s_ij = q_i . k_j / sqrt(D),   o_i = sum over j <= i of exp(s_ij) v_j / sum of exp(s_ij)
 *
 * softmax1 lets a query attend to nothing: one more key of score b and value 0 joins the
 * denominator:
 *
 *   o_i = sum over j <= i of exp(s_ij) v_j / (exp(b) + sum of exp(s_ij))
 *
 * b is 0, or with --sink a parameter of each head that starts at 0. panel.c computes both. */
#include "src/attention/panel.h"

/* Two products for the causal half of all pairs. */
static double flop(const AttentionHead *head)
{
    return 2 * (double)head->length * (double)head->length * (double)head->width;
}

const AttentionKind attention_softmax = {
    PANEL_KIND(.reach = NULL),
    .name = "softmax",
    .help = "exact softmax attention; time grows with the square of the length",
    .cost = "T D",
    .normalised = true,
    .memory = panel_memory,
    .flop = flop,
    .step = panel_step,
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
    PANEL_KIND(.has_sink = true),
    .name = "softmax1",
    .help = "softmax with an extra 1 in the denominator, so that a head may attend to nothing",
    .cost = "T D",
    .uses = "sink",
    .memory = panel_memory,
    .param_count = sink_reals,
    .start_params = start_sink,
    .flop = flop,
    .step = panel_step,
};
