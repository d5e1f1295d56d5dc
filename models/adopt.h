/* Taking over weights: a new model starts from those of a checkpoint (train --init).
 *
 * The checkpoint's shape (layers, dimensions, heads, norms, activation) must be the model's.
 * Tensors that both have are copied. Tokens with the same text keep their embeddings, output
 * weights and biases; the others start at the mean of the checkpoint's plus the usual noise.
 *
 * Parts that only the model has start so that its function is that of the checkpoint, where
 * that is possible:
 *
 *   output head of its own   a copy of the token embedding
 *   biases, and head bias    0
 *   learned positions        0, or for positions beyond the checkpoint's the usual noise
 *   residual convolution     0
 *   value residual           0
 *   attention sink           0
 *   head gate                0, which is a factor of 1
 *
 * Output gates, convolutions with SiLU, head norms, QK-norms, and gates of attention kinds
 * cannot: they start as in a new model. */
#ifndef LINNET_ADOPT_H
#define LINNET_ADOPT_H

#include "models/checkpoint.h"

/* Sets the options of a model, or those of its tokenizer, to the checkpoint's. Regularisation
 * and what only concerns training stay as they are. */
bool adopt_shape(const Options *options, const Checkpoint *from, Error *error);
bool adopt_tokenizer(const Options *options, const Checkpoint *from, Error *error);
/* Whether adopt_tokenizer sets the option of this name. */
bool adopt_sets_tokenizer(const char *name);

/* Whether the model has the checkpoint's shape; the error names the option that differs. */
bool adopt_check(const ModelConfig *config, const Checkpoint *from, Error *error);

/* Reads all weights once, so that nothing is begun with weights that cannot be taken over. */
bool adopt_verify(const Checkpoint *from, Error *error);

/* For each token of a vocabulary (vocabulary->count) the id of the token with the same text in
 * `from`, or TOKEN_NONE; caller frees. Counts the tokens that have one. */
int32_t *adopt_ids(const Vocabulary *vocabulary, const Vocabulary *from, size_t *shared);

/* Replaces the initial weights of a new model. ids (V) as adopt_ids gives them, NULL if both
 * have the same vocabulary. */
bool adopt_weights(Model *model, const Checkpoint *from, const int32_t *ids, Error *error);

/* Whether a tensor learns while the attention sublayers learn to do what the checkpoint's do
 * (train --convert): tensors of attention that the checkpoint lacks, and the projections of
 * layers of another kind, unless the kind has projections of its own instead. */
bool adopt_learns(const ParamRow *row, const ModelConfig *config, const Checkpoint *from);
/* Whether all layers have the checkpoint's attention kinds. */
bool adopt_keeps_kinds(const ModelConfig *config, const Checkpoint *from);

/* What differs from the checkpoint's model, as items with two blanks between: new parts,
 * dropped parts, changed settings. The caller frees. */
char *adopt_differences(const ModelConfig *config, const Checkpoint *from);

/* ---- Parts of adopt.c ---- */

/* What an option of a model means for weights that are taken over. */
typedef enum AdoptRole {
    ROLE_UNKNOWN,  /* no option has it: a test asks */
    ROLE_SHAPE,    /* must be the checkpoint's */
    ROLE_FUNCTION, /* the same weights compute something else with another value */
    ROLE_PART,     /* adds or drops tensors, or rows of positions */
    ROLE_TRAINING, /* a new training chooses it anew */
    ROLE_OF_KIND   /* of single attention kinds */
} AdoptRole;
AdoptRole adopt_role(const Option *option);

/* How a part starts that the checkpoint lacks. */
typedef enum AdoptStart {
    START_NEW,         /* as in a new model, which changes the function */
    START_ZERO,        /* without effect; a head of its own copies the embedding instead */
    START_NGRAMS,      /* at 0; all anew if their lengths, table or tokens are others */
    START_CONVOLUTION, /* at 0 if it is residual */
    START_OF_KIND      /* belongs to the attention kind of its layer; at 0 if that stays */
} AdoptStart;

/* A kind of tensor that models may lack. */
typedef struct AdoptPart {
    const char *names; /* what the names of its tensors contain */
    const char *title;
    AdoptStart start;
} AdoptPart;

/* The part that a tensor belongs to; NULL: all models have it. */
const AdoptPart *adopt_part(const char *name);
/* The tensor of the checkpoint that a tensor of the model takes its values from; NULL: none. */
const ParamRow *adopt_source(const ParamRow *row, const ModelConfig *config,
                             const Checkpoint *from);
/* Whether a tensor that the checkpoint lacks can leave the function unchanged. */
bool adopt_is_neutral(const ParamRow *row, const ModelConfig *config, const Checkpoint *from);

#endif
