/* Checkpoints: safetensors files with the weights under GPT-2's names, the vocabulary as a
 * byte tensor "vocab", and the settings as text in the metadata. Checkpoints for resuming also
 * hold the optimizer state (first and second moments) as "opt.m.NAME" and "opt.v.NAME" and, if
 * used, the weight average as "avg.NAME", the carried recurrent state as "carried" and what
 * embeddings share in training as "subwords". */
#ifndef LINNET_CHECKPOINT_H
#define LINNET_CHECKPOINT_H

#include "data/corpora/corpus.h"
#include "models/model.h"
#include "models/safetensors.h"

/* The content to save; all pointers are borrowed. */
typedef struct CheckpointContent {
    const Model *model;
    const Vocabulary *vocabulary;
    const CorpusOptions *corpus;
    const real *m, *v;   /* (model->table.total) moments; NULL: weights only */
    const real *average; /* (model->table.total) running weight average; NULL: none */
    const real *carried, *subwords; /* (carried_reals), (subwords_reals); NULL: none */
    size_t carried_reals, subwords_reals;
    const MetadataPair *extra; /* (extra_count) metadata of the caller */
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

/* Opens a checkpoint and validates the settings, the vocabulary, and that the weights match the
 * settings; loading checks types and values, and the shapes of moments and averages. */
bool checkpoint_open(Checkpoint *checkpoint, const char *path, Error *error);
void checkpoint_close(Checkpoint *checkpoint);
/* The settings that define a model: its options and those of its text. */
Options checkpoint_options(const ModelConfig *config, const CorpusOptions *corpus);

/* Loads tensors into buffers (table.total); all but the weights may be NULL. */
bool checkpoint_load(const Checkpoint *checkpoint, real *weights, real *m, real *v,
                     real *average, Error *error);

/* Loads one of these arrays (reals); fails if it is missing or of another size. */
#define CARRIED_ARRAY  "carried"
#define SUBWORDS_ARRAY "subwords"
bool checkpoint_load_array(const Checkpoint *checkpoint, const char *name, real *array,
                           size_t reals, Error *error);

/* The checkpoints of a run directory: the one with the lowest validation loss, the newest, and
 * the one before that. */
#define CHECKPOINT_BEST     "best.safetensors"
#define CHECKPOINT_LAST     "last.safetensors"
#define CHECKPOINT_PREVIOUS "previous.safetensors"

/* Keys of the metadata: the settings of the model and its text, the forms of attention kinds
 * that have changed what they compute, the token before a text where it is not <eos>, and of
 * those that training saves, its settings, the steps done and the checksums of its three texts.
 */
#define SETTINGS_KEY   "settings"
#define FORMS_KEY      "attention_forms"
#define TEXT_START_KEY "text_start"
#define TRAINING_KEY   "training"
#define STEP_KEY       "step"
#define TRAIN_CRC_KEY  "corpus_crc32"
#define VALID_CRC_KEY  "valid_crc32"
#define TEST_CRC_KEY   "test_crc32"
/* Metadata that the caller saved under `key`, or NULL. */
const char *checkpoint_extra(const Checkpoint *checkpoint, const char *key);
/* Whether training saved the checksum of this text under `key`. */
bool checkpoint_has_text(const Checkpoint *checkpoint, const char *key,
                         const CorpusSplit *split);

/* Resolves a command-line argument to a checkpoint: the file itself, or the best (else last,
 * else previous) checkpoint of a run directory. The caller frees it. */
char *checkpoint_path(const char *run, Error *error);
/* Opens that checkpoint. */
bool checkpoint_open_run(Checkpoint *checkpoint, const char *run, Error *error);

/* ---- A trained model, opened for use: settings, vocabulary and weights ---- */

typedef struct LoadedModel {
    Checkpoint checkpoint;
    Model model;
} LoadedModel;

/* Opens a run directory (its best checkpoint) or a checkpoint file. */
bool loaded_open(LoadedModel *loaded, const char *run, Error *error);
void loaded_close(LoadedModel *loaded);

#endif
