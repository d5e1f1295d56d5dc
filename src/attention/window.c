/* Softmax attention over a sliding window: a query sees the last w positions, itself included,
 *
 *   o_i = sum over i - w < j <= i of exp(s_ij) v_j / sum of exp(s_ij),   s_ij = q_i . k_j /
 * sqrt(D)
 *
 * so L layers reach L (w - 1) positions back. Decoding keeps a ring of w keys and values. The
 * ring is not carried from one window of a text into the next: positions begin at 0 in each,
 * and keys that were turned by the angles of the window before would lie at wrong distances. */
#include "src/attention/panel.h"

static PanelReach reach(const AttentionHead *head)
{
    return (PanelReach){.window = head->options->window, .block = PANEL_ALL};
}

const AttentionKind attention_window = {
    .name = "window",
    .help = "softmax attention over the last positions only",
    .cost = "w D",
    .uses = "window",
    .has_weights = true,
    .normalised = true,
    .finite_state = true,
    .saved_reals = panel_saved_reals,
    .scratch_reals = panel_scratch_reals,
    .state_reals = panel_state_reals,
    .flop = panel_flop,
    .forward = panel_forward,
    .backward = panel_backward,
    .step = panel_step,
    .detail = &(const PanelKind){.reach = reach},
};
