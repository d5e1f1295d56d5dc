/* A training run in memory: corpus, model, batches, optimizer, and how far it has come. */
#ifndef LINNET_TRAINER_H
#define LINNET_TRAINER_H

#include "data/batches.h"
#include "eval/score.h"
#include "models/checkpoint.h"
#include "train/average.h"
#include "train/options.h"
#include "models/shards.h"

/* How far a run has come: with the settings and the weights, all that resuming needs. Times
 * aside, everything in it is a function of the settings and the step. */
typedef struct Progress {
    size_t step;             /* steps done */
    size_t tokens;           /* trained on */
    double seconds;          /* spent in all, including validation and saving */
    double training_seconds; /* of these, spent in the steps of this session */
    double best_loss;        /* of the validations; infinite before the first */
    size_t best_step;
    double last_loss; /* of the latest validation */
    size_t last_step; /* after which it was taken; 0: none yet */
    size_t stale;     /* validations since the best */
    double log_nats;  /* training loss and tokens since the last row of the log */
    size_t log_tokens;
    double round_nats; /* likewise since the last validation */
    size_t round_tokens;
    size_t averaged;       /* steps whose weights are in the average */
    size_t skipped;        /* steps that were not finite and were passed over */
    size_t skipped_in_row; /* of these, the ones that nothing but such came after */
} Progress;

typedef struct Trainer {
    Settings settings;
    Corpus corpus;
    Model model;
    Pass pass;
    Batches batches;
    Arena arena;
    size_t memory; /* bytes: the arena's, and what sampling is going to take */
    Shards shards;
    /* Of a rank among several, only its slice of these is right: of the gradients from the sum
     * over the shards on, of the moments always, until trainer_gather. */
    real *gradient_base, *m, *v, *update_scratch;
    size_t *pieces;      /* [ranks + 1] the bounds of the slices; in reals: shards.bounds */
    double *square_sums; /* [pieces] */
    double *shard_nats;  /* [shards] */
    Average average;
    Params gradients;
    int32_t *inputs, *targets; /* (batch, context), and of a shard (rows of the pass) */
    int32_t *shard_inputs, *shard_targets;
    int32_t *score_buffer;
    real *carried, *carried_next; /* (shards, states of the pass), where it carries any */
    Progress progress;
    size_t batches_per_epoch, steps_per_epoch, steps; /* steps: of the whole run */
} Trainer;

/* Loads the corpus and lays everything out; a resumed run brings its vocabulary. Fails if more
 * memory is needed than may be had, before any is taken. */
bool trainer_plan(Trainer *trainer, const Vocabulary *known, Error *error);
void trainer_allocate(Trainer *trainer);
/* Both in one. */
bool trainer_make(Trainer *trainer, const Vocabulary *known, Error *error);
void trainer_free(Trainer *trainer);
void trainer_start(Trainer *trainer); /* draws the weights of a new run */

/* What one step came to. */
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
/* Leaves out the step that was not finite: the weights stay, the text and the schedule go on.
 */
void trainer_skip(Trainer *trainer);

/* Exchanges the weights with their average, if one is kept; twice is nothing. The average is
 * what is validated, and what is to be used. */
void trainer_swap_average(Trainer *trainer);
/* The validation loss, nats per token, over the whole split. */
double trainer_validate(Trainer *trainer);

/* Where in the run the given number of steps is: epochs and their fraction. */
double trainer_epoch(const Trainer *trainer, size_t steps);
/* The first batch of the next step, of those of its epoch. */
size_t trainer_next_batch(const Trainer *trainer);

/* The keys in a checkpoint's metadata of the training's settings, and of the steps done. */
#define TRAINING_KEY "training"
#define STEP_KEY     "step"

/* By all ranks, before the first saves: what each has of the moments and of what is carried. */
void trainer_gather(Trainer *trainer);
bool trainer_save(const Trainer *trainer, const char *path, bool with_moments, Error *error);
/* Whether the corpus is the one that the checkpoint's run was trained on. */
bool trainer_check_text(const Trainer *trainer, const Checkpoint *checkpoint, Error *error);
/* Continues where the checkpoint was made, if it is. */
bool trainer_load(Trainer *trainer, const Checkpoint *checkpoint, Error *error);

#endif
