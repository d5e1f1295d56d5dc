/* The attention kinds: a file for each family of them, a table row for each kind.
 *
 * A kind mixes the values of one head of one sequence over positions, each position seeing
 * itself and the past. Everything else, the projections, the heads, dropout of the output,
 * positions, the short convolution before and the norm and the gate behind, is outside and the
 * same for all kinds. Command lines, checkpoints, benchmarks and tests loop over the table, so
 * a new row is offered, stored, measured and tested at once. */
#ifndef LINNET_ATTENTION_H
#define LINNET_ATTENTION_H

#include "src/layers/dropout.h"

typedef struct AttentionKind AttentionKind;

/* Settings that only some kinds have; a row names those of its kind. */
typedef struct AttentionOptions {
    size_t window;   /* positions that are seen, the own one included */
    size_t period;   /* distance of the seen positions, or length of a block */
    size_t summary;  /* positions at a block's end that are seen by all later ones */
    size_t segment;  /* positions that are compressed together */
    size_t rank;     /* what they are compressed to */
    size_t features; /* random features; 0: twice the head's width */
    size_t redraw;   /* steps after which these are drawn again; 0: never */
    size_t hashes;   /* rounds of hashing */
    size_t buckets;  /* of a round, an even number */
    size_t near;     /* positions of the own bucket that are seen */
    double tau;      /* the slope of a first-order kernel, below 1 */
    bool sink;       /* the escape hatch is learned */
} AttentionOptions;

/* One head of one sequence: how it lies, and what applies to it. */
typedef struct AttentionHead {
    const AttentionKind *kind;
    const AttentionOptions *options;
    size_t length;       /* T positions */
    size_t width;        /* D features of q, k and v */
    size_t index;        /* which head it is */
    size_t stride;       /* reals from one position of q (k, v) to the next, */
    size_t out_stride;   /* of the output, */
    size_t gates_stride; /* and of the gates */
    const real *rotary;  /* (T, D) angles, for kinds that turn their features; or NULL */
    bool carries;        /* the text goes on from a state: there is a data->carry, */
    size_t position;     /* behind so many positions */
    Dropout dropout;     /* of the attention weights, for kinds that have them */
} AttentionHead;

/* What a kind reads and writes, each pointer at the head's first position. */
typedef struct AttentionData {
    const real *q, *k, *v;
    const real *gates; /* (T, kind->gates): what a linear layer makes of the inputs */
    const real *own;   /* the head's own parameters, kind->own_reals of them */
    real *out;         /* read by backward */
    real *saved;       /* forward leaves it for backward */
    real *scratch;
    /* The state before the first position, and afterwards that behind the last; or NULL. */
    real *carry;
    /* backward only: all are written whole, but for down, which is added to */
    const real *dout;
    real *dq, *dk, *dv, *dgates, *down;
} AttentionData;

/* Whether a state may go on from one window of a text into the next. */
typedef enum AttentionCarry {
    CARRY_NEVER,    /* there is no finite state, or it is bound to the window's positions */
    CARRY_DIVERGES, /* it is a sum that never forgets: a longer text than trained on drowns */
    CARRY_WHOLLY
} AttentionCarry;

struct AttentionKind {
    const char *name, *help;
    const char *cost;     /* of a token, in words: "D^2", "T D" */
    const char *uses;     /* names of options of its own, with blanks; or NULL */
    bool has_weights;     /* weights per pair of positions exist, and can be dropped out */
    bool normalised;      /* the weights of a position sum to 1 */
    bool turns_itself;    /* takes the rotary angles; otherwise q and k come turned */
    bool no_rotary;       /* turning would break it */
    bool knows_positions; /* by itself: other ways are off unless asked for */
    bool finite_state;    /* decoding needs the same memory and time at any position */
    AttentionCarry carry;
    bool wants_convolution, wants_norm, wants_gate; /* around it, unless asked otherwise */

    /* Sizes in reals: what forward leaves for backward, per head and sequence; what any of the
     * functions needs while it works; what decoding up to `length` positions carries. */
    size_t (*saved_reals)(const AttentionHead *head);
    size_t (*scratch_reals)(const AttentionHead *head);
    size_t (*state_reals)(const AttentionHead *head);

    /* Gates: numbers for each position and head that a linear layer computes, through a
     * bottleneck of gate_rank where that is not 0. start_gates fills in their biases. */
    size_t (*gates)(const AttentionHead *head); /* NULL: none */
    size_t gate_rank;
    void (*start_gates)(real *bias, const AttentionHead *head, RandomKey key);

    /* Parameters of a head: how many, their start, and whether they are only drawn, never
     * trained (then there is no down). */
    size_t (*own_reals)(const AttentionHead *head); /* NULL: none */
    void (*start_own)(real *own, const AttentionHead *head, RandomKey key);
    bool own_is_drawn;

    /* Floating-point operations of forward, as one would count them on paper. */
    double (*flop)(const AttentionHead *head);

    void (*forward)(const AttentionData *data, const AttentionHead *head);
    void (*backward)(const AttentionData *data, const AttentionHead *head);
    /* One position more; the state starts as zeros, and the angles, if any, are its own row. */
    void (*step)(const AttentionData *data, real *state, size_t position,
                 const AttentionHead *head);

    const void *detail; /* for kinds that share an engine: what sets this one apart */
};

/* clang-format off */
extern const AttentionKind
    attention_softmax, attention_softmax1, attention_window, attention_strided, attention_fixed,
    attention_reformer, attention_linformer, attention_pooled, attention_nystrom,
    attention_linear, attention_relu, attention_sqrelu, attention_exp, attention_softmaxfeat,
    attention_efficient, attention_taylor, attention_taylor2, attention_performer,
    attention_retention, attention_gated, attention_gla, attention_delta, attention_gated_delta;
/* clang-format on */

const AttentionKind *attention_find(size_t index); /* NULL after the last */
const char *attention_name(size_t index);

/* All heads of all sequences, on the team. */
typedef struct AttentionSizes {
    size_t batch, length, heads, width;
    const AttentionOptions *options;
    const real *rotary;
    bool carries;
    size_t position;
    Dropout dropout;
} AttentionSizes;

/* A head of these sizes. */
AttentionHead attention_head(const AttentionKind *kind, const AttentionSizes *sizes,
                             size_t index);

/* Of all heads: gates of a position, and parameters. */
size_t attention_gates(const AttentionKind *kind, const AttentionSizes *sizes);
size_t attention_own_reals(const AttentionKind *kind, const AttentionSizes *sizes);

/* Reals that a batch leaves for its backward pass, scratch for every worker, and the states
 * that decoding up to sizes->length positions carries. */
size_t attention_saved_reals(const AttentionKind *kind, const AttentionSizes *sizes);
size_t attention_scratch_reals(const AttentionKind *kind, const AttentionSizes *sizes);
size_t attention_state_reals(const AttentionKind *kind, const AttentionSizes *sizes);

/* What a batch reads and writes; qkv is q of all heads, then k, then v. */
typedef struct AttentionBatch {
    const real *qkv;   /* (B*T, 3*H*D) */
    const real *gates; /* (B*T, attention_gates) */
    const real *own;   /* attention_own_reals */
    real *out;         /* (B*T, H*D) */
    real *saved, *scratch;
    /* Of decoding, or carried from window to window; NULL: every window begins anew. */
    real *states;
    const real *dout;
    real *dqkv, *dgates;
    real *down; /* added to */
} AttentionBatch;

void attention_forward(const AttentionKind *kind, const AttentionBatch *batch,
                       const AttentionSizes *sizes);
void attention_backward(const AttentionKind *kind, const AttentionBatch *batch,
                        const AttentionSizes *sizes);
/* One position of every sequence; rotary is the position's row. */
void attention_step(const AttentionKind *kind, const AttentionBatch *batch, size_t position,
                    const AttentionSizes *sizes);

#endif
