/* The memory of a pass over a batch: what its forward pass keeps for the backward pass, and the
 * gradients of activations. block.h says what is computed.
 *
 * Shapes: B sequences of T positions, dimension C, H heads, L layers; S and O, the widths of
 * rows of queries, keys and values, and of attention's output; G gates and R rates of all
 * heads; F the hidden dimension of the MLP, twice that with a gate. Rows are positions, B*T of
 * them.
 *
 * Each buffer has one meaning. Where two share their memory, to save some, the comment says so;
 * then the later one is written when the earlier one is no longer read. Besides,
 *   - without PASS_TRAIN all layers have the same memory: evaluation needs one layer at a time,
 *     and PASS_RECOMPUTE computes each layer's activations again before its backward pass;
 *   - what only one sublayer or the head needs, while it runs, has the same memory as what the
 *     others need: shifted, dqkv, dheads, dy, dgates, drates and dlow; active; the scratch
 *     memory of the head. */
#ifndef LINNET_ACTIVATIONS_H
#define LINNET_ACTIVATIONS_H

#include "models/model.h"
#include "src/layers/mlp.h"

/* Of one layer; NULL where it has none. */
typedef struct LayerActivations {
    /* attention sublayer */
    real *qkv_raw;      /* (B*T, S) before the convolution; without one it is qkv */
    real *qkv;          /* (B*T, S) queries, keys and values, as the kind reads them; backward
                           rotates them back, for QK-norm, before dqkv_raw replaces them */
    real *values;       /* (B*T, O) before the first layer's values are mixed in, */
    real *mix_gates;    /* (B*T, O) by how much, before the sigmoid, */
    real *mix_low;      /* (B*T, rank) and the low-rank input of these */
    real *qk_rms;       /* (B*T, 2H or 2) 1 / RMS of each head's queries and keys (QK-norm) */
    real *gates_low;    /* (B*T, rank) low-rank input of the gates */
    real *rates_low;    /* (B*T, rank) of the rates */
    real *z_low;        /* (B*T, rank) of the output gate */
    real *gates;        /* (B*T, G) */
    real *rates;        /* (B*T, R) */
    real *saved;        /* (attention_memory.saved) what the kind saves */
    real *mixed;        /* (B*T, O) the kind's output */
    real *bonus;        /* (B*T, O) its output that is added behind the head norm */
    real *z;            /* (B*T, O) output gate before its activation */
    real *norm_rstd;    /* (B*T) of a norm of all heads together */
    real *gated;        /* (B*T, O) its input: mixed, or that behind an output gate */
    real *normed;       /* (B*T, O) its output: y, or what an output gate makes y of */
    real *head_factors; /* (B*T, H) of the head gate */
    real *y;            /* (B*T, O) after head norm and gates; without these it is mixed */
    real *state;        /* (attention_memory.state) recurrent state or KV cache, if carried */
    real *taps;         /* (B, CONVOLUTION_TAPS - 1, S) the last inputs of the convolution */
    real *last_u;       /* (B, C) the last inputs of the token shift */
    size_t state_reals; /* of these, which follow each other */
    real *angles; /* (length, D) of RoPE; layers with queries of the same width share it */
    /* MLP sublayer */
    real *hidden; /* (B*T, F), rows gemm_stride(F) apart: before the activation */

    /* Gradients in place of activations, which are not needed any more. */
    real *dqkv_raw; /* (B*T, S) in qkv; without a convolution it is dqkv */
    real *dmix;     /* (B*T, O) in mix_gates */
    real *dbonus;   /* (B*T, O) in bonus */
    real *dz;       /* (B*T, O) in z */
    real *dfactors; /* (B*T, H) of the head gate before its sigmoid; in head_factors */
    real *dhidden;  /* (B*T, F) in hidden */
} LayerActivations;

typedef struct Activations {
    real **residual;     /* [2L+1] -> (B*T, C): r[k]. Evaluation has two
                            buffers, for even and odd k. With a parallel
                            residual all odd k, which backward does not need, share one */
    real **mean, **rstd; /* [2L+1] -> (B*T): of the norm that computes u[k]; mean NULL: RMSNorm.
                            Evaluation has one of each */
    LayerActivations *layer; /* [L] */
    real *first_values;      /* (B*T, O) values of the first layer, for the value residual */
    real *u;       /* (B*T, C) u[k], input of the sublayer that runs; not kept for backward */
    real *shifted; /* (B*T, C) what a projection of u reads with a token shift, or its gradient;
                      not kept for backward */
    real *active;  /* (B*T, ffn), rows gemm_stride(ffn) apart: after the activation of the MLP;
                      not kept for backward */
} Activations;

/* Shared by all layers; NULL in evaluation. */
typedef struct Gradients {
    real *dx;            /* (B*T, C) of r[k], from k = 2L down to 0; in r[2L], of which the last
                            norm reads each row before it writes it */
    real *du;            /* (B*T, C) of u[k] */
    real *dbranch;       /* (B*T, C) of a sublayer's output before its dropout; in du, or
                            without dropout dx itself */
    real *dmlp;          /* (B*T, C) with a parallel residual: what the MLP adds to dx, until
                            attention has read dx; in r[1] */
    real *dfirst_values; /* (B*T, O) summed over the layers */
    /* attention sublayer */
    real *dy;     /* (B*T, O) */
    real *dmixed; /* (B*T, O) in dy */
    real *dqkv;   /* (B*T, S) */
    real *dheads; /* (attention_dheads_reals) */
    real *dgates; /* (B*T, G) */
    real *drates; /* (B*T, R) */
    real *dlow;   /* (B*T, rank) of the low-rank inputs, one after the other */
    /* MLP sublayer */
    real *dactive; /* (B*T, ffn) in active, which backward computes again there */
} Gradients;

/* --- a pass over a batch --- */

/* PASS_RECOMPUTE is gradient checkpointing. */
typedef enum PassUse { PASS_EVALUATE, PASS_TRAIN, PASS_RECOMPUTE } PassUse;

/* The rows of a batch that have a label, gathered: when evaluating, the head computes only
 * these. */
typedef struct ScoredRows {
    size_t count;
    size_t right;  /* whose label has the largest logit; from the last evaluation of the head */
    size_t *rows;  /* (count) row indexes in the batch */
    const real *u; /* (count, C) u[2L]: in act.u if these are all rows, or else gathered */
    real *gathered;   /* (count, C) in r[2L], which only the last norm reads */
    int32_t *targets; /* (count) */
    real *losses;     /* (count) from the last evaluation of the head; in training (rows) */
} ScoredRows;

typedef struct Pass {
    const Model *model;
    size_t batch, length, rows;
    PassUse use;
    MlpSizes mlp;

    Activations act;
    Gradients grad;
    ScoredRows scored; /* of the last pass_loss */
    real *cooled;      /* (rows, C) scored.u, divided by a temperature; in r[2L-1] */
    real *cooled_bias; /* (V) likewise the head's bias; evaluation only */
    real *scratch;     /* (scratch_reals) of attention, and lent to gemm in between */
    size_t scratch_reals;
    real *head_scratch; /* (head_scratch_reals) */

    /* The ngrams - 1 tokens before each row of the batch, as embedding_find_ngrams reads them,
     * and the states of all layers: the recurrent state or KV cache. Decoding carries them from
     * position to position; stateful training carries them from batch to batch, where row b of
     * a batch continues row b of the previous one. */
    real *states, *states_before; /* (states_reals); before: of this batch, for backward */
    size_t states_reals;

    uint32_t *slots;     /* (rows, ngrams - 1) of n-gram embeddings */
    real *position_rows; /* (length, C) sinusoidal position encodings, or NULL */

    size_t teacher_dim; /* of pass_gradients; set before the memory is laid out */

    bool decoding;
    bool carries;    /* carries states from batch to batch */
    size_t capacity; /* positions that the states (KV cache) have room for */
    size_t position; /* the next position; the first of the next batch */
    Arena memory;    /* the buffers, after pass_allocate */
} Pass;

/* Makes the tables of pointers; pass_allocate or pass_layout provides the memory. */
void pass_make(Pass *pass, const Model *model, size_t batch, size_t length, PassUse use);
/* The same for decoding `batch` sequences in lockstep, up to `capacity` positions. */
void pass_make_decoder(Pass *pass, const Model *model, size_t batch, size_t capacity);
void pass_free(Pass *pass);

/* Allocates the buffers, in memory of the pass's own. */
void pass_allocate(Pass *pass, const char *what);
/* Or allocates them in an arena: called once to measure, once with its memory. */
void pass_layout(Pass *pass, Arena *arena);

/* For passes with states. Clears them and restarts at position 0. */
void pass_restart(Pass *pass);
/* Moves to a position; the caller sets the states. */
void pass_move(Pass *pass, size_t position);

/* The attention of a layer, for the batch. */
AttentionSizes pass_attention_sizes(const Pass *pass, size_t layer);
/* Its first head, which has the widths. */
AttentionHead pass_first_head(const Pass *pass, size_t layer);
/* The same part of the states from before the batch; NULL if they are not carried. */
const real *pass_state_before(const Pass *pass, const real *state);

#endif
