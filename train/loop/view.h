/* What a training run shows of itself, and to whom: screen, log, curves, samples, TensorBoard,
 * the run directory.
 *
 * The loop knows nothing of screens and files; it tells observers of events, in the order of
 * the list, and each reads the RunView. An observer is a table of functions, NULL for events it
 * ignores, and their data. If one cannot start, training does not begin. One that fails later
 * is still called, since a full disk may have room again; it is an error only if it still fails
 * at the end. Observers never change what is trained. */
#ifndef LINNET_VIEW_H
#define LINNET_VIEW_H

#include "data/corpora/corpus.h"
#include "eval/runs/rundata.h"
#include "models/model.h"
#include "train/loop/options.h"

#include <math.h>

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

/* NAN of no tokens. */
static inline double loss_mean(LossSum sum)
{
    return sum.tokens ? sum.nats / (double)sum.tokens : (double)NAN;
}

/* The progress of a run. Resuming needs only this, the settings and the tensors. Except for
 * times it is a function of the settings and the step. */
typedef struct Progress {
    size_t step;             /* steps done */
    size_t tokens;           /* trained on */
    double seconds;          /* in total, including validation and saving */
    double training_seconds; /* of these, in the steps of this session */
    Validation best;         /* with a loss that is infinite before the first */
    Validation last;
    size_t validated;   /* 1 if there is such a last one, else 0 */
    Validation final;   /* of the last weights on the whole text, if the others read a part */
    size_t has_final;   /* 1 if there is such a final one, else 0 */
    size_t due;         /* 1 while the validation after the step is not complete, else 0 */
    double due_norm;    /* then: the step's gradient norm, for its log row */
    size_t stale;       /* validations without improvement */
    LossSum log, round; /* since the last row of the log, and since the last validation */
    size_t averaged;    /* steps whose weights are in the average */
    size_t skipped;     /* steps skipped for NaN or infinity */
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
    bool skipped; /* its loss or gradient was not finite; or there was no step */
} Step;

/* Extending a run: --resume RUN --epochs 12 changes the length of a finished or interrupted
 * run.
 *
 * The rule: every quantity that depends on the progress of the training is a function of the
 * step and of the number of all steps, so from the step of the extension on it is that of the
 * new length. The learning rate follows the schedule of the new length: after the end of a
 * cosine, linear or trapezoid schedule it rises again. Warmup steps stay the same number.
 * The matching of attention outputs in a conversion keeps its length. Weight averaging that
 * begins later in the new length starts again there; otherwise it goes on. It begins with the
 * weights of a finished schedule to which cycles are added. Early stopping counts anew. The
 * best model is replaced only by a better one.
 *
 * An extended run depends on the settings and on the step of the extension alone, so that it
 * can be interrupted and resumed bit-identically like any other. */
typedef struct Extension {
    bool planned;
    bool finished;         /* the run was, so its last checkpoint is worth keeping */
    bool restarts_average; /* the average so far is dropped */
    size_t step;           /* steps done before it */
    size_t from, to;       /* the old and the new length in steps */
    double lr_from, lr_to; /* the learning rate of the last step, and of the next */
    double average_from;   /* the step from which on weights are averaged, if that is later */
} Extension;

/* Where a run comes from, beyond its settings: lines that are kept in its checkpoints and, as
 * comments, in settings.conf, so that comparisons can tell it from a run without this history.
 */
enum {
    HISTORY_ORIGIN,   /* the model that --init took weights from */
    HISTORY_TEACHER,  /* the model or the soft targets that it learns from */
    HISTORY_EXTENDED, /* each change of the length */
    HISTORY_MATCHED,  /* what --match-params chose the MLP width for */
    HISTORY_LINES
};

static inline const char *history_key(size_t line)
{
    static const char *const keys[] = {RUN_ORIGIN, RUN_TEACHER, RUN_EXTENDED, RUN_MATCHED};
    return keys[line];
}

/* The place of a run in a grid: several runs that one command trains. */
typedef struct GridPlace {
    size_t index, count; /* which run it is, counted from 1, and how many there are */
    double elapsed;      /* seconds of this session before the run */
    double seconds;      /* estimate of what is left of the other runs, as far as known */
    double runs_like_it; /* what else is left, in runs of which only this one says how long they
                          * take */
    void (*begun)(void *grid); /* called with `grid` when the run has its directory */
    void *grid;
} GridPlace;

typedef struct RunView {
    const Settings *settings;
    const Model *model;
    const Corpus *corpus;
    const Progress *progress;
    const Extension *extension;
    char *const *history; /* [HISTORY_LINES]; NULL: no such line */
    /* What --init takes over, in items with two blanks between; NULL: nothing. */
    const char *start;
    const char *folder;            /* the path of the run directory */
    const GridPlace *grid;         /* NULL: it is no run of a grid */
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

    /* What those figures are computed from. */
    Progress session, logged;     /* when the session began; at the last row of the log */
    double loss_sum, loss_weight; /* moving sums, whose ratio is the smoothed loss */
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

/* Estimate of the seconds that are left of a grid, during one of its runs. */
static inline double view_grid_left(const RunView *run)
{
    double whole = run->progress->seconds + run->seconds_left;
    return run->grid->seconds + run->seconds_left + run->grid->runs_like_it * whole;
}

/* Converts steps to epochs, with the fraction. */
static inline double view_epochs(const RunView *run, size_t steps)
{
    return (double)steps / (double)run->steps_per_epoch;
}

/* The session begins. */
void view_begin(RunView *run);
/* Brings the figures after a step up to date; `last` and the progress are there. */
void view_count_step(RunView *run);
/* Makes the row for all steps since the row before it, or for one skipped step. */
void view_make_row(RunView *run, bool validated);

/* --- observers --- */

typedef enum RunEvent {
    RUN_STARTED,
    RUN_STEPPED,
    RUN_VALIDATED,
    RUN_SAMPLED, /* the model generated a text */
    RUN_LOGGED,  /* a row of the log is complete */
    RUN_ENDED,   /* the last event, however training ended, even if it did not begin */
    RUN_EVENTS
} RunEvent;

typedef bool ObserverCall(void *self, const RunView *run, Error *error);

typedef struct ObserverCalls {
    ObserverCall *on[RUN_EVENTS];
    /* Something went wrong; training continues. */
    void (*warned)(void *self, const char *text);
    /* Frees what self points to, after the end. */
    void (*free)(void *self);
} ObserverCalls;

typedef struct Observer {
    const ObserverCalls *calls;
    void *self;
    bool failing; /* its last call failed */
    Error why;
} Observer;

typedef struct Observers {
    Observer *list; /* an array of stb_ds */
} Observers;

void observers_add(Observers *observers, const ObserverCalls *calls, void *self);
void observers_free(Observers *observers);

bool observers_started(const Observers *observers, const RunView *run, Error *error);
void observers_tell(const Observers *observers, RunEvent event, const RunView *run);
/* Without an observer that takes warnings, prints to stderr. */
void observers_warned(const Observers *observers, const char *text);
/* Ends all of them, the last first; returns the first error. */
bool observers_ended(const Observers *observers, const RunView *run, Error *error);

#endif
