/* A training run in memory: corpus, model, batches, optimizer and progress. */
#ifndef LINNET_TRAINER_H
#define LINNET_TRAINER_H

#include "data/batches.h"
#include "models/score.h"
#include "models/checkpoint.h"
#include "train/loop/average.h"
#include "train/loop/options.h"
#include "src/shards.h"

/* The progress of a run. Resuming needs only this, the settings and the tensors. Except for
 * times it is a function of the settings and the step. */
typedef struct Progress {
    size_t step;             /* steps done */
    size_t tokens;           /* trained on */
    double seconds;          /* in total, including validation and saving */
    double training_seconds; /* of these, in the steps of this session */
    double best_loss;        /* best validation loss; infinite before the first */
    size_t best_step;
    double last_loss; /* of the latest validation */
    size_t last_step; /* step of the latest validation; 0: none yet */
    size_t stale;     /* validations without improvement */
    double log_nats;  /* training loss and tokens since the last row of the log */
    size_t log_tokens;
    double round_nats; /* likewise since the last validation */
    size_t round_tokens;
    size_t averaged;       /* steps whose weights are in the average */
    size_t skipped;        /* steps skipped for NaN or infinity */
    size_t skipped_in_row; /* of these, the latest uninterrupted run */
} Progress;

typedef struct Trainer {
    Settings settings;
    Corpus corpus;
    Model model;
    Pass pass;
    Batches batches;
    Arena arena;
    size_t memory; /* bytes: the arena's, and those of sampling */
    Shards shards;
    /* With several ranks, only this rank's slice is valid: of the gradients after the sum over
     * shards, of the moments until trainer_gather. */
    real *gradient_base, *m, *v, *update_scratch;
    size_t *pieces;      /* [ranks + 1] the bounds of the slices; in reals: shards.bounds */
    double *square_sums; /* [pieces] */
    double *shard_nats;  /* [shards] */
    Average average;
    Params gradients;
    int32_t *inputs, *targets; /* (batch, context); for a shard, (rows of the pass) */
    int32_t *shard_inputs, *shard_targets;
    int32_t *score_buffer;
    real *carried, *carried_next; /* (shards, states of the pass), with --carry-state */
    Progress progress;
    size_t batches_per_epoch, steps_per_epoch, steps; /* steps: of the whole run */
} Trainer;

/* Loads the corpus and plans the memory; a resumed run passes its vocabulary. Fails if more
 * memory is needed than allowed, before allocating any. */
bool trainer_plan(Trainer *trainer, const Vocabulary *known, Error *error);
void trainer_allocate(Trainer *trainer);
/* Both in one. */
bool trainer_make(Trainer *trainer, const Vocabulary *known, Error *error);
void trainer_free(Trainer *trainer);
void trainer_start(Trainer *trainer); /* initialises the weights of a new run */

/* The result of one step. */
typedef struct Step {
    double nats;
    size_t tokens;
    double gradient_norm, lr;
} Step;

/* Whether all ranks have the same weights. */
bool trainer_check_weights(const Trainer *trainer, Error *error);

/* Computes the next step and applies it, unless its loss or gradient is not finite: then
 * nothing is changed and the error says what happened. */
bool trainer_step(Trainer *trainer, Step *step, Error *error);
/* Skips the step that was not finite: the weights stay, the text and the schedule advance. */
void trainer_skip(Trainer *trainer);

/* Swaps the weights with their average, if there is one; a second call undoes it. The average
 * is what is validated and saved as the best model. */
void trainer_swap_average(Trainer *trainer);
/* The validation loss, nats per token, over the whole split. */
double trainer_validate(Trainer *trainer);

/* Converts a number of steps to epochs, with the fraction. */
double trainer_epoch(const Trainer *trainer, size_t steps);
/* The index in its epoch of the first batch of the next step. */
size_t trainer_next_batch(const Trainer *trainer);

/* Metadata keys of a checkpoint: training settings, and steps done. */
#define TRAINING_KEY "training"
#define STEP_KEY     "step"

/* Gathers the moments and the carried states of all ranks; all call it before the first saves.
 */
void trainer_gather(Trainer *trainer);
bool trainer_save(const Trainer *trainer, const char *path, bool with_moments, Error *error);
/* Checks that the corpus is that of the checkpoint's run. */
bool trainer_check_text(const Trainer *trainer, const Checkpoint *checkpoint, Error *error);
/* Restores the state of the checkpoint, after the same check. */
bool trainer_load(Trainer *trainer, const Checkpoint *checkpoint, Error *error);

#endif
