/* The training loop: step, validate, sample, log, save, stop. What is shown of it is in view.h,
 * what is saved in saver.h. */
#include "train/loop/loop.h"
#include "eval/show/writer.h"
#include "models/generator.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/ranks/ranks.h"
#include "train/loop/saver.h"
#include "train/loop/signals.h"

#include <math.h>
#include <stdlib.h>

typedef struct Loop {
    Trainer *trainer;
    RunView *view;
    const Observers *observers;
    Saver saver;
    Generator generator; /* with --sample-every */
    double clock;        /* the session's start, minus the run's earlier seconds */
    size_t validations;  /* of the run */
} Loop;

static bool every(size_t step, size_t period)
{
    return period > 0 && step % period == 0;
}

static bool ends_in_validation(const Trainer *t, size_t step)
{
    return every(step, t->steps_per_epoch) || step == t->steps ||
           every(step, t->settings.train.eval_every) || trainer_ends_cycle(t, step);
}

static void log_row(Loop *loop, bool validated)
{
    view_make_row(loop->view, validated);
    if (!loop->view->last.skipped)
        loop->trainer->progress.log = (LossSum){0};
    observers_tell(loop->observers, RUN_LOGGED, loop->view);
}

/* --- when it ends --- */

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

/* Whether the current model was just validated and is better than the best one saved. */
static bool is_best(const Progress *progress)
{
    return progress->validated && progress->last.step == progress->step &&
           progress->last.loss < progress->best.loss;
}

bool loop_has_work(const Trainer *trainer)
{
    return !is_over(trainer) || is_best(&trainer->progress);
}

/* All ranks decide together, since a signal or the time may reach one before another. */
static bool is_asked_to_end(const Loop *loop)
{
    enum { TIME = 1 }; /* above: a signal */
    const StopAfter *stop = &loop->trainer->settings.session.stop;
    const Progress *progress = &loop->trainer->progress, *began = &loop->view->session;
    double earlier = loop->view->grid ? loop->view->grid->elapsed : 0;
    bool timed_out = (stop->steps > 0 && progress->step - began->step >= stop->steps) ||
                     (stop->seconds > 0 &&
                      earlier + progress->seconds - began->seconds >= stop->seconds);
    size_t rank_reason = signals_caught() ? TIME + (size_t)signals_caught() : timed_out;
    size_t reason = ranks_most(rank_reason);
    if (reason > TIME)
        signals_record((int)(reason - TIME));
    return reason > 0;
}

/* --- validation --- */

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
                           .accuracy = t->corpus.valid.labels.data ? score_accuracy(score) : 0,
                           .step = t->progress.step};
    return true;
}

static bool validate(Loop *loop, Error *error)
{
    Progress *progress = &loop->trainer->progress;
    RunView *view = loop->view;
    Validation best_before = progress->best;
    if (!read_validation(loop, false, &progress->last, error))
        return false;
    progress->validated = 1;
    view->train_loss = loss_mean(progress->round);
    view->best = is_best(progress);
    progress->round = (LossSum){0};
    progress->stale = view->best ? 0 : progress->stale + 1;
    if (view->best)
        progress->best = progress->last;
    loop->validations += progress->step > 0;
    observers_tell(loop->observers, RUN_VALIDATED, view);
    if (view->best)
        saver_save_best(&loop->saver, best_before);
    return true;
}

/* The loss of the weights that --init took over: the first point of the curve. */
static bool validate_start(Loop *loop, Error *error)
{
    const Trainer *t = loop->trainer;
    loop->view->last = (Step){.skipped = true};
    if (!validate(loop, error))
        return !*error->text; /* broken off, it is the next session's first act, too */
    if (!isfinite(t->progress.last.loss))
        return error_set(error,
                         "--init %s: the validation loss of its weights is not finite; start "
                         "from another checkpoint",
                         t->settings.train.init);
    log_row(loop, true);
    saver_save(&loop->saver);
    return true;
}

/* The validation that is due; at the end, if validations read a part of the text, also the loss
 * of the last weights on all of it. The last one may take long and nothing follows it, so the
 * run is saved before. False if a signal or an error breaks it off: then it is due as before.
 */
static bool validate_step(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    Progress *progress = &t->progress;
    if (is_trained(t, progress->stale + 1) && loop->saver.awaiting_step != progress->step)
        saver_save(&loop->saver);
    const Progress before = *progress;
    progress->due = 0;
    progress->due_norm = 0;
    bool done = validate(loop, error);
    progress->has_final = done && is_trained(t, progress->stale) && t->part_tokens > 0;
    if (progress->has_final)
        done = read_validation(loop, true, &progress->final, error);
    if (done) {
        loop->saver.saved_step = SIZE_MAX; /* the run goes beyond it now */
    } else {
        *progress = before;
        progress->seconds = clock_seconds() - loop->clock;
    }
    if (*error->text)
        saver_end(&loop->saver, &(Error){0});
    return done;
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
    loop->view->sample = text;
    observers_tell(loop->observers, RUN_SAMPLED, loop->view);
    loop->view->sample = NULL;
    free(text);
}

/* --- one step --- */

/* Takes the step, or skips one that is not finite under --on-nan skip. */
static bool step_or_skip(Loop *loop, Step *step, Error *error)
{
    Trainer *t = loop->trainer;
    const TrainOptions *train = &t->settings.train;
    size_t in_row = t->progress.skipped_in_row;
    if (trainer_step(t, step, error))
        return true;
    if (step->misread || train->on_nan == ON_NAN_STOP)
        return false;
    step->skipped = in_row < train->nan_limit;
    char *text = step->skipped
                     ? text_format("%s. Skipped", error->text)
                     : text_format("%s. --nan-limit is reached: %zu step%s before it had to be "
                                   "skipped",
                                   error->text, in_row, text_plural(in_row));
    if (step->skipped) {
        observers_warned(loop->observers, text);
        trainer_skip(t);
        step->gradient_norm = (double)NAN;
    } else {
        error_set(error, "%s", text);
    }
    free(text);
    return step->skipped;
}

/* Takes the next step, after which a validation may be due. */
static bool go_forward(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    Progress *progress = &t->progress;
    Step *step = &loop->view->last;
    double began = clock_seconds();
    if (!step_or_skip(loop, step, error)) {
        saver_end(&loop->saver, &(Error){0}); /* nothing changed since the last good step */
        return false;
    }
    progress->final = (Validation){0}; /* that was of other weights */
    progress->has_final = 0;
    progress->due = ends_in_validation(t, progress->step);
    progress->due_norm = progress->due ? step->gradient_norm : 0;
    progress->seconds = clock_seconds() - loop->clock;
    progress->training_seconds += clock_seconds() - began;
    loop->view->logs = progress->due || step->skipped ||
                       every(progress->step, t->settings.train.log_every);
    view_count_step(loop->view);
    observers_tell(loop->observers, RUN_STEPPED, loop->view);
    return !progress->due || trainer_check_weights(t, error);
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
    if (loop->view->logs)
        log_row(loop, validates);
    if (validates || every(progress->step, settings->train.save_every) ||
        saver_is_due(&loop->saver))
        saver_save(&loop->saver);
    return true;
}

/* --- the session --- */

static LoopEnd run(Loop *loop, Error *error)
{
    Trainer *trainer = loop->trainer;
    Progress *progress = &trainer->progress;
    if (!ranks_agree(observers_started(loop->observers, loop->view, error), error))
        return LOOP_FAILED;
    if (is_best(progress)) { /* an earlier session found it but could not save it */
        Validation on_disk = progress->best;
        progress->best = progress->last;
        saver_save_best(&loop->saver, on_disk);
    }
    if (trainer->extension.planned) /* so that it need not be extended again if it is killed */
        saver_save(&loop->saver);
    if (trainer->settings.train.init && progress->step == 0 && !progress->validated &&
        !validate_start(loop, error))
        return LOOP_FAILED;
    while (!is_over(trainer) && !is_asked_to_end(loop))
        if (!do_step(loop, error))
            return LOOP_FAILED;
    if (!saver_end(&loop->saver, error))
        return LOOP_FAILED;
    if (is_over(trainer)) /* nothing is left to train, whatever else happened */
        return out_of_patience(trainer, progress->stale) ? LOOP_PATIENCE : LOOP_FINISHED;
    return signals_caught() ? LOOP_SIGNAL : LOOP_STOPPED;
}

LoopEnd loop_run(Trainer *trainer, RunFolder *folder, RunView *view, const Observers *observers,
                 Error *error)
{
    const Progress *progress = &trainer->progress;
    *error = (Error){0}; /* without a text: a signal ended it */
    Loop loop = {.trainer = trainer,
                 .view = view,
                 .observers = observers,
                 .saver = saver_make(trainer, folder, view, observers),
                 .clock = clock_seconds() - progress->seconds};
    view_begin(view);
    if (progress->due) { /* of a step of an earlier session; its log row follows */
        const Length *length = &trainer->settings.train.length;
        view->last = (Step){.gradient_norm = progress->due_norm,
                            .lr = trainer_rate(trainer, length, progress->step - 1),
                            .skipped = !isfinite(progress->due_norm)};
        view->logs = true;
    }
    if (trainer->settings.session.sample_every > 0) {
        for (size_t step = 1; step <= view_complete(view); step++)
            loop.validations += ends_in_validation(trainer, step);
        generator_make(&loop.generator, &trainer->model, 1);
    }
    LoopEnd end = run(&loop, error);
    generator_free(&loop.generator);
    Error later;
    if (!observers_ended(observers, view, end == LOOP_FAILED ? &later : error))
        end = LOOP_FAILED;
    return end;
}
