/* What training prints. Lasting lines go to stdout: a summary of the settings, a line for each
 * validation, samples, the end. The progress goes to stderr: on a terminal one line that is
 * redrawn, elsewhere a line for each row of the log. A reader of stdout that leaves, or a full
 * disk behind it, does not stop the training. */
#ifndef LINNET_SCREEN_H
#define LINNET_SCREEN_H

#include "train/loop/observer.h"
#include "train/observers/words.h"

typedef struct Screen {
    const Trainer *trainer;
    bool quiet, live; /* live: stderr is a terminal that can redraw a line */
    bool line_open;   /* a progress line is on the screen */
    double shown;     /* when it was last drawn, in seconds of the run */
    Pace pace;
} Screen;

void screen_open(Screen *screen, const Trainer *trainer, bool quiet);
extern const ObserverCalls screen_calls;

/* The model, the text, the schedule and the settings that differ from the defaults. */
void screen_settings(const Screen *screen, const char *folder);

/* Prints a lasting line. */
void screen_say(Screen *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
