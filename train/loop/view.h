/* What a training run shows of itself, to be read only: for the screen, the log, the curves and
 * the run directory. The trainer fills it, and the loop keeps it up to date. */
#ifndef LINNET_VIEW_H
#define LINNET_VIEW_H

#include "data/corpora/corpus.h"
#include "eval/runs/runlog.h"
#include "models/model.h"
#include "train/loop/extension.h"
#include "train/loop/history.h"
#include "train/loop/options.h"

/* The loss of a validation, with labels also the accuracy (else 0), and its step. */
typedef struct Validation {
    double loss, accuracy;
    size_t step;
} Validation;

/* A sum of training losses, and the tokens that they are of. */
typedef struct LossSum {
    double nats;
    size_t tokens;
} LossSum;

/* The progress of a run. Resuming needs only this, the settings and the tensors. Except for
 * times it is a function of the settings and the step. */
typedef struct Progress {
    size_t step;             /* steps done */
    size_t tokens;           /* trained on */
    double seconds;          /* in total, including validation and saving */
    double training_seconds; /* of these, in the steps of this session */
    Validation best;         /* with a loss that is infinite before the first */
    Validation last;         /* with step 0 before the first */
    Validation final;        /* of the last weights on the whole text, if the others read a part
                              * of it; with loss 0 before that */
    size_t due;              /* 1 while the validation after the step is not complete, else 0 */
    double due_norm;         /* then: the step's gradient norm, for its log row */
    size_t stale;            /* validations without improvement */
    LossSum log, round;      /* since the last row of the log, and since the last validation */
    size_t averaged;         /* steps whose weights are in the average */
    size_t skipped;          /* steps skipped for NaN or infinity */
    size_t skipped_in_row;   /* of these, the latest uninterrupted run */
    size_t skipped_in_stage; /* of these, those since the optimizer started */
} Progress;

/* The result of one step. */
typedef struct Step {
    double nats;
    size_t tokens; /* that the loss is of: with labels, fewer than were read */
    size_t read;
    double gradient_norm, lr;
    bool misread; /* the text has changed */
} Step;

typedef struct RunView {
    const Settings *settings;
    const Model *model;
    const Corpus *corpus;
    const Progress *progress;
    const Extension *extension;
    const History *history;
    /* What --init takes over, in items with two blanks between; NULL: nothing. */
    const char *start;
    const char *folder;            /* the path of the run directory */
    size_t steps, steps_per_epoch; /* of the whole run */
    size_t match_steps;            /* of these, those that match attention outputs */
    size_t part_tokens;            /* that validations read; 0: the whole validation text */
    size_t memory;                 /* bytes that training needs, the text included */

    /* After a step. */
    Step last;
    double smoothed_loss;     /* exponential moving average of the training loss, unbiased */
    double tokens_per_second; /* of this session, without validation and saving */
    double seconds_left;      /* with validation and saving at the rate of this session */
    bool logs;                /* a row of the log follows */

    /* After a validation, whose loss is in the progress. */
    double train_loss; /* mean since the validation before; NAN if no step was taken */
    bool best;

    RunLogRow row;      /* the last row of the log */
    const char *sample; /* the last text that the model generated: UTF-8 without control
                         * characters but line ends, the last at its end */
} RunView;

/* Printed after the word validation: whether its loss is of a part of the text. */
static inline const char *view_part(const RunView *run)
{
    return run->part_tokens > 0 ? " (part)" : "";
}

/* The last step whose validation, log row and sample, if any, are complete. */
static inline size_t view_complete(const RunView *run)
{
    return run->progress->step - run->progress->due;
}

/* Whether the last step matched attention outputs: then its loss is their mean square error. */
static inline bool view_matches(const RunView *run)
{
    return run->progress->step > 0 && run->progress->step <= run->match_steps;
}

/* Converts steps to epochs, with the fraction. */
static inline double view_epochs(const RunView *run, size_t steps)
{
    return (double)steps / (double)run->steps_per_epoch;
}

#endif
