#include "train/observers/audience.h"
#include "src/ranks.h"
#include "train/observers/event_log.h"
#include "train/observers/fullscreen.h"
#include "train/observers/log_rows.h"
#include "train/observers/samples.h"
#include "train/observers/watch.h"

bool audience_check(const SessionOptions *options, Error *error)
{
    if (options->watch && !fullscreen_is_possible())
        return error_set(error, "--watch needs a terminal to draw on, and standard error is "
                                "none; leave --watch out");
    return true;
}

LoopEnd audience_train(Trainer *trainer, RunFolder *folder, Screen *screen, StopAfter stop,
                       Error *error)
{
    const SessionOptions *options = &trainer->settings.session;
    Observers observers = {0};
    if (!ranks_first()) /* people look at the first rank */
        return loop_run(trainer, folder, &observers, stop, error);
    EventLog events;
    Samples samples;
    Curves curves;
    Watch watch;
    event_log_init(&events, trainer, folder->path);
    samples_init(&samples, trainer, folder->path);
    curves_init(&curves, trainer, folder);
    watch_init(&watch, trainer, folder, &curves);
    observers_add(&observers, &log_rows_calls, folder);
    observers_add(&observers, &samples_calls, &samples);
    observers_add(&observers, &curves_calls, &curves);
    if (options->tensorboard)
        observers_add(&observers, &event_log_calls, &events);
    if (options->watch)
        observers_add(&observers, &watch_calls, &watch);
    else
        observers_add(&observers, &screen_calls, screen);
    LoopEnd end = loop_run(trainer, folder, &observers, stop, error);
    observers_free(&observers);
    samples_free(&samples);
    curves_free(&curves);
    watch_free(&watch);
    return end;
}
