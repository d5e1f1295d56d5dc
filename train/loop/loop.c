/* The training loop: step, validate, sample, log, save, stop. Observers display and log it; see
 * observer.h. */
#include "train/loop/loop.h"
#include "eval/show/writer.h"
#include "models/generator.h"
#include "src/base/file.h"
#include "src/base/phase.h"
#include "src/ranks/ranks.h"
#include "src/base/text.h"
#include "train/loop/signals.h"

#include <math.h>
#include <stdlib.h>

/* Whether the last attempt to save a file failed. */
typedef struct Attempt {
    bool failed;
    Error why;
} Attempt;

/* How far the run had come. */
typedef struct Mark {
    size_t step, tokens;
    double seconds, training_seconds;
} Mark;

typedef struct Loop {
    Trainer *trainer;
    RunFolder *folder;
    const Observers *observers;
    RunView view;
    Generator generator; /* with --sample-every */
    StopAfter stop;
    double clock;                 /* the session's start, minus the run's earlier seconds */
    Mark began;                   /* the session */
    Mark logged;                  /* the last row of the log */
    size_t validations;           /* of the run */
    size_t saved_step;            /* of the session's last checkpoint; SIZE_MAX: none */
    double tried_at;              /* the last attempt to save one, in seconds of the run */
    Attempt last_save, best_save; /* of the last checkpoint and the best one */
    size_t awaiting; /* the step of the last checkpoint, if its validation is due; else 0 */
    bool keeps;      /* the next checkpoint is the first after that of a finished run */
    double loss_sum, loss_weight; /* moving sums, whose ratio is the smoothed training loss */
} Loop;

static Mark mark_of(const Progress *progress)
{
    return (Mark){progress->step, progress->tokens, progress->seconds,
                  progress->training_seconds};
}

static double mean_of(LossSum sum)
{
    return sum.tokens ? sum.nats / (double)sum.tokens : (double)NAN;
}

static bool every(size_t step, size_t period)
{
    return period > 0 && step % period == 0;
}

static bool ends_in_validation(const Trainer *t, size_t step)
{
    return every(step, t->steps_per_epoch) || step == t->steps ||
           every(step, t->settings.train.eval_every) || trainer_ends_cycle(t, step);
}

/* One row, for all steps since the row before it, or for one skipped step. */
static void log_row(Loop *loop, bool validated)
{
    Progress *progress = &loop->trainer->progress;
    const Step *step = &loop->view.last;
    const CorpusSplit *valid = &loop->trainer->corpus.valid;
    size_t part = loop->trainer->part_tokens;
    bool taken = isfinite(step->nats), matches = view_matches(&loop->view);
    double seconds = progress->training_seconds - loop->logged.training_seconds;
    double mean = taken ? mean_of(progress->log) : (double)NAN;
    loop->view.row = (RunLogRow){
        .step = progress->step,
        .epoch = view_epochs(&loop->view, progress->step),
        .tokens = progress->tokens,
        .seconds = progress->seconds,
        .lr = step->lr,
        .matches = matches,
        .train_loss = matches ? (double)NAN : mean,
        .match_loss = matches ? mean : (double)NAN,
        .val_loss = progress->last.loss,
        .has_val_loss = validated,
        .grad_norm = taken ? step->gradient_norm : (double)NAN,
        .tokens_per_second = (double)(progress->tokens - loop->logged.tokens) / seconds,
        .peak_mb = memory_peak_megabytes(),
        .val_bits_per_byte = split_bits_per_byte(valid, progress->last.loss),
        .val_tokens = !validated ? 0
                      : part > 0 ? part
                                 : split_scored(valid),
        .final_val_loss = progress->final.loss,
        .val_accuracy = validated && valid->labels.at ? progress->last.accuracy : (double)NAN};
    if (taken)
        progress->log = (LossSum){0};
    loop->logged = mark_of(progress);
    observers_tell(loop->observers, RUN_LOGGED, &loop->view);
}

/* --- saving --- */

/* A failed save does not stop the training: the disk may have room at the next one. */
static void note(Loop *loop, Attempt *attempt, bool good, const char *next)
{
    attempt->failed = !good;
    if (good)
        return;
    char *text = text_format("%s. The training continues; %s", attempt->why.text, next);
    observers_warned(loop->observers, text);
    free(text);
}

/* The checkpoint of a finished run that is extended stays beside those of the longer run. */
static void keep_finished(Loop *loop)
{
    Error error;
    if (loop->keeps && !folder_keep(loop->folder, loop->trainer->extension.step, &error))
        observers_warned(loop->observers, error.text);
    loop->keeps = false;
}

static bool write_run(Loop *loop, Error *error)
{
    bool again;
    Progress *progress = &loop->trainer->progress;
    if (!folder_restore(loop->folder, &loop->view, &again, error))
        return false;
    if (again && !file_exists(loop->folder->best))
        progress->best.loss = INFINITY; /* the file is gone */
    /* A resumed run does not repeat the rows before the checkpoint, so they are synced first.
     * If that fails, the checkpoint is written all the same: it is worth more. */
    if (!runlog_sync(&loop->folder->log, error))
        observers_warned(loop->observers, error->text);
    if (!trainer_save(loop->trainer, loop->folder->next, true, error) ||
        !folder_turn(loop->folder, loop->awaiting == progress->step, error))
        return false;
    keep_finished(loop);
    return true;
}

/* The first rank writes; all ranks learn whether it succeeded. */
static bool try_save(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    trainer_gather(t);
    bool good = ranks_agree(!ranks_first() || write_run(loop, error), error);
    ranks_share(&t->progress, sizeof t->progress, 0);
    if (good) {
        loop->saved_step = t->progress.step;
        loop->awaiting = t->progress.due ? t->progress.step : 0;
    }
    return good;
}

static void save(Loop *loop)
{
    loop->tried_at = loop->trainer->progress.seconds;
    bool good = try_save(loop, &loop->last_save.why);
    note(loop, &loop->last_save, good, "the next checkpoint is the next attempt");
}

/* The last save of the session: a failure is an error now. */
static bool save_at_end(Loop *loop, Error *error)
{
    Attempt *last = &loop->last_save;
    last->failed = false;
    if (loop->saved_step != loop->trainer->progress.step)
        last->failed = !try_save(loop, &last->why);
    const Attempt *failed = last->failed ? last : &loop->best_save;
    if (failed->failed)
        *error = failed->why;
    return !failed->failed;
}

/* --- one step --- */

/* Whether the current model was just validated and is better than the best one saved. Before
 * the first step a loss of 0 stands for no validation yet. */
static bool is_best(const Progress *progress)
{
    bool validated = (progress->last.loss != 0 || progress->step > 0) &&
                     progress->last.step == progress->step;
    return validated && progress->last.loss < progress->best.loss;
}

/* If saving fails, the best validation stays that of the file on disk. */
static void save_best(Loop *loop, Validation before)
{
    Error *why = &loop->best_save.why;
    bool good = !ranks_first() || trainer_save(loop->trainer, loop->folder->best, false, why);
    good = ranks_agree(good, why);
    if (!good)
        loop->trainer->progress.best = before;
    note(loop, &loop->best_save, good, "the next improvement is the next attempt");
}

/* Reads the whole validation text, or the part of --eval-tokens. False if a signal breaks it
 * off, on any rank, or with an error if somebody has changed the text. */
static bool read_validation(Loop *loop, bool whole, Validation *result, Error *error)
{
    Trainer *t = loop->trainer;
    Score score = trainer_validate(t, whole, signals_caught);
    t->progress.seconds = clock_seconds() - loop->clock;
    if (ranks_most(score.is_partial) > 0 || !trainer_check_read(t, error))
        return false;
    *result = (Validation){.loss = score_loss(score),
                           .accuracy = t->corpus.valid.labels.at ? score_accuracy(score) : 0,
                           .step = t->progress.step};
    return true;
}

static bool validate(Loop *loop, Error *error)
{
    Progress *progress = &loop->trainer->progress;
    RunView *view = &loop->view;
    Validation before = progress->best;
    if (!read_validation(loop, false, &progress->last, error))
        return false;
    view->train_loss = mean_of(progress->round);
    view->best = is_best(progress);
    progress->round = (LossSum){0};
    progress->stale = view->best ? 0 : progress->stale + 1;
    if (view->best)
        progress->best = progress->last;
    loop->validations += progress->step > 0;
    observers_tell(loop->observers, RUN_VALIDATED, view);
    if (view->best)
        save_best(loop, before);
    return true;
}

/* The loss of the last weights on the whole text, if validations read a part of it. */
static bool validate_at_end(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    return t->part_tokens == 0 || read_validation(loop, true, &t->progress.final, error);
}

/* The loss of the weights that --init took over: the first point of the curve. */
static bool validate_start(Loop *loop, Error *error)
{
    const Trainer *t = loop->trainer;
    loop->view.last = (Step){.nats = (double)NAN, .gradient_norm = (double)NAN};
    if (!validate(loop, error))
        return !*error->text; /* broken off, it is the next session's first act, too */
    if (!isfinite(t->progress.last.loss))
        return error_set(error,
                         "--init %s: the validation loss of its weights is not finite; start "
                         "from another checkpoint",
                         t->settings.train.init);
    log_row(loop, true);
    save(loop);
    return true;
}

/* Saves the best model that an earlier session found but could not save. */
static void make_up_for_best(Loop *loop)
{
    Progress *progress = &loop->trainer->progress;
    Validation before = progress->best;
    progress->best = progress->last;
    save_best(loop, before);
}

/* The text depends only on the run and the step, not on interruptions. */
static void sample(Loop *loop)
{
    enum { TOKENS = 40 };
    Trainer *t = loop->trainer;
    RandomKey key = random_key(t->settings.train.seed, RANDOM_SAMPLE, t->progress.step);
    trainer_swap_average(t);
    char *text = excerpt_make(&loop->generator, &t->corpus.vocabulary, TOKENS, key);
    trainer_swap_average(t);
    loop->view.sample = text;
    observers_tell(loop->observers, RUN_SAMPLED, &loop->view);
    loop->view.sample = NULL;
    free(text);
}

/* Takes the step; one that is not finite is skipped under --on-nan skip. */
static bool take_step(Loop *loop, Step *step, Error *error)
{
    Trainer *t = loop->trainer;
    const TrainOptions *train = &t->settings.train;
    if (trainer_step(t, step, error))
        return true;
    if (step->misread || train->on_nan == ON_NAN_STOP)
        return false;
    char *text;
    bool goes_on = t->progress.skipped_in_row < train->nan_limit;
    if (goes_on)
        text = text_format("%s. Skipped", error->text);
    else
        text = text_format("%s. --nan-limit is reached: %zu step%s before it had to be skipped",
                           error->text, t->progress.skipped_in_row,
                           text_plural(t->progress.skipped_in_row));
    if (goes_on) {
        observers_warned(loop->observers, text);
        trainer_skip(t);
        step->nats = step->gradient_norm = (double)NAN;
    } else {
        error_set(error, "%s", text);
    }
    free(text);
    return goes_on;
}

static bool out_of_patience(const Trainer *t, size_t stale)
{
    size_t patience = t->settings.train.patience;
    return patience > 0 && stale >= patience && t->progress.step > t->match_steps;
}

/* Whether no step follows if `stale` validations in a row brought no improvement. */
static bool is_trained(const Trainer *t, size_t stale)
{
    return t->progress.step >= t->steps || out_of_patience(t, stale);
}

static bool is_over(const Trainer *trainer)
{
    return is_trained(trainer, trainer->progress.stale) && !trainer->progress.due;
}

bool loop_has_work(const Trainer *trainer)
{
    return !is_over(trainer) || is_best(&trainer->progress);
}

static bool time_to_stop(const Loop *loop)
{
    const Progress *progress = &loop->trainer->progress;
    if (loop->stop.steps > 0 && progress->step - loop->began.step >= loop->stop.steps)
        return true;
    return loop->stop.seconds > 0 &&
           progress->seconds - loop->began.seconds >= loop->stop.seconds;
}

/* Shows the step. Dividing by the sum of the weights, as Adam does, keeps the first steps from
 * biasing the smoothed loss. */
static void show_step(Loop *loop, bool taken)
{
    const double kept = 0.95;
    const Progress *progress = &loop->trainer->progress;
    RunView *view = &loop->view;
    if (progress->step == view->match_steps + 1) /* losses of another kind begin */
        loop->loss_sum = loop->loss_weight = 0;
    if (taken) {
        double loss = view->last.nats / (double)view->last.tokens;
        loop->loss_sum = kept * loop->loss_sum + (1 - kept) * loss;
        loop->loss_weight = kept * loop->loss_weight + (1 - kept);
    }
    view->smoothed_loss = loop->loss_sum / loop->loss_weight;
    view->tokens_per_second = (double)(progress->tokens - loop->began.tokens) /
                              progress->training_seconds;
    view->seconds_left = (progress->seconds - loop->began.seconds) /
                         (double)(progress->step - loop->began.step) *
                         (double)(view->steps - progress->step);
    observers_tell(loop->observers, RUN_STEPPED, view);
}

/* Whether the last checkpoint is older than --save-minutes. All ranks decide together, as their
 * clocks differ. */
static bool is_old(const Loop *loop)
{
    double minutes = loop->trainer->settings.session.save_minutes;
    double age = loop->trainer->progress.seconds - loop->tried_at;
    return ranks_most(minutes > 0 && age >= 60 * minutes) > 0;
}

/* Takes the next step, after which a validation may be due. */
static bool go_forward(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    Progress *progress = &t->progress;
    const Step *step = &loop->view.last;
    double began = clock_seconds();
    if (!take_step(loop, &loop->view.last, error)) {
        save_at_end(loop, &(Error){0}); /* nothing has changed since the last good step */
        return false;
    }
    progress->final = (Validation){0}; /* that was of other weights */
    progress->due = ends_in_validation(t, progress->step);
    progress->due_norm = progress->due ? step->gradient_norm : 0;
    progress->seconds = clock_seconds() - loop->clock;
    progress->training_seconds += clock_seconds() - began;
    loop->view.logs = progress->due || !isfinite(step->nats) ||
                      every(progress->step, t->settings.train.log_every);
    show_step(loop, isfinite(step->nats));
    return !progress->due || trainer_check_weights(t, error);
}

/* What the log row needs to know of a step of an earlier session. */
static Step step_before(const Trainer *t)
{
    double norm = t->progress.due_norm;
    return (Step){.nats = isfinite(norm) ? 0 : (double)NAN,
                  .gradient_norm = norm,
                  .lr = trainer_rate(t, &t->settings.train.length, t->progress.step - 1)};
}

/* The validation that is due. The last one may take long and nothing follows it, so the run is
 * saved before. False if a signal or an error breaks it off: then it is due as before. */
static bool validate_step(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    Progress *progress = &t->progress;
    if (is_trained(t, progress->stale + 1) && loop->awaiting != progress->step)
        save(loop);
    const Progress before = *progress;
    progress->due = 0;
    progress->due_norm = 0;
    bool done = validate(loop, error) &&
                (!is_trained(t, progress->stale) || validate_at_end(loop, error));
    if (done) {
        loop->saved_step = SIZE_MAX; /* the run goes beyond it now */
    } else {
        *progress = before;
        progress->seconds = clock_seconds() - loop->clock;
    }
    if (*error->text)
        save_at_end(loop, &(Error){0});
    return done;
}

/* One step, unless the last one's validation is due, and all that is due after it. Saving comes
 * last, so that a resumed run does not repeat the log row and the validation of its step. */
static bool do_step(Loop *loop, Error *error)
{
    const Progress *progress = &loop->trainer->progress;
    const Settings *settings = &loop->trainer->settings;
    if (!progress->due && !go_forward(loop, error))
        return false;
    bool validates = progress->due > 0;
    if (validates && !validate_step(loop, error))
        return !*error->text; /* to end */
    if (validates && every(loop->validations, settings->session.sample_every) && ranks_first())
        sample(loop);
    if (loop->view.logs)
        log_row(loop, validates);
    if (validates || every(progress->step, settings->train.save_every) || is_old(loop))
        save(loop);
    return true;
}

/* All ranks decide together, since a signal or the time may reach one before another. */
static bool is_asked_to_end(const Loop *loop)
{
    enum { TIME = 1 }; /* above: a signal */
    size_t own = signals_caught() ? TIME + (size_t)signals_caught() : time_to_stop(loop);
    size_t reason = ranks_most(own);
    if (reason > TIME)
        signals_take_over((int)(reason - TIME));
    return reason > 0;
}

static LoopEnd run(Loop *loop, Error *error)
{
    Trainer *trainer = loop->trainer;
    if (!ranks_agree(observers_started(loop->observers, &loop->view, error), error))
        return LOOP_FAILED;
    if (is_best(&trainer->progress))
        make_up_for_best(loop);
    if (trainer->extension.planned) /* so that it need not be extended again if it is killed */
        save(loop);
    if (trainer->settings.train.init && trainer->progress.step == 0 &&
        trainer->progress.last.loss == 0 && !validate_start(loop, error))
        return LOOP_FAILED;
    while (!is_over(trainer) && !is_asked_to_end(loop))
        if (!do_step(loop, error))
            return LOOP_FAILED;
    if (!save_at_end(loop, error))
        return LOOP_FAILED;
    if (is_over(trainer)) /* nothing is left to train, whatever else happened */
        return out_of_patience(trainer, trainer->progress.stale) ? LOOP_PATIENCE
                                                                 : LOOP_FINISHED;
    return signals_caught() ? LOOP_SIGNAL : LOOP_STOPPED;
}

LoopEnd loop_run(Trainer *trainer, RunFolder *folder, const Observers *observers,
                 StopAfter stop, Error *error)
{
    const Progress *progress = &trainer->progress;
    *error = (Error){0}; /* without a text: a signal ended it */
    Loop loop = {.trainer = trainer,
                 .folder = folder,
                 .observers = observers,
                 .view = trainer_view(trainer),
                 .stop = stop,
                 .clock = clock_seconds() - progress->seconds,
                 .began = mark_of(progress),
                 .logged = mark_of(progress),
                 .tried_at = progress->seconds,
                 .saved_step = SIZE_MAX,
                 .awaiting = progress->due ? progress->step : 0,
                 .keeps = trainer->extension.finished};
    loop.view.folder = folder->path;
    if (progress->due) {
        loop.view.last = step_before(trainer);
        loop.view.logs = true;
    }
    if (trainer->settings.session.sample_every > 0) {
        for (size_t step = 1; step <= view_complete(&loop.view); step++)
            loop.validations += ends_in_validation(trainer, step);
        generator_make(&loop.generator, &trainer->model, 1);
    }
    LoopEnd end = run(&loop, error);
    generator_free(&loop.generator);
    Error later;
    if (!observers_ended(observers, &loop.view, end == LOOP_FAILED ? &later : error))
        end = LOOP_FAILED;
    return end;
}
