/* The observer behind --watch: the training on the whole terminal. Progress, speed and time
 * left; the curves so far; what the model wrote last; the last messages. Sections that the
 * terminal has no room for are left out. */
#ifndef LINNET_WATCH_H
#define LINNET_WATCH_H

#include "train/observers/curves.h"
#include "train/observers/words.h"

typedef struct Watch {
    const Trainer *trainer;
    const RunFolder *folder;
    const Curves *curves; /* which are told first */
    Pace pace;
    double drawn; /* when, in seconds of a monotonic clock */
    Step step;    /* the last one */
    double smoothed_loss;
    char *sample, *sample_title; /* the last one; NULL before the first */
    char **messages;             /* an array of stb_ds */
} Watch;

void watch_init(Watch *watch, const Trainer *trainer, const RunFolder *folder,
                const Curves *curves);
void watch_free(Watch *watch);
extern const ObserverCalls watch_calls;

#endif
