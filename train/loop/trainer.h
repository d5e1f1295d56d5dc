/* A training run in memory: corpus, model, batches, optimizer and progress. */
#ifndef LINNET_TRAINER_H
#define LINNET_TRAINER_H

#include "data/corpora/batches.h"
#include "models/score.h"
#include "models/checkpoint.h"
#include "src/ranks/shards.h"
#include "train/loop/subwords.h"
#include "train/loop/view.h"

/* What a shard adds up over the batches of a step. */
typedef struct ShardSum {
    double nats;
    BatchCount tokens;
} ShardSum;

typedef struct Trainer {
    Settings settings;
    Corpus corpus;
    Model model;
    Pass pass;
    Batches batches;
    Arena arena;
    size_t memory; /* bytes that training needs, with text, teacher and sampling */
    Shards shards;
    /* With several ranks, only this rank's slice is valid: of the gradients after the sum over
     * shards, of the moments until trainer_gather. */
    real *gradient_base, *m, *v, *update_scratch;
    size_t *pieces; /* [ranks + 1] the first piece of each slice; shards.bounds: its reals */
    double *square_sums;  /* [pieces] */
    ShardSum *shard_sums; /* [shards] */
    real *average;        /* of the weights; NULL: none */
    Params gradients;
    Subwords subwords;            /* with --subwords */
    int32_t *inputs, *targets;    /* (rows of the pass) of a shard's part of a batch */
    real *carried, *carried_next; /* (shards, states of the pass), with --carry-state */
    Progress progress;
    Extension extension;          /* of a resumed run whose length changes */
    char *history[HISTORY_LINES]; /* NULL: no such line */
    /* That the weights of a new run come from; NULL: none. The caller sets it before
     * trainer_plan, and closes it after trainer_start. */
    const Checkpoint *init;
    LoadedModel teacher; /* with --distill */
    Pass teacher_pass;   /* of the rows of `pass` */
    bool *frozen;        /* [tensors] while attention outputs are matched */
    int32_t *init_ids;   /* for adopt_weights */
    char *start;         /* what is taken over, for people; NULL: nothing */
    size_t batches_per_epoch, steps_per_epoch, steps; /* steps: of the whole run */
    size_t match_steps; /* of these, those that match attention outputs, the first; 0: none */
    size_t part, part_tokens; /* windows and tokens that validations read; 0: all */
} Trainer;

/* Loads the corpus, unless the caller has put one there, and plans the memory; a resumed run
 * passes its vocabulary. Fails if more memory is needed than allowed, before allocating any. */
bool trainer_plan(Trainer *trainer, const Vocabulary *known, Error *error);
/* The length of a training in steps. */
size_t trainer_length(const Trainer *trainer, const Length *length);
/* The learning rate of a step in a training of that length. Matching attention outputs and what
 * follows each have a schedule of their own. */
double trainer_rate(const Trainer *trainer, const Length *length, size_t step);
/* The step after which a cycle of this training ends; cycle 0 is the schedule before them. */
size_t trainer_cycle_end(const Trainer *trainer, size_t cycle);
/* How many cycles, with cycle 0, have ended after `step` steps; 0 without --cycles. */
size_t trainer_cycles_ended(const Trainer *trainer, size_t step);
/* With --cycles: whether one has just ended. */
static inline bool trainer_ends_cycle(const Trainer *trainer, size_t step)
{
    return step > 0 &&
           trainer_cycles_ended(trainer, step) > trainer_cycles_ended(trainer, step - 1);
}
/* Counts the memory that training needs; for trainer_plan. */
bool trainer_check_memory(Trainer *trainer, Error *error);
void trainer_allocate(Trainer *trainer);
/* With --init, for trainer_plan: finds out what the new run takes over from the checkpoint, and
 * checks its weights. */
bool trainer_plan_init(Trainer *trainer, Error *error);
/* The vocabulary that a run with --init has from the checkpoint; NULL: it is the text's own. */
const Vocabulary *trainer_init_vocabulary(const Trainer *trainer);
/* With --distill, for trainer_plan: opens the teacher. */
bool trainer_open_teacher(Trainer *trainer, Error *error);
/* Whether it is the one that the run of the checkpoint began with. */
bool trainer_check_teacher(const Trainer *trainer, const Checkpoint *checkpoint, Error *error);
/* Initialises the weights of a new run. */
bool trainer_start(Trainer *trainer, Error *error);
void trainer_free(Trainer *trainer);

/* What is shown of the planned run; the folder is the caller's. */
RunView trainer_view(const Trainer *trainer);

/* Whether the next step matches attention outputs. */
static inline bool trainer_matches(const Trainer *trainer)
{
    return trainer->progress.step < trainer->match_steps;
}

/* The index in its epoch of the first batch of the next step. */
static inline size_t trainer_next_batch(const Trainer *trainer)
{
    return trainer->progress.step % trainer->steps_per_epoch *
           trainer->settings.train.accumulate;
}

/* Whether all ranks have the same weights. */
bool trainer_check_weights(const Trainer *trainer, Error *error);

/* Whether what was read since the last call is the text, which lies in files that somebody may
 * change. All ranks find the same. */
bool trainer_check_read(const Trainer *trainer, Error *error);

/* Computes the next step and applies it, unless its loss or gradient is not finite or the text
 * has changed: then the weights stay and the error says what happened. */
bool trainer_step(Trainer *trainer, Step *step, Error *error);
/* Skips the step that was not finite: the weights stay, the text and the schedule advance. */
void trainer_skip(Trainer *trainer);

/* Whether weights are averaged: with --average, or --cycles. */
bool trainer_averages(const TrainOptions *train);
/* Adds the current weights, if they are among those that are averaged. */
void trainer_add_to_average(Trainer *trainer);
/* The average of the weights, if it is what is validated and saved as the best model; else
 * NULL: nothing is averaged yet, or the schedule is within a cycle. */
real *trainer_average(const Trainer *trainer);
/* Swaps the weights with that average, if there is one; a second call undoes it. */
void trainer_swap_average(Trainer *trainer);
/* What validations read. */
Windows trainer_windows(const Trainer *trainer);
/* Scores the whole validation split or the part of --eval-tokens, unless `stops`, if it is not
 * NULL, breaks it off. */
Score trainer_validate(Trainer *trainer, bool whole, int (*stops)(void));

/* Gathers the moments and the carried states of all ranks; all call it before the first saves.
 */
void trainer_gather(Trainer *trainer);
bool trainer_save(const Trainer *trainer, const char *path, bool with_moments, Error *error);
/* Checks that training and validation text are those of the checkpoint's run. */
bool trainer_check_text(const Trainer *trainer, const Checkpoint *checkpoint, Error *error);
/* Fills trainer->extension if the length of the run changes; fails if it is shorter than what
 * is done. Call it before trainer_load. */
bool trainer_plan_extension(Trainer *trainer, const Checkpoint *checkpoint, Error *error);
/* The progress that a checkpoint keeps. */
bool trainer_read_progress(Progress *progress, const Checkpoint *checkpoint, Error *error);
/* Restores the state of the checkpoint, and extends the run if that is planned. */
bool trainer_load(Trainer *trainer, const Checkpoint *checkpoint, Error *error);
/* The history that a checkpoint keeps. */
void trainer_read_history(char *history[HISTORY_LINES], const Checkpoint *checkpoint);

/* --- how much memory this process may still allocate --- */

typedef struct Allowance {
    double bytes;
    const char *reason; /* the tightest limit, as the end of a sentence */
} Allowance;

/* What a need may be, of which this process has allocated some bytes already: the minimum of
 * `asked` (0: 80 % of the free memory), the limits of this process, and those of its control
 * groups. */
Allowance allowance_find(double asked, double allocated);

/* Memory that control groups (version 1 and 2) leave; infinite without limits. ROOT is ""
 * except in tests. */
double allowance_of_groups(const char *root);

#endif
