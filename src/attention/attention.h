/* The attention kinds: one file per family, one table row per kind.
 *
 * A kind computes causal attention for one head of one sequence: every position gets a mixture
 * of the values at and before it. Projections, heads, residual dropout and position encodings
 * are outside, the same for all kinds; so are the convolution, the head norm, the output gate
 * and the like, whose form is in the row: its parts. Command lines, checkpoints, benchmarks and
 * tests loop over the table, so a new row is offered, stored, measured and tested at once. */
#ifndef LINNET_ATTENTION_H
#define LINNET_ATTENTION_H

#include "src/layers/dropout.h"
#include "src/layers/layernorm.h"

typedef struct AttentionKind AttentionKind;
typedef struct LayerParts LayerParts;

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
    const LayerParts *parts;
    const AttentionOptions *options;
    size_t length;        /* T positions; in a step, those that the state has room for */
    size_t width;         /* D, the dimension of queries and keys, */
    size_t value_width;   /* and Dv, that of values and outputs */
    size_t copies;        /* keys and values of a position: 1, or the steps of deltaproduct */
    size_t index, heads;  /* of the head in its layer, and how many that has */
    size_t key_heads;     /* with queries and keys of their own: all, or 1 for all */
    size_t layer, layers; /* of the layer in the model, and how many that has */
    size_t stride;        /* reals between positions of q, k and v */
    size_t out_stride;    /* reals between positions of out */
    size_t gates_stride;  /* reals between positions of gates */
    size_t rates_stride;  /* reals between positions of rates */
    const real *rotary;   /* (T, D) angles, in a step (1, D), for kinds that rotate their
                             features; or NULL */
    bool carries;         /* the sequence continues from the state in data->state */
    size_t position;      /* positions that this state has read; in a step always */
    Dropout dropout;      /* of attention weights, for kinds that have them */
} AttentionHead;

/* The tensors a kind reads and writes; pointers are at the head's first position. Rows are
 * head->stride apart, those of the output head->out_stride, those of gates and rates
 * gates_stride and rates_stride. */
typedef struct AttentionData {
    /* (T, D), (T, D), (T, Dv). Further keys of a position follow key_heads * D reals apart, and
     * further values heads * Dv. */
    const real *q, *k, *v;
    const real *gates;  /* (T, kind->gates.count): outputs of a linear layer, */
    const real *rates;  /* (T, kind->rates.count): and of another */
    const real *params; /* (kind->param_count) of the head */
    real *out;          /* (T, Dv) read by backward */
    /* (T, Dv) with head->parts->has_bonus, rows as those of out: what a position itself adds to
     * its normed output. Forward writes it; or NULL. */
    real *bonus;
    real *saved;   /* (memory.saved) what forward saves for backward */
    real *scratch; /* (memory.scratch) */
    /* (memory.state) The state before the first position, replaced by the one after the last;
     * or NULL. */
    real *state;
    /* backward only, NULL in forward: all are overwritten, except dparams, which accumulate */
    const real *dout;                               /* (T, Dv) */
    const real *dbonus;                             /* (T, Dv) or NULL */
    real *dq, *dk, *dv, *dgates, *drates, *dparams; /* as q, k, v, gates, rates and params */
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

/* The functions of a kind, which it often shares with others. */
typedef struct AttentionEngine {
    AttentionMemory (*memory)(const AttentionHead *head); /* enough for every head */
    /* Floating-point operations of forward, counted on paper. */
    double (*flop)(const AttentionHead *head);
    void (*forward)(const AttentionData *data, const AttentionHead *head);
    void (*backward)(const AttentionData *data, const AttentionHead *head);
    /* Decodes head->position, after those before it, with its state in data->state, which
     * starts at zero. Rows of data and rotary are that position's. */
    void (*step)(const AttentionData *data, const AttentionHead *head);
    const struct Recurrence *recurrence; /* of the chunkwise form */
    bool finite_state;                   /* decoding takes constant memory and time per token */
    AttentionCarry carry;
} AttentionEngine;

/* How many numbers a head has of something: the sum of these; 0: it has no such thing. */
typedef struct HeadCount {
    size_t fixed, per_key, per_value;          /* per feature of its keys, of its values */
    size_t (*more)(const AttentionHead *head); /* or NULL */
} HeadCount;

size_t attention_count(const HeadCount *count, const AttentionHead *head);
/* Whether a kind has it. */
static inline bool attention_has(const HeadCount *count)
{
    return count->fixed || count->per_key || count->per_value || count->more;
}

/* A low rank: f(u W_low) W in place of u W, where all heads share the bottleneck u W_low.
 */
typedef enum LowRankForm { LOW_RANK_PLAIN, LOW_RANK_TANH, LOW_RANK_SIGMOID } LowRankForm;

typedef struct LowRank {
    HeadCount rank;   /* 0: there is no bottleneck */
    LowRankForm form; /* f */
} LowRank;

/* Numbers per position and head that a linear layer computes from the input of the attention
 * layer. */
typedef struct GateLayer {
    HeadCount count;
    LowRank low;
    /* Initial biases, (count); NULL: 0. */
    void (*start)(real *bias, const AttentionHead *head, RandomKey key);
} GateLayer;

/* The output gate, a linear layer whose outputs z multiply the heads' as silu(z), sigmoid(z) or
 * z. */
typedef struct OutGate {
    GateForm form;
    LowRank low;
    bool bias;
} OutGate;

/* What the layers that compute queries, keys, values, gates, rates and the output gate read,
 * in kinds with a token shift: each its own mix of a position and the one before. */
enum { SHIFT_Q, SHIFT_K, SHIFT_V, SHIFT_GATES, SHIFT_RATES, SHIFT_Z, SHIFTS };

/* A width as a share of the head dimension C / H, or all of it if there are no parts. */
typedef struct WidthShare {
    size_t parts, of;
} WidthShare;

/* What a layer has around the recurrence or the weights of its kind. Options can switch the
 * first three on or off. */
struct LayerParts {
    bool convolution, norm, gate; /* short convolution, head norm, output gate */
    bool plain_convolution;       /* without an activation; otherwise SiLU follows it */
    bool convolution_bias;
    bool keeps_lengths;   /* of queries and keys: QK-norm is never applied */
    bool norms_all_heads; /* together: the head norm is one of the whole width */
    bool gates_first;     /* the output gate, before that norm */
    bool group_norm;      /* the head norm is a LayerNorm of each head (GroupNorm), whose */
    double norm_power;    /* gains start at ((layer + 1) / layers)^norm_power */
    bool has_bonus;       /* it has an output that is added behind the norm of each head */
    OutGate out_gate;
    /* A share for each feature of the values: how much of the first layer's is mixed in. Layers
     * of a kind without it have one share for all, with --value-residual. A layer whose values
     * are not as wide as those of the first mixes nothing. */
    GateLayer value_mix;
    /* (SHIFTS) Token shift: the share of the position before starts at
     * 1 - (c / C)^(p (1 - layer / layers)) in feature c, with these p; NULL: none. */
    const double *token_shift;
    WidthShare keys, values; /* D and Dv */
    bool shares_keys;        /* and queries: all heads have the same */
};

/* The parts that all kinds have in common with --parts common. */
extern const LayerParts attention_common_parts;

struct AttentionKind {
    const char *name, *help;
    const char *source;     /* authors, year, arXiv number; NULL: linnet's own */
    const char *cost;       /* per token, such as "T D"; NULL: D^2 */
    const char *uses;       /* names of its own options, separated by blanks; or NULL */
    bool has_weights;       /* it has a weight per pair, which dropout can drop */
    bool normalised;        /* the weights of a position sum to 1 */
    bool gates_values;      /* the weight of a pair differs by feature of the value */
    bool applies_rope;      /* applies RoPE itself; otherwise q and k arrive rotated */
    bool no_rotary;         /* RoPE would break it */
    bool alternates;        /* the second of two heads sees what the first does not */
    bool encodes_positions; /* without position encodings: these are off by default */
    size_t (*copies)(const AttentionHead *head); /* of keys and values; NULL: 1 */

    size_t most_keys; /* the most that the width of queries and keys can be; 0: any */

    LayerParts parts; /* as its authors have them */
    GateLayer gates, rates;

    /* How often it has changed what it computes; and the last change, since which version. */
    size_t form;
    const char *changed;

    /* Parameters of a head: how many, their initial values, and whether they are random and
     * not trained (then there is no dparams). */
    HeadCount param_count;
    void (*start_params)(real *params, const AttentionHead *head, RandomKey key);
    bool params_random;

    const AttentionEngine *engine;
    const void *engine_options; /* describes the kind to its engine */
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
const char *attention_cost(const AttentionKind *kind);
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
    const AttentionKind *kind;
    size_t batch, length, heads;
    size_t dim; /* C / H, the head dimension of the model */
    size_t layer, layers;
    const LayerParts *parts; /* NULL: those of the kind */
    const AttentionOptions *options;
    const real *rotary; /* (T, D) or NULL */
    bool carries;
    size_t position;
    Dropout dropout;
} AttentionSizes;

/* The widths of a head's queries and keys, and of its values, for a head dimension: shares of
 * it, rounded up to an even number, with which RoPE works. */
size_t attention_key_width(const AttentionKind *kind, const LayerParts *parts, size_t dim);
size_t attention_value_width(const LayerParts *parts, size_t dim);

/* The head at an index. */
AttentionHead attention_head(const AttentionSizes *sizes, size_t index);

/* Parameters of all heads. The strides of a head are the totals per position of the others. */
size_t attention_param_count(const AttentionSizes *sizes);

/* Totals of a batch: saved activations, scratch of all workers, and decoding states for up to
 * sizes->length positions. */
AttentionMemory attention_memory(const AttentionSizes *sizes);

/* The memory in which backward keeps what each head adds to dq and dk, if heads share queries
 * and keys; otherwise 0. */
size_t attention_dheads_reals(const AttentionSizes *sizes);

/* The tensors of a batch; qkv has q of all heads, then k, then v. */
typedef struct AttentionBatch {
    const real *qkv;    /* (B*T, head.stride) */
    const real *gates;  /* (B*T, head.gates_stride) */
    const real *rates;  /* (B*T, head.rates_stride) */
    const real *params; /* (attention_param_count) */
    real *out;          /* (B*T, head.out_stride) */
    real *bonus;        /* (B*T, head.out_stride) or NULL */
    real *saved;        /* (attention_memory.saved) */
    real *scratch;      /* (attention_memory.scratch) */
    /* (attention_memory.state) Decoding states, or states carried between windows; NULL:
     * windows start from zero. */
    real *state;
    const real *dout;   /* (B*T, head.out_stride) */
    const real *dbonus; /* (B*T, head.out_stride) or NULL */
    real *dqkv;         /* (B*T, head.stride) */
    real *dgates;       /* (B*T, head.gates_stride) */
    real *drates;       /* (B*T, head.rates_stride) */
    real *dparams;      /* (attention_param_count) accumulates */
    real *dheads;       /* (attention_dheads_reals) */
} AttentionBatch;

void attention_forward(const AttentionBatch *batch, const AttentionSizes *sizes);
void attention_backward(const AttentionBatch *batch, const AttentionSizes *sizes);
/* Decodes sizes->position of every sequence; rotary is the position's row. */
void attention_step(const AttentionBatch *batch, const AttentionSizes *sizes);

#endif
