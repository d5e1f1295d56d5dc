/* One loop that a reader can hold in the head: step, log, validate, save, stop. */
#include "train/loop.h"
#include "src/phase.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* --- signals --- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    if (caught)
        _exit(128 + number);
    caught = number;
}

void loop_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL); /* nohup asked for a run that outlives its terminal */
}

int loop_signal(void)
{
    return caught;
}

/* --- the loop --- */

typedef struct Loop {
    Trainer *trainer;
    RunFolder *folder;
    Screen *screen;
    StopAfter stop;
    double clock;        /* when the session began, less the run's seconds before it */
    double last_seconds; /* of the last row of the log */
    size_t last_tokens;
    size_t first_step; /* of this session */
    double first_seconds;
    size_t saved_step; /* of the last checkpoint that this session wrote */
    double shown_loss; /* the training loss, smoothed for the eye */
} Loop;

static double mean_training_loss(const Progress *progress)
{
    return progress->log_nats / (double)progress->log_tokens;
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
                     .train_loss = mean_training_loss(progress),
                     .val_loss = progress->last_loss,
                     .has_val_loss = validated,
                     .grad_norm = step->gradient_norm,
                     .tokens_per_second = (double)(progress->tokens - loop->last_tokens) /
                                          seconds};
    progress->log_nats = 0;
    progress->log_tokens = 0;
    loop->last_seconds = progress->seconds;
    loop->last_tokens = progress->tokens;
    return runlog_append(&loop->folder->log, &row, error);
}

static bool validate(Loop *loop, Error *error)
{
    Trainer *t = loop->trainer;
    Progress *progress = &t->progress;
    progress->last_loss = trainer_validate(t);
    progress->last_step = progress->step;
    progress->seconds = clock_seconds() - loop->clock;
    bool best = progress->last_loss < progress->best_loss;
    progress->stale = best ? 0 : progress->stale + 1;
    if (best) {
        progress->best_loss = progress->last_loss;
        progress->best_step = progress->step;
    }
    screen_validation(loop->screen, loop->shown_loss, progress->last_loss, progress->seconds,
                      best);
    return !best || trainer_save(t, loop->folder->best, false, error);
}

static bool every(size_t step, size_t period)
{
    return period > 0 && step % period == 0;
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
    const TrainOptions *train = &t->settings.train;
    Step step;
    if (!trainer_step(t, &step, error))
        return false;
    size_t done = t->progress.step;
    t->progress.seconds = clock_seconds() - loop->clock;
    double loss = step.nats / (double)step.tokens;
    loop->shown_loss = loop->shown_loss > 0 ? 0.95 * loop->shown_loss + 0.05 * loss : loss;
    bool validates = done % t->steps_per_epoch == 0 || done == t->steps ||
                     every(done, train->eval_every);
    bool logs = validates || every(done, train->log_every);
    screen_step(loop->screen, &step, loop->shown_loss, logs);
    if (validates && !validate(loop, error))
        return false;
    if (logs && !log_row(loop, &step, validates, error))
        return false;
    if (validates || every(done, train->save_every))
        return save(loop, error);
    return true;
}

LoopEnd loop_run(Trainer *trainer, RunFolder *folder, Screen *screen, StopAfter stop,
                 Error *error)
{
    Progress *progress = &trainer->progress;
    Loop loop = {.trainer = trainer,
                 .folder = folder,
                 .screen = screen,
                 .stop = stop,
                 .clock = clock_seconds() - progress->seconds,
                 .last_seconds = progress->seconds,
                 .last_tokens = progress->tokens,
                 .first_step = progress->step,
                 .first_seconds = progress->seconds};
    while (!loop_is_over(trainer) && !caught && !time_to_stop(&loop))
        if (!do_step(&loop, error))
            return LOOP_FAILED;
    if (loop.saved_step != progress->step && !save(&loop, error))
        return LOOP_FAILED;
    if (loop_is_over(trainer)) /* whatever else happened: there is nothing to go on with */
        return out_of_patience(trainer) ? LOOP_PATIENCE : LOOP_FINISHED;
    return caught ? LOOP_SIGNAL : LOOP_STOPPED;
}
