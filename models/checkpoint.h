/* A model on disk: a safetensors file with the weights under GPT-2's names, the vocabulary as a
 * tensor of bytes named "vocab", settings as text in the metadata, and in the checkpoints that
 * training continues from, the optimizer's moments as "opt.m.NAME" and "opt.v.NAME" and, where
 * training has them, the weights' average so far as "avg.NAME", and the state that goes from
 * batch to batch as "carried". */
#ifndef LINNET_CHECKPOINT_H
#define LINNET_CHECKPOINT_H

#include "data/corpus.h"
#include "models/model.h"
#include "models/safetensors.h"

/* What is written. Borrowed throughout. */
typedef struct CheckpointContent {
    const Model *model;
    const Vocabulary *vocabulary;
    const CorpusOptions *corpus;
    const real *m, *v;   /* laid out as the weights are; NULL: weights only */
    const real *average; /* of the weights, so far; NULL: none */
    const real *carried; /* carried_reals of them; NULL: none */
    size_t carried_reals;
    const MetadataPair *extra; /* what the caller wants kept beside it */
    size_t extra_count;
} CheckpointContent;

bool checkpoint_save(const char *path, const CheckpointContent *content, Error *error);

typedef struct Checkpoint {
    SafetensorsFile file;
    ModelConfig config;
    CorpusOptions corpus;
    Vocabulary vocabulary;
    ParamTable table;
    bool has_moments, has_average;
} Checkpoint;

/* Reads and checks everything but the numbers: the settings make sense, the vocabulary is one,
 * and the tensors are those of such a model. */
bool checkpoint_open(Checkpoint *checkpoint, const char *path, Error *error);
void checkpoint_close(Checkpoint *checkpoint);

/* Copies the numbers into buffers of table.total reals; all but the weights may be NULL. */
bool checkpoint_load(const Checkpoint *checkpoint, real *weights, real *m, real *v,
                     real *average, Error *error);

/* Copies the carried state, which has to be there and of this size. */
bool checkpoint_load_carried(const Checkpoint *checkpoint, real *carried, size_t reals,
                             Error *error);

/* What the saver put beside it, or NULL. */
const char *checkpoint_extra(const Checkpoint *checkpoint, const char *key);

/* The checkpoint file that a name on a command line means: the file itself, or the best (else
 * the last, else the previous) checkpoint of a run folder. The caller frees. */
char *checkpoint_path(const char *run, Error *error);

#endif
