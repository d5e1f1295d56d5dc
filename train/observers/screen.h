/* What training says while it runs, on stderr: a table of the settings, then on a terminal one
 * live line that is drawn over and over, elsewhere plain lines, and for every validation a line
 * that stays. The latter two are an observer's. */
#ifndef LINNET_SCREEN_H
#define LINNET_SCREEN_H

#include "train/observers/observer.h"
#include "train/observers/words.h"

typedef struct Screen {
    const Trainer *trainer;
    bool quiet, live; /* live: the stream is a terminal that can go back in its line */
    bool line_open;   /* a live line is on the screen */
    double shown;     /* when it was last drawn, in seconds of the run */
    Pace pace;
} Screen;

void screen_open(Screen *screen, const Trainer *trainer, bool quiet);
extern const ObserverCalls screen_calls;

/* Every effective setting, and what follows from them. */
void screen_settings(const Screen *screen, const char *folder);

/* A lasting line of its own. */
void screen_say(Screen *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
