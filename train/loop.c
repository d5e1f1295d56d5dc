/* One loop that a reader can hold in the head: step, validate, sample, log, save, stop. What is
 * shown and written of it is the observers' affair; see observer.h. */
#include "train/loop.h"
#include "src/phase.h"
#include "src/usage.h"
#include "train/signals.h"

#include <stdlib.h>

typedef struct Loop {
    Trainer *trainer;
    const RunFolder *folder;
    const Observers *observers;
    Sampling sampling;
    StopAfter stop;
    double clock;        /* when the session began, less the run's seconds before it */
    double last_seconds; /* of the last row of the log */
    size_t last_tokens;
    size_t first_step; /* of this session */
    double first_seconds;
    size_t validations; /* of the run */
    size_t saved_step;  /* of the last checkpoint that this session wrote */
    double shown_loss;  /* the training loss, smoothed for the eye */
} Loop;

static bool every(size_t step, size_t period)
{
    return period > 0 && step % period == 0;
}

static bool ends_in_validation(const Trainer *t, size_t step)
{
    return every(step, t->steps_per_epoch) || step == t->steps ||
           every(step, t->settings.train.eval_every);
}

/* One row, for all steps since the row before it. */
static bool log_row(Loop *loop, const Step *step, bool validated, Error *error)
{
    Trainer *t = loop->trainer;
    Progress *progress = &t->progress;
    double seconds = progress->seconds - loop->last_seconds;
    RunLogRow row = {.step = progress->step,
                     .epoch = trainer_epoch(t, progress->step),
                     .tokens = progress->tokens,
                     .seconds = progress->seconds,
                     .lr = step->lr,
                     .train_loss = progress->log_nats / (double)progress->log_tokens,
                     .val_loss = progress->last_loss,
                     .has_val_loss = validated,
                     .grad_norm = step->gradient_norm,
                     .tokens_per_second = (double)(progress->tokens - loop->last_tokens) /
                                          seconds,
                     .peak_mb = usage_peak_megabytes()};
    progress->log_nats = 0;
    progress->log_tokens = 0;
    loop->last_seconds = progress->seconds;
    loop->last_tokens = progress->tokens;
    return observers_logged(loop->observers, &row, error);
}

static bool validate(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    Progress *progress = &t->progress;
    progress->last_loss = trainer_validate(t);
    progress->last_step = progress->step;
    progress->seconds = clock_seconds() - loop->clock;
    ValidationNews news = {.train_loss = loop->shown_loss,
                           .best = progress->last_loss < progress->best_loss};
    progress->stale = news.best ? 0 : progress->stale + 1;
    if (news.best) {
        progress->best_loss = progress->last_loss;
        progress->best_step = progress->step;
    }
    loop->validations++;
    return observers_validated(loop->observers, &news, error) &&
           (!news.best || trainer_save(t, loop->folder->best, false, error));
}

static bool sample(Loop *loop, Error *error)
{
    size_t step = loop->trainer->progress.step;
    char *text = sampling_write(&loop->sampling);
    SampleNews news = {step, trainer_epoch(loop->trainer, step), text};
    bool good = observers_sampled(loop->observers, &news, error);
    free(text);
    return good;
}

static bool out_of_patience(const Trainer *t)
{
    size_t patience = t->settings.train.patience;
    return patience > 0 && t->progress.stale >= patience;
}

bool loop_is_over(const Trainer *trainer)
{
    return trainer->progress.step >= trainer->steps || out_of_patience(trainer);
}

static bool time_to_stop(const Loop *loop)
{
    const Progress *progress = &loop->trainer->progress;
    if (loop->stop.steps > 0 && progress->step - loop->first_step >= loop->stop.steps)
        return true;
    return loop->stop.seconds > 0 &&
           progress->seconds - loop->first_seconds >= loop->stop.seconds;
}

static bool save(Loop *loop, Error *error)
{
    loop->saved_step = loop->trainer->progress.step;
    return trainer_save(loop->trainer, loop->folder->last, true, error);
}

/* A step and all that is due after it. Saving comes last, so that a resumed run starts behind
 * the row and the validation of its step, not before them. */
static bool do_step(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    Step step;
    if (!trainer_step(t, &step, error))
        return false;
    size_t done = t->progress.step;
    t->progress.seconds = clock_seconds() - loop->clock;
    double loss = step.nats / (double)step.tokens;
    loop->shown_loss = loop->shown_loss > 0 ? 0.95 * loop->shown_loss + 0.05 * loss : loss;
    bool validates = ends_in_validation(t, done);
    bool logs = validates || every(done, t->settings.train.log_every);
    StepNews news = {&step, loop->shown_loss, logs};
    if (!observers_stepped(loop->observers, &news, error))
        return false;
    if (validates && !validate(loop, error))
        return false;
    if (validates && every(loop->validations, loop->sampling.every) && !sample(loop, error))
        return false;
    if (logs && !log_row(loop, &step, validates, error))
        return false;
    if (validates || every(done, t->settings.train.save_every))
        return save(loop, error);
    return true;
}

static LoopEnd run(Loop *loop, Error *error)
{
    Trainer *trainer = loop->trainer;
    if (!observers_started(loop->observers, error))
        return LOOP_FAILED;
    while (!loop_is_over(trainer) && !signals_caught() && !time_to_stop(loop))
        if (!do_step(loop, error))
            return LOOP_FAILED;
    if (loop->saved_step != trainer->progress.step && !save(loop, error))
        return LOOP_FAILED;
    if (loop_is_over(trainer)) /* whatever else happened: there is nothing to go on with */
        return out_of_patience(trainer) ? LOOP_PATIENCE : LOOP_FINISHED;
    return signals_caught() ? LOOP_SIGNAL : LOOP_STOPPED;
}

LoopEnd loop_run(Trainer *trainer, const RunFolder *folder, const Observers *observers,
                 StopAfter stop, Error *error)
{
    const Progress *progress = &trainer->progress;
    Loop loop = {.trainer = trainer,
                 .folder = folder,
                 .observers = observers,
                 .stop = stop,
                 .clock = clock_seconds() - progress->seconds,
                 .last_seconds = progress->seconds,
                 .last_tokens = progress->tokens,
                 .first_step = progress->step,
                 .first_seconds = progress->seconds};
    for (size_t step = 1; step <= progress->step; step++)
        loop.validations += ends_in_validation(trainer, step);
    sampling_make(&loop.sampling, trainer);
    LoopEnd end = run(&loop, error);
    sampling_free(&loop.sampling);
    Error later;
    if (!observers_ended(observers, end == LOOP_FAILED ? &later : error))
        end = LOOP_FAILED;
    return end;
}
