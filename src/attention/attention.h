/* The attention kinds: one file per family, one table row per kind.
 *
 * A kind computes causal attention for one head of one sequence: every position gets a mixture
 * of the values at and before it. Projections, heads, residual dropout, position encodings, the
 * short convolution, the head norm and the output gate are outside, the same for all kinds.
 * Command lines, checkpoints, benchmarks and tests loop over the table, so a new row is
 * offered, stored, measured and tested at once. */
#ifndef LINNET_ATTENTION_H
#define LINNET_ATTENTION_H

#include "src/layers/dropout.h"

typedef struct AttentionKind AttentionKind;

/* Options of single kinds; a row names those its kind uses. */
typedef struct AttentionOptions {
    size_t window;             /* visible positions, the current one included */
    size_t period;             /* distance between visible positions, or length of a block */
    size_t summary;            /* positions at a block's end that all later ones see */
    size_t segment;            /* positions compressed together */
    size_t rank;               /* entries they are compressed to */
    size_t features;           /* random features; 0: twice the head dimension */
    size_t hashes;             /* LSH rounds */
    size_t buckets;            /* per round, an even number */
    size_t near;               /* visible positions of the own bucket */
    double tau;                /* slope of the kernel 1 + tau cos(q, k), below 1 */
    bool sink;                 /* the sink logit is learned */
    size_t steps;              /* of the delta rule per position */
    bool negative_eigenvalues; /* write rates of the delta rule reach 2 instead of 1 */
} AttentionOptions;

/* One head of one sequence: its memory layout and settings. */
typedef struct AttentionHead {
    const AttentionKind *kind;
    const AttentionOptions *options;
    size_t length;        /* T positions */
    size_t width;         /* D, the head dimension */
    size_t index, heads;  /* of the head in its layer, and how many that has */
    size_t layer, layers; /* of the layer in the model, and how many that has */
    size_t stride;        /* reals between positions of q, k and v, */
    size_t out_stride;    /* of the output, */
    size_t gates_stride;  /* and of the gates */
    const real *rotary;   /* (T, D) angles, for kinds that rotate their features; or NULL */
    bool carries;         /* the sequence continues from a state, data->carry, */
    size_t position;      /* which has read this many positions; in a step always */
    Dropout dropout;      /* of attention weights, for kinds that have them */
} AttentionHead;

/* The tensors a kind reads and writes; pointers are at the head's first position. Rows are
 * head->stride apart, those of the output head->out_stride, those of gates gates_stride. */
typedef struct AttentionData {
    const real *q, *k, *v; /* (T, D) */
    const real *gates;     /* (T, kind->gates): outputs of a linear layer */
    const real *params;    /* (kind->param_count) of the head */
    real *out;             /* (T, D) read by backward */
    real *saved;           /* (memory.saved) what forward saves for backward */
    real *scratch;         /* (memory.scratch) */
    /* (memory.state) The state before the first position, replaced by the one after the last;
     * or NULL. */
    real *carry;
    /* backward only, NULL in forward: all are overwritten, except dparams, which accumulate */
    const real *dout;                      /* (T, D) */
    real *dq, *dk, *dv, *dgates, *dparams; /* as q, k, v, gates and params */
} AttentionData;

/* Whether the state may be carried from one context window to the next. */
typedef enum AttentionCarry {
    CARRY_NEVER,    /* no finite state, or one bound to the window's positions */
    CARRY_DIVERGES, /* a sum without decay: it outgrows what training has seen */
    CARRY_WHOLLY
} AttentionCarry;

/* Sizes in reals, per head and sequence: what forward saves for backward; scratch of any of the
 * functions; the decoding state for up to `length` positions. */
typedef struct AttentionMemory {
    size_t saved, scratch, state;
} AttentionMemory;

struct AttentionKind {
    const char *name, *help;
    const char *cost;     /* per token, such as "D^2" or "T D" */
    const char *uses;     /* names of its own options, separated by blanks; or NULL */
    bool has_weights;     /* it has a weight per pair, which dropout can drop */
    bool normalised;      /* the weights of a position sum to 1 */
    bool gates_values;    /* the weight of a pair differs by feature of the value */
    bool turns_itself;    /* applies RoPE itself; otherwise q and k arrive rotated */
    bool no_rotary;       /* RoPE would break it */
    bool alternates;      /* the second of two heads sees what the first does not */
    bool knows_positions; /* without position encodings, which are off by default */
    bool finite_state;    /* decoding takes constant memory and time per token */
    AttentionCarry carry;
    bool wants_convolution, wants_norm, wants_gate; /* by default */

    AttentionMemory (*memory)(const AttentionHead *head); /* enough for every head */

    /* Gates: numbers per position and head that a linear layer computes, with a bottleneck of
     * gate_rank unless that is 0. start_gates sets its initial biases. */
    size_t (*gates)(const AttentionHead *head); /* NULL: none */
    size_t gate_rank;
    void (*start_gates)(real *bias, const AttentionHead *head, RandomKey key);

    /* Parameters of a head: how many, their initial values, and whether they are random and
     * not trained (then there is no dparams). */
    size_t (*param_count)(const AttentionHead *head); /* NULL: none */
    void (*start_params)(real *params, const AttentionHead *head, RandomKey key);
    bool params_random;

    /* Floating-point operations of forward, counted on paper. */
    double (*flop)(const AttentionHead *head);

    void (*forward)(const AttentionData *data, const AttentionHead *head);
    void (*backward)(const AttentionData *data, const AttentionHead *head);
    /* Decodes head->position, after those before it, with its state in data->carry, which
     * starts at zero. Rows of data and rotary are that position's. */
    void (*step)(const AttentionData *data, const AttentionHead *head);

    /* These describe the kind to the engine it uses. */
    const struct Recurrence *recurrence;
    const void *detail;
};

/* clang-format off */
extern const AttentionKind
    attention_softmax, attention_softmax1, attention_fox, attention_window, attention_strided,
    attention_fixed, attention_reformer, attention_linformer, attention_pooled, attention_nystrom,
    attention_linear, attention_relu, attention_sqrelu, attention_exp, attention_softmaxfeat,
    attention_efficient, attention_taylor, attention_taylor2, attention_performer,
    attention_hedgehog, attention_retention, attention_gated, attention_gla, attention_hgrn2,
    attention_delta, attention_gated_delta, attention_comba, attention_deltaproduct,
    attention_mamba2, attention_mamba3, attention_kda, attention_gdn2, attention_rwkv7;
/* clang-format on */

const AttentionKind *attention_find(size_t index); /* NULL after the last */
const char *attention_name(size_t index);
/* The idea that this kind and the following ones share; NULL: that of the kind before. */
const char *attention_group(size_t index);

/* 1 / sqrt(D), the factor of scores. */
real attention_scale(const AttentionHead *head);
/* The rows of the tensors from a position on. */
AttentionData attention_rows(const AttentionData *data, size_t first,
                             const AttentionHead *head);

/* RoPE for kinds that rotate q and k themselves, if there is any. The position is a row of
 * head->rotary; a decoding step has only row 0. */
void attention_rotate(real *x /* (D) */, size_t position, const AttentionHead *head);
void attention_rotate_back(real *dx /* (D) */, size_t position, const AttentionHead *head);
void attention_rotated_copy(real *to /* (D) */, const real *x /* (D) */, size_t position,
                            const AttentionHead *head);

/* All heads of all sequences, in parallel on the thread team. */
typedef struct AttentionSizes {
    size_t batch, length, heads, width;
    size_t layer, layers;
    const AttentionOptions *options;
    const real *rotary; /* (T, D) or NULL */
    bool carries;
    size_t position;
    Dropout dropout;
} AttentionSizes;

/* The head at an index. */
AttentionHead attention_head(const AttentionKind *kind, const AttentionSizes *sizes,
                             size_t index);

/* Totals over heads: gates per position, and parameters. */
size_t attention_gates(const AttentionKind *kind, const AttentionSizes *sizes);
size_t attention_param_count(const AttentionKind *kind, const AttentionSizes *sizes);

/* Totals of a batch: saved activations, scratch of all workers, and decoding states for up to
 * sizes->length positions. */
AttentionMemory attention_memory(const AttentionKind *kind, const AttentionSizes *sizes);

/* The tensors of a batch; qkv has q of all heads, then k, then v. */
typedef struct AttentionBatch {
    const real *qkv;    /* (B*T, 3*H*D) */
    const real *gates;  /* (B*T, attention_gates) */
    const real *params; /* (attention_param_count) */
    real *out;          /* (B*T, H*D) */
    real *saved;        /* (attention_memory.saved) */
    real *scratch;      /* (attention_memory.scratch) */
    /* (attention_memory.state) Decoding states, or states carried between windows; NULL:
     * windows start from zero. */
    real *states;
    const real *dout; /* (B*T, H*D) */
    real *dqkv;       /* (B*T, 3*H*D) */
    real *dgates;     /* (B*T, attention_gates) */
    real *dparams;    /* (attention_param_count) accumulates */
} AttentionBatch;

void attention_forward(const AttentionKind *kind, const AttentionBatch *batch,
                       const AttentionSizes *sizes);
void attention_backward(const AttentionKind *kind, const AttentionBatch *batch,
                        const AttentionSizes *sizes);
/* Decodes sizes->position of every sequence; rotary is the position's row. */
void attention_step(const AttentionKind *kind, const AttentionBatch *batch,
                    const AttentionSizes *sizes);

#endif
