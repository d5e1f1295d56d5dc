#include "src/attention/panel_parts.h"

_Static_assert((int)PANEL_TILE == (int)PANEL_BLOCK, "a band of a whole panel is all of it");

/* The first of the past positions that the query sees. */
static size_t first_past_seen(const PanelReach *reach, size_t query, size_t past)
{
    if (query + 1 >= reach->window)
        return past;
    size_t most = reach->window - query - 1;
    return past > most ? past - most : 0;
}

/* The keys of the current set that any query of the tile sees. */
static PanelRange seen_by_tile(const Panel *panel)
{
    size_t end = panel->query + panel->rows;
    if (panel->of == &panel->from->keys[PANEL_PAST])
        return (PanelRange){first_past_seen(panel->reach, panel->query, panel->from->past),
                            panel->from->past};
    if (panel->of == &panel->from->keys[PANEL_OWN])
        return (PanelRange){panel_first_seen(panel->reach, panel->query), end};
    return (PanelRange){0, panel_entries_seen(panel->reach, end - 1)};
}

static size_t inside(const Panel *panel, size_t key)
{
    if (key <= panel->key)
        return 0;
    return key - panel->key < panel->keys ? key - panel->key : panel->keys;
}

/* The keys of the block that a row sees. */
static PanelRange seen_by(const Panel *panel, size_t row)
{
    const PanelReach *reach = panel->reach;
    size_t query = panel->query + row;
    if (panel->of == &panel->from->keys[PANEL_PAST])
        return (PanelRange){inside(panel, first_past_seen(reach, query, panel->from->past)),
                            panel->keys};
    if (panel->of == &panel->from->keys[PANEL_ENTRIES])
        return (PanelRange){0, inside(panel, panel_entries_seen(reach, query))};
    return (PanelRange){inside(panel, panel_first_seen(reach, query)),
                        inside(panel, query + 1)};
}

PanelRange panel_seeing(const Panel *panel, size_t key, PanelRange before)
{
    if (panel->whole)
        return (PanelRange){0, panel->rows};
    while (before.begin < panel->rows && seen_by(panel, before.begin).end <= key)
        before.begin++;
    while (before.end < panel->rows && seen_by(panel, before.end).begin <= key)
        before.end++;
    return before;
}

static void cut(Panel *panel)
{
    PanelRange first = seen_by(panel, 0), last = seen_by(panel, panel->rows - 1);
    panel->whole = last.begin == 0 && first.end == panel->keys;
    panel->band_count = panel->group_count = 0;
    size_t band = panel->whole ? PANEL_TILE : PANEL_BAND;
    PanelRange seeing_it = {0, 0};
    for (size_t key = 0; key < panel->keys; key += band) {
        size_t end = key + band < panel->keys ? key + band : panel->keys;
        size_t begin = panel_seeing(panel, key, seeing_it).begin;
        seeing_it = panel_seeing(panel, end - 1, seeing_it);
        if (begin < seeing_it.end)
            panel->bands[panel->band_count++] = (PanelPart){
                {key, end}, {begin / PANEL_BAND * PANEL_BAND, seeing_it.end}};
    }
    for (size_t query = 0; query < panel->rows; query += band) {
        size_t end = query + band < panel->rows ? query + band : panel->rows;
        PanelRange keys = {seen_by(panel, query).begin, seen_by(panel, end - 1).end};
        if (keys.begin < keys.end)
            panel->groups[panel->group_count++] = (PanelPart){keys, {query, end}};
    }
}

void panel_next(Panel *panel)
{
    PanelRange range = seen_by_tile(panel);
    size_t next = panel->key + panel->keys;
    while (next == range.end && panel->of < &panel->from->keys[PANEL_SETS - 1]) {
        panel->of++;
        range = seen_by_tile(panel);
        next = range.begin;
    }
    panel->key = next;
    panel->keys = range.end - next < PANEL_BLOCK ? range.end - next : PANEL_BLOCK;
    if (panel->keys > 0)
        cut(panel);
}

Panel panel_first(const PanelSource *from, const PanelReach *reach, size_t query, size_t rows)
{
    Panel panel = {
        .from = from, .reach = reach, .of = from->keys, .query = query, .rows = rows};
    panel.key = seen_by_tile(&panel).begin;
    panel_next(&panel);
    return panel;
}
