/* Panels of softmax attention: a tile of queries and a block of keys, and which parts of it are
 * seen. A row of the panel is a key, a column a query. */
#ifndef LINNET_PANEL_PARTS_H
#define LINNET_PANEL_PARTS_H

#include "src/attention/panel.h"

enum { PANEL_TILE = 256, PANEL_BLOCK = 256, PANEL_BAND = 32 };

typedef struct PanelRange {
    size_t begin, end;
} PanelRange;

/* Part of a panel, relative to it. */
typedef struct PanelPart {
    PanelRange keys, queries;
} PanelPart;

/* Products go by bands of keys, each with the queries that see any of them, or by groups of
 * queries, each with the keys that any of them sees. So they leave out most masked pairs. */
typedef struct Panel {
    const PanelSource *from;
    const PanelReach *reach;
    const PanelKeys *of; /* the current set of keys */
    size_t query, rows;  /* the first query, and how many */
    size_t key, keys;    /* the first key, and how many; 0: the tile is done */
    bool whole;          /* every query sees every key */
    PanelPart bands[PANEL_BLOCK / PANEL_BAND], groups[PANEL_TILE / PANEL_BAND];
    size_t band_count, group_count;
} Panel;

/* The first panel of a tile, and from there the next: block by block, set by set. */
Panel panel_first(const PanelSource *from, const PanelReach *reach, size_t query, size_t rows);
void panel_next(Panel *panel);

/* The queries that see a key: a range, since from query to query the first and the last key
 * that one sees never come earlier. `before` is the range of an earlier key, or empty. */
PanelRange panel_seeing(const Panel *panel, size_t key, PanelRange before);

#endif
