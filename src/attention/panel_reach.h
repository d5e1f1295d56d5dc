/* Which keys a query sees, for the training passes and for decoding. */
#ifndef LINNET_PANEL_REACH_H
#define LINNET_PANEL_REACH_H

#include "src/attention/panel.h"

PanelReach panel_reach(const AttentionHead *head);
/* The first position of the sequence that the query sees. */
size_t panel_first_seen(const PanelReach *reach, size_t query);
size_t panel_entries_seen(const PanelReach *reach, size_t query);
/* How many positions the farthest-seeing query sees, itself included. */
size_t panel_kept(const AttentionHead *head);
/* 1 / sqrt(D), the factor of scores */
real panel_scale(const AttentionHead *head);

#endif
