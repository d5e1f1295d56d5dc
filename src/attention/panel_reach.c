/* Which keys a query sees: the causal rule, for training and for decoding. */
#include "src/attention/panel.h"

PanelReach panel_reach(const AttentionHead *head)
{
    const PanelKind *kind = head->kind->engine_options;
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

size_t panel_ring_rows(const AttentionHead *head)
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
