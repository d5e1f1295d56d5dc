#include "train/observers/audience.h"
#include "src/ranks.h"
#include "train/observers/fullscreen.h"
#include "train/observers/log_rows.h"

bool audience_check(const SessionOptions *options, Error *error)
{
    if (options->watch && !fullscreen_is_possible())
        return error_set(error, "--watch needs a terminal to draw on, and standard error is "
                                "none; leave --watch out");
    return true;
}

void audience_make(Audience *audience, Trainer *trainer, RunFolder *folder, Screen *screen)
{
    const SessionOptions *options = &trainer->settings.session;
    *audience = (Audience){0};
    if (!ranks_first())
        return;
    event_log_init(&audience->events, trainer, folder->path);
    samples_init(&audience->samples, trainer, folder->path);
    curves_init(&audience->curves, trainer, folder);
    watch_init(&audience->watch, trainer, folder, &audience->curves);
    Observers *observers = &audience->observers;
    observers_add(observers, &log_rows_calls, folder);
    observers_add(observers, &samples_calls, &audience->samples);
    observers_add(observers, &curves_calls, &audience->curves);
    if (options->tensorboard)
        observers_add(observers, &event_log_calls, &audience->events);
    if (options->watch)
        observers_add(observers, &watch_calls, &audience->watch);
    else
        observers_add(observers, &screen_calls, screen);
}

void audience_free(Audience *audience)
{
    if (!ranks_first())
        return;
    observers_free(&audience->observers);
    samples_free(&audience->samples);
    curves_free(&audience->curves);
    watch_free(&audience->watch);
}
