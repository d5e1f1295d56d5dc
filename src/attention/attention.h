/* The attention kinds: one file and one table row each.
 *
 * A kind mixes the values of one head of one sequence over positions, each position seeing
 * itself and the past. Everything else, the projections, the heads, dropout of the output,
 * positions, is outside and the same for all kinds. Command lines, checkpoints, benchmarks and
 * tests loop over the table, so a new row is offered, stored, measured and tested at once. */
#ifndef LINNET_ATTENTION_H
#define LINNET_ATTENTION_H

#include "src/layers/dropout.h"

/* One head of one sequence: where it lies, and what applies to it. */
typedef struct AttentionHead {
    size_t length;     /* T positions */
    size_t width;      /* D features of q, k and v */
    size_t stride;     /* reals from one position of q (k, v) to the next */
    size_t out_stride; /* and of the output */
    const real
        *rotary;     /* (T, D) angles, for kinds that turn their features themselves; or NULL */
    Dropout dropout; /* of the attention weights, for kinds that have them */
} AttentionHead;

typedef struct AttentionKind {
    const char *name, *help;
    bool has_weights;  /* weights per pair of positions exist, and can be dropped out */
    bool turns_itself; /* takes the rotary angles; otherwise q and k come turned */
    bool finite_state; /* decoding needs the same memory and time at any position */

    /* Sizes in reals: what forward leaves for backward, per head and sequence; what either
     * needs while it works; what decoding up to `length` positions carries. */
    size_t (*saved_reals)(const AttentionHead *head);
    size_t (*scratch_reals)(const AttentionHead *head);
    size_t (*state_reals)(const AttentionHead *head);

    /* Floating-point operations of forward, as one would count them on paper. */
    double (*flop)(const AttentionHead *head);

    /* out, dq, dk and dv are written whole. */
    void (*forward)(real *out, real *saved, real *scratch, const real *q, const real *k,
                    const real *v, const AttentionHead *head);
    void (*backward)(real *dq, real *dk, real *dv, const real *dout, const real *out,
                     const real *saved, real *scratch, const real *q, const real *k,
                     const real *v, const AttentionHead *head);
    /* One position more; the state starts as zeros, and the angles, if any, are its own row. */
    void (*step)(real *out, real *state, real *scratch, const real *q, const real *k,
                 const real *v, size_t position, const AttentionHead *head);
} AttentionKind;

extern const AttentionKind attention_softmax, attention_linear;

const AttentionKind *attention_find(size_t index); /* NULL after the last */
const char *attention_name(size_t index);

/* All heads of all sequences, on the team. */
typedef struct AttentionSizes {
    size_t batch, length, heads, width;
    const real *rotary;
    Dropout dropout;
} AttentionSizes;

/* Reals that a batch leaves for its backward pass, scratch for every worker, and the states
 * that decoding up to sizes->length positions carries. */
size_t attention_saved_reals(const AttentionKind *kind, const AttentionSizes *sizes);
size_t attention_scratch_reals(const AttentionKind *kind, const AttentionSizes *sizes);
size_t attention_state_reals(const AttentionKind *kind, const AttentionSizes *sizes);

void attention_forward(const AttentionKind *kind, real *out, /* (B*T, H*D) */
                       real *saved, real *scratch,
                       const real *qkv, /* (B*T, 3*H*D): q of all heads, then k, then v */
                       const AttentionSizes *sizes);
void attention_backward(const AttentionKind *kind, real *dqkv, const real *dout,
                        const real *out, const real *saved, real *scratch, const real *qkv,
                        const AttentionSizes *sizes);
/* One position of every sequence: out (B, H*D), qkv (B, 3*H*D), rotary the position's row. */
void attention_step(const AttentionKind *kind, real *out, real *states, real *scratch,
                    const real *qkv, size_t position, const AttentionSizes *sizes);

#endif
