/* The engine of exact softmax attention and its relatives, which differ in the keys that a
 * query sees: a range of positions that ends with itself, and entries that stand for whole
 * earlier blocks of the sequence. A kind that uses the engine says by its engine_options, a
 * PanelKind, what its queries see. */
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

/* One set of keys, with their values and, unless NULL, gradients. */
typedef struct PanelKeys {
    const real *k, *v;       /* (keys, D) */
    real *dk, *dv;           /* (keys, D) */
    size_t k_stride, stride; /* of k, and of the others */
    real bias;               /* added to their scores */
    size_t column;           /* the index of the first key among all, for dropout */
    /* Fading scores, or NULL: the log decay at each position, room for the sums c_j of them,
     * relative to the current tile, and for the gradients of these sums, which accumulate. */
    const real *logs;   /* (keys) */
    real *sums, *dsums; /* (keys) */
} PanelKeys;

/* Which keys: those carried from the window before, which get no gradient; those of this
 * window; and entries, which lie block after block. All are rows of D. */
typedef enum PanelSet { PANEL_PAST, PANEL_SEQUENCE, PANEL_ENTRIES, PANEL_SETS } PanelSet;

typedef struct PanelSource {
    const real *q; /* (T, D) */
    size_t q_stride;
    PanelKeys keys[PANEL_SETS];
    size_t past; /* positions */
} PanelSource;

/* Describes a kind. `prepare` sets the pointers of entries or of the past in a source that has
 * q, k and v of the data, or replaces these. The backward pass sets the gradients of entries,
 * and leaves those of the source's q and k in data; `end_backward` hands them on. */
typedef struct PanelKind {
    PanelReach (*reach)(const AttentionHead *head); /* NULL: all of the past */
    bool has_sink; /* the denominator has exp(b) more: b = 0, or a parameter of the head */
    bool fades;    /* scores fade; decoding keeps for each key by how much */
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
size_t panel_ring_rows(const AttentionHead *head);

/* --- the engine --- */

/* The engine uses this much of data->saved and data->scratch, from their start. */
AttentionMemory panel_memory(const AttentionHead *head);
/* Floating-point operations of the pairs, counted one by one. */
double panel_flop(const AttentionHead *head);

void panel_forward(const AttentionData *data, const AttentionHead *head);
void panel_backward(const AttentionData *data, const AttentionHead *head);

/* The engine of a kind that adds something to panel_memory, panel_flop or panel_step, or not.
 */
#define PANEL_ENGINE(its_memory, its_flop, its_step)                      \
    {                                                                     \
        .memory = its_memory, .flop = its_flop, .forward = panel_forward, \
        .backward = panel_backward, .step = its_step                      \
    }

/* Decoding keeps what can still be seen in a ring: position t is in row t modulo its size.
 * Kinds with entries write them here themselves, those of a block by the step of its last
 * position. */
typedef struct PanelState {
    real *keys, *values;     /* (panel_ring_rows, D) */
    real *entry_k, *entry_v; /* (entries, D), also those that the last block begins */
    real *decay_sums; /* (panel_ring_rows) what is added to the scores of each key, if the kind
                         fades */
} PanelState;

size_t panel_state_reals(const AttentionHead *head);
PanelState panel_state(real *state /* (panel_state_reals) */, const AttentionHead *head);
void panel_step(const AttentionData *data, const AttentionHead *head);

#endif
