/* How a training's progress is put into words; for the screen's lines and the full view. */
#ifndef LINNET_WORDS_H
#define LINNET_WORDS_H

#include "train/trainer.h"

/* When the session began, to tell its speed from. */
typedef struct Pace {
    double seconds; /* of the run */
    size_t tokens;
} Pace;

Pace pace_start(const Progress *progress);
double pace_speed(const Pace *pace, const Progress *progress); /* tokens per second */
/* Seconds until the run's last step. */
double pace_left(const Pace *pace, const Trainer *trainer);

/* "0:03:21" */
void words_append_duration(char **text, double seconds);
/* "[====>     ] ", of so many columns between its ends. */
void words_append_bar(char **text, double share, size_t columns);

#endif
