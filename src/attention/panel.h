/* The engine of exact softmax attention and its relatives, which differ in the keys that a
 * query sees: a range of positions that ends with itself, and entries that stand for whole
 * earlier blocks of the sequence. A kind that uses the engine says by its detail, a PanelKind,
 * what its queries see. */
#ifndef LINNET_PANEL_H
#define LINNET_PANEL_H

#include "src/attention/attention.h"

#define PANEL_ALL SIZE_MAX

/* Query i sees the positions from max(i + 1 - window, the start of its block + skipped) to i,
 * and always itself; also `entries` entries for each earlier block, with `bias` added to their
 * scores. */
typedef struct PanelReach {
    size_t window, block, skipped, entries;
    real bias;
} PanelReach;

/* Queries and keys. Entries are rows of D, block after block. The past are positions before the
 * first, also rows of D, which the window reaches but which get no gradient. */
typedef struct PanelSource {
    const real *q, *k;
    size_t stride; /* of these two */
    const real *past_k, *past_v;
    size_t past; /* positions */
    const real *entry_k, *entry_v;
    real *entry_dk, *entry_dv; /* written whole by backward */
} PanelSource;

/* Describes a kind. Those with entries or a past set these in the source, which has q and k of
 * the data; so can those that replace q and k. After the backward pass, data has the gradients
 * of the source's q and k; a kind makes them those of its own. */
typedef struct PanelKind {
    PanelReach (*reach)(const AttentionHead *head); /* NULL: all of the past */
    bool has_sink; /* 1 joins the denominator, or exp of the head's own parameter */
    void (*prepare)(PanelSource *source, const AttentionData *data, const AttentionHead *head);
    void (*end_backward)(const PanelSource *source, const AttentionData *data,
                         const AttentionHead *head);
} PanelKind;

/* --- which keys a query sees --- */

PanelReach panel_reach(const AttentionHead *head);
/* The first position of the sequence that the query sees. */
size_t panel_first_seen(const PanelReach *reach, size_t query);
size_t panel_entries_seen(const PanelReach *reach, size_t query);
/* Entries that the last query sees. */
size_t panel_entries(const AttentionHead *head);
/* How many positions the farthest-seeing query sees, itself included. */
size_t panel_kept(const AttentionHead *head);

/* --- the engine --- */

/* The engine uses this much of data->saved and data->scratch, from their start. */
AttentionMemory panel_memory(const AttentionHead *head);
/* Floating-point operations of the pairs, counted one by one. */
double panel_flop(const AttentionHead *head);

void panel_forward(const AttentionData *data, const AttentionHead *head);
void panel_backward(const AttentionData *data, const AttentionHead *head);

#define PANEL_KIND(kind) \
    .has_weights = true, .forward = panel_forward, .backward = panel_backward, .detail = &(kind)

/* Decoding keeps what can still be seen in a ring: position t is in row t modulo its size.
 * Kinds with entries write them here themselves, those of a block by the step of its last
 * position. */
typedef struct PanelState {
    real *keys, *values; /* rows of D, as many as a query can see */
    real *entry_k, *entry_v;
} PanelState;

size_t panel_state_reals(const AttentionHead *head);
PanelState panel_state(real *state, const AttentionHead *head);
void panel_step(const AttentionData *data, real *state, size_t position,
                const AttentionHead *head);

#endif
