/* The engine of exact softmax attention and of its relatives, which differ in the keys that a
 * query sees: those of its own text in a range that ends with itself, and, before those, some
 * entries that stand for whole blocks of the text. A row of the table that uses the engine says
 * by its detail, a PanelKind, what its queries see. */
#ifndef LINNET_PANEL_H
#define LINNET_PANEL_H

#include "src/attention/attention.h"

#define PANEL_ALL SIZE_MAX

/* Query i sees the positions from the largest of these on, up to itself: */
typedef struct PanelReach {
    size_t window;  /* i + 1 - window; */
    size_t block;   /* the start of its block, the text being cut into blocks; */
    size_t skipped; /* so many later, but not later than i. */
    size_t entries; /* And so many entries for each block before its own, */
    real bias;      /* with this added to their scores. */
} PanelReach;

typedef struct PanelKind {
    PanelReach (*reach)(const AttentionHead *head); /* NULL: all of the past */
    bool has_sink; /* 1 joins the denominator, or exp of the head's own parameter */
} PanelKind;

/* What is attended to, where that is not q and k as they lie. Entries are rows of D, the blocks
 * one after another, and so is the past: positions before the first, which the window reaches
 * like others, but no gradient. */
typedef struct PanelSource {
    const real *q, *k;
    size_t stride; /* of these two */
    const real *past_k, *past_v;
    size_t past; /* positions */
    const real *entry_k, *entry_v;
    real *entry_dk, *entry_dv; /* written whole by backward */
} PanelSource;

/* Entries that the last query sees. */
size_t panel_entries(const AttentionHead *head);

size_t panel_saved_reals(const AttentionHead *head);
/* Of data->scratch the engine takes this much, from the start. */
size_t panel_scratch_reals(const AttentionHead *head);
size_t panel_state_reals(const AttentionHead *head);
/* Floating-point operations of the pairs, counted one by one. */
double panel_flop(const AttentionHead *head);

/* For rows without entries. */
void panel_forward(const AttentionData *data, const AttentionHead *head);
void panel_backward(const AttentionData *data, const AttentionHead *head);

/* The gradients are of the source's q and k, in data->dq and data->dk. */
void panel_source_forward(const PanelSource *source, const AttentionData *data,
                          const AttentionHead *head);
void panel_source_backward(const PanelSource *source, const AttentionData *data,
                           const AttentionHead *head);

/* Decoding keeps what can still be seen, the position t at row t of a ring. Rows with entries
 * write them here themselves: those of a block must be there when its last position is done. */
typedef struct PanelState {
    real *keys, *values; /* rows of D, as many as a query can see; then from the start again */
    real *entry_k, *entry_v;
} PanelState;

PanelState panel_state(real *state, const AttentionHead *head);
void panel_step(const AttentionData *data, real *state, size_t position,
                const AttentionHead *head);

#endif
