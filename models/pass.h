/* One batch through the model: forward for the loss, backward for the gradients, or one
 * position at a time for decoding.
 *
 * The residual stream has 2L + 1 places r[0] .. r[2L]: the embedding, then the sum after each
 * attention and each feed-forward sublayer. With u[k] the input of sublayer k,
 *
 *   pre-norm:   u[k] = norm(r[k]),   r[k+1] = r[k] + dropout(sublayer(u[k]))
 *   post-norm:  u[k] = norm(r[k]),   r[k+1] = u[k] + dropout(sublayer(u[k])),   u[0] = r[0]
 *
 * and u[2L] goes into the vocabulary head. The attention sublayer is pass_mixer.c's. For the
 * backward pass every r[k] is kept, and of the sublayers what would be dear to compute again:
 * queries, keys, values, the attention's output, and the feed-forward layer before its
 * activation. Norms, activations and dropout masks are computed again. With PASS_RECOMPUTE
 * those of the sublayers are computed again too, and all layers share the memory of one. */
#ifndef LINNET_PASS_H
#define LINNET_PASS_H

#include "models/model.h"

typedef enum PassUse { PASS_EVALUATE, PASS_TRAIN, PASS_RECOMPUTE } PassUse;

/* What the attention sublayer of a layer keeps for its backward pass; NULL where it has none.
 */
typedef enum MixerPart {
    MIXER_RAW,      /* (rows, 3C) before the convolution */
    MIXER_QKV,      /* (rows, 3C) */
    MIXER_VALUES,   /* (rows, C) before the first layer's are mixed in */
    MIXER_SIZES,    /* (rows, 2H) of the norm of queries and keys */
    MIXER_HIDDEN,   /* (rows, rank) in the bottleneck of the gates */
    MIXER_GATES,    /* (rows, gates of all heads) */
    MIXER_SAVED,    /* what the kind wants */
    MIXER_MIXED,    /* (rows, C) the kind's output */
    MIXER_Z,        /* (rows, C) the output's gate before its sigmoid */
    MIXER_FINISHED, /* (rows, C) normed and gated */
    MIXER_PARTS
} MixerPart;

typedef struct Mixer {
    real *part[MIXER_PARTS];
    real *state; /* what is carried, if anything is */
    real *begun; /* that, as it was before this batch; for the backward pass */
} Mixer;

/* The rows of a batch that have a target, closed up: all that a head needs to see when nothing
 * is learned. */
typedef struct ScoredRows {
    size_t count;
    size_t *rows;     /* (count) which of the batch's they are */
    const real *u;    /* (count, C) u[2L] */
    int32_t *targets; /* (count) */
    real *losses;     /* (count) by the head that looked at them last */
} ScoredRows;

typedef struct Pass {
    const Model *model;
    size_t batch, length, rows;
    PassUse use;

    real **stream;       /* [2L+1] -> (rows, C) */
    real **mean, **rstd; /* [2L+1] -> (rows) */
    real **inner;        /* [L] -> (rows, F), or (rows, 2F) with a gate */
    Mixer *mixer;        /* [L] */
    real *input;         /* (rows, C) u[k]; going backward, first the gradient of the branch */
    real *branch;      /* (rows, C) the sublayer's output; going backward, the gradient of u */
    real *wide;        /* (rows, F) behind the activation, or (rows, 3C) gradient of qkv */
    real *dstream;     /* (rows, C) gradient of r[k] */
    real *row_loss;    /* (rows) */
    ScoredRows scored; /* of the last pass_loss */
    real *cooled_bias; /* (V) of a head at a temperature, if there is one and nothing is learned
                        */
    double penalty;    /* of the last batch, for what its output's size and changes count */
    real *attention_scratch, *head_scratch;
    real *dgates, *dhidden; /* gradients of the widest MIXER_GATES and MIXER_HIDDEN */
    real *first_values, *dfirst_values; /* (rows, C) of the first layer, where later ones mix
                                         * them in */

    /* Of all layers. What is carried goes from position to position in decoding, and from batch
     * to batch where the model carries its state: then row b of a batch goes on where row b of
     * the one before it ended. */
    real *states, *begun;
    size_t states_reals;

    real *position_rows; /* (length, C) sinusoids, if they are used */
    real *angles;        /* (length, D) rotary angles, if they are used */

    bool decoding;
    bool carries;    /* from batch to batch */
    size_t capacity; /* positions that the states have room for */
    size_t position; /* the next one; the first of the next batch */
} Pass;

/* Tables of pointers, not yet memory. */
void pass_make(Pass *pass, const Model *model, size_t batch, size_t length, PassUse use);
/* The same for decoding `batch` sequences in step, up to `capacity` positions. */
void pass_make_decoder(Pass *pass, const Model *model, size_t batch, size_t capacity);
void pass_free(Pass *pass);

/* Takes the pass's memory from the arena: once to measure, once for good. */
void pass_layout(Pass *pass, Arena *arena);
/* Computes the position tables; once after the memory is there. */
void pass_prepare(Pass *pass);

/* u[2L] of every row, without dropout; inputs (rows). */
const real *pass_forward(Pass *pass, const int32_t *inputs);

/* The sum of the losses in nats over rows with a target >= 0; single ones in row_loss, and the
 * rows themselves in scored. */
double pass_loss(Pass *pass, const int32_t *inputs, const int32_t *targets);

/* What that sum would be if the logits were divided by a temperature; for passes that evaluate,
 * after pass_loss. */
double pass_loss_at(Pass *pass, double temperature);

/* The same with dropout, adding the gradient of that sum, and of the penalty beside it, to
 * *gradients. The key is the step's own. */
double pass_gradients(Pass *pass, Params *gradients, const int32_t *inputs,
                      const int32_t *targets, RandomKey key);

/* Decoding: one token for each sequence; writes logits (batch, V). */
void pass_step(Pass *pass, real *logits, const int32_t *tokens);

/* For passes that carry something. Forgets everything and starts at position 0. */
void pass_restart(Pass *pass);
/* Moves on behind what has been read; all of the above do it. */
void pass_advance(Pass *pass);
/* To a position whose states the caller sees to. */
void pass_move(Pass *pass, size_t position);

#endif
