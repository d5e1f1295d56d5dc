/* What training says while it runs, on stderr: a table of the settings, then on a terminal one
 * live line that is drawn over and over, elsewhere plain lines, and for every validation a line
 * that stays. */
#ifndef LINNET_SCREEN_H
#define LINNET_SCREEN_H

#include "train/trainer.h"

typedef struct Screen {
    const Trainer *trainer;
    bool quiet, live; /* live: the stream is a terminal that can go back in its line */
    bool line_open;   /* a live line is on the screen */
    double shown;     /* when it was last drawn, in seconds of the run */
    double started;   /* the run's seconds and tokens when this session began */
    size_t started_tokens;
} Screen;

void screen_open(Screen *screen, const Trainer *trainer, bool quiet);

/* Every effective setting, and what follows from them. */
void screen_settings(const Screen *screen, const char *folder);

/* After a step; plain lines come only when the log gets a row. */
void screen_step(Screen *screen, const Step *step, double train_loss, bool logged);

void screen_validation(Screen *screen, double train_loss, double val_loss, double seconds,
                       bool best);

/* Takes the live line away, before somebody else writes. */
void screen_clear(Screen *screen);

/* A lasting line of its own. */
void screen_say(Screen *screen, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
