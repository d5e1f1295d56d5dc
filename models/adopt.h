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

/* Sets the options of a model, and if wanted those of its tokenizer, to the checkpoint's.
 * Regularisation and what only concerns training stay as they are. */
bool adopt_settings(const Options *options, const Checkpoint *from, bool tokenizer,
                    Error *error);
/* Whether the option of this name is one of the tokenizer. */
bool adopt_sets_tokenizer(const char *name);

/* Whether the model has the checkpoint's shape; the error names the option that differs. */
bool adopt_check(const ModelConfig *config, const Checkpoint *from, Error *error);

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
bool adopt_has_same_kinds(const ModelConfig *config, const Checkpoint *from);

/* What differs from the checkpoint's model, as items with two blanks between: new parts,
 * dropped parts, changed settings. The caller frees. */
char *adopt_differences(const ModelConfig *config, const Checkpoint *from);

/* For adopt_weights: the tensor of the checkpoint that a tensor of the model takes its values
 * from. NULL: none; then *neutral says whether the function is unchanged if it starts at 0 (an
 * output head of its own: as a copy of the embedding). */
const ParamRow *adopt_source(const ParamRow *row, const ModelConfig *config,
                             const Checkpoint *from, bool *neutral);

#endif
