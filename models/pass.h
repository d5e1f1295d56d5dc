/* Forward and backward pass of one batch, and decoding one position at a time.
 *
 * The residual stream has 2L + 1 states r[0] .. r[2L]: the embedding, then the sum after each
 * attention and each MLP sublayer. With u[k] the input of sublayer k,
 *
 *   pre-norm:   u[k] = norm(r[k]),   r[k+1] = r[k] + dropout(sublayer(u[k]))
 *   post-norm:  u[k] = norm(r[k]),   r[k+1] = u[k] + dropout(sublayer(u[k])),   u[0] = r[0]
 *
 *   parallel:   as pre-norm, but u[k] = norm(r[k-1]) for the MLP, at odd k
 *
 * and u[2L] is the input of the output head. The attention sublayer is in pass_mixer.c. Saved
 * activations: every r[k]; queries, keys, values and the attention output; the MLP before its
 * activation. Norms, activations and dropout masks are recomputed in the backward pass.
 * With a parallel residual, r[k] at odd k is only a step of the sum and not kept: all odd k
 * share one buffer. PASS_RECOMPUTE (gradient checkpointing) also recomputes the sublayers, and
 * all layers share one set of buffers. */
#ifndef LINNET_PASS_H
#define LINNET_PASS_H

#include "models/model.h"
#include "src/layers/head.h"
#include "src/layers/mlp.h"

typedef enum PassUse { PASS_EVALUATE, PASS_TRAIN, PASS_RECOMPUTE } PassUse;

/* Saved activations of an attention sublayer; NULL where a layer has none. */
typedef enum MixerPart {
    MIXER_RAW,      /* (rows, 3C) before the convolution */
    MIXER_QKV,      /* (rows, 3C) */
    MIXER_VALUES,   /* (rows, C) before the first layer's values are mixed in */
    MIXER_SIZES,    /* (rows, 2H) statistics of the QK-norm */
    MIXER_HIDDEN,   /* (rows, rank) low-rank input of the gates */
    MIXER_GATES,    /* (rows, gates of all heads) */
    MIXER_SAVED,    /* what the kind saves */
    MIXER_MIXED,    /* (rows, C) the kind's output */
    MIXER_Z,        /* (rows, C) output gate before its activation */
    MIXER_FACTORS,  /* (rows, H) of the head gate; backward: the gradient before its sigmoid */
    MIXER_FINISHED, /* (rows, C) after normalisation and gating */
    MIXER_PARTS,
    MIXER_SCRATCH = MIXER_PARTS /* not saved: what the kind computes with */
} MixerPart;

typedef struct Mixer {
    real *part[MIXER_PARTS];
    real *state; /* recurrent state or KV cache, if carried */
    real *begun; /* its copy from before this batch, for the backward pass */
} Mixer;

/* The rows of a batch that have a label, gathered: when evaluating, the head computes only
 * these. */
typedef struct ScoredRows {
    size_t count;
    size_t right;  /* whose label has the largest logit; from the last evaluation of the head */
    size_t *rows;  /* (count) row indexes in the batch */
    const real *u; /* (count, C) u[2L] */
    int32_t *targets; /* (count) */
    real *losses;     /* (count) from the last evaluation of the head */
} ScoredRows;

typedef struct Pass {
    const Model *model;
    size_t batch, length, rows;
    PassUse use;
    MlpSizes mlp;

    real **stream;       /* [2L+1] -> (rows, C) */
    real **mean, **rstd; /* [2L+1] -> (rows); mean NULL: RMSNorm */
    real **inner;        /* [L] -> H of the MLP */
    Mixer *mixer;        /* [L] */
    real *input;       /* (rows, C) u[k]; backward: first the gradient of the residual branch */
    real *branch;      /* (rows, C) gradient of u */
    real *wide;        /* A of the MLP, or (rows, 3C) gradient of qkv */
    real *dstream;     /* (rows, C) gradient of r[k] */
    real *row_loss;    /* (rows) */
    ScoredRows scored; /* of the last pass_loss */
    real *cooled_bias; /* (V) head bias divided by a temperature; evaluation only */
    double penalty;    /* AR and TAR penalty of the last batch */
    real *scratch, *head_scratch; /* of attention, and lent to gemm in between; of the head */
    size_t scratch_reals;
    real *dgates, *dhidden; /* gradients of the widest MIXER_GATES and MIXER_HIDDEN */
    real *first_values,
        *dfirst_values; /* (rows, C) values of the first layer, for the value residual */

    /* The ngrams - 1 tokens before each row of the batch, as embedding_find_ngrams takes them,
     * and the states of all layers: the recurrent state or KV cache. Decoding carries them from
     * position to position; stateful training carries them from batch to batch, where row b of
     * a batch continues row b of the previous one. */
    real *states, *begun;
    size_t states_reals;

    uint32_t *slots;     /* (rows, ngrams - 1) of n-gram embeddings */
    real *position_rows; /* (length, C) sinusoidal position encodings, or NULL */
    real *angles;        /* (length, D) RoPE angles, or NULL */

    /* The teacher of a model that is distilled, NULL: none. Set both before the memory is laid
     * out: the teacher has as many rows and is for evaluation. */
    struct Pass *teacher;
    double teacher_share; /* of KL(teacher || model) in the loss */
    HeadTeacher stored;   /* or its stored predictions for each row; records NULL: none */
    double margin;        /* of the output head in training (head.h) */
    bool *counts;         /* (rows) that pass_match compares */

    bool decoding;
    bool carries;    /* carries states from batch to batch */
    size_t capacity; /* positions that the states (KV cache) have room for */
    size_t position; /* the next position; the first of the next batch */
    Arena own;       /* the buffers, after pass_allocate */
} Pass;

/* Makes the tables of pointers; pass_allocate or pass_layout provides the memory. */
void pass_make(Pass *pass, const Model *model, size_t batch, size_t length, PassUse use);
/* The same for decoding `batch` sequences in lockstep, up to `capacity` positions. */
void pass_make_decoder(Pass *pass, const Model *model, size_t batch, size_t capacity);
void pass_free(Pass *pass);

/* Allocates the buffers, in memory of the pass's own. */
void pass_allocate(Pass *pass, const char *what);
/* Or takes them from an arena: called once to measure, once to allocate. */
void pass_layout(Pass *pass, Arena *arena);

/* Computes u[2L] of every row, without dropout; inputs (rows). */
const real *pass_forward(Pass *pass, const int32_t *inputs);

/* Returns the sum of the cross-entropy losses, in nats, over rows with a target (label) >= 0.
 * Per-row losses are in row_loss, the rows themselves in scored. */
double pass_loss(Pass *pass, const int32_t *inputs, const int32_t *targets);

/* The same loss with logits divided by a temperature; after pass_loss with PASS_EVALUATE. */
double pass_loss_at(Pass *pass, double temperature);

/* The logits, (rows, V), of some of the scored rows; after pass_loss. */
void pass_scored_logits(Pass *pass, real *logits, size_t first, size_t rows);

/* Training: the loss with dropout. Adds the gradient of that sum and of the AR/TAR penalty to
 * *gradients; with a teacher, of what head.h describes. The key is specific to the step. */
double pass_gradients(Pass *pass, Params *gradients, const int32_t *inputs,
                      const int32_t *targets, RandomKey key);

/* Attention transfer, in place of pass_gradients: adds to *gradients the gradient of the
 * squared difference between the outputs of the model's attention sublayers and those of its
 * teacher, which has the same shape. Each sublayer reads the teacher's residual stream, and
 * with a value residual the first layer's values, which are constants for later layers. Rows
 * after the last target of their sequence do not count. Returns the sum over the other rows of
 * the mean over features and layers. */
double pass_match(Pass *pass, Params *gradients, const int32_t *inputs, const int32_t *targets);

/* Decoding: feeds one token per sequence; writes logits (batch, V). */
void pass_step(Pass *pass, real *logits, const int32_t *tokens);

/* For passes with states. Clears them and restarts at position 0. */
void pass_restart(Pass *pass);
/* Advances past the tokens just read; the functions above already call it. */
void pass_advance(Pass *pass);
/* Moves to a position; the caller sets the states. */
void pass_move(Pass *pass, size_t position);

#endif
