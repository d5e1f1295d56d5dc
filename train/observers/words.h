/* Pieces of text about a training's progress, for the progress line and the full-screen view.
 */
#ifndef LINNET_WORDS_H
#define LINNET_WORDS_H

#include "train/loop/trainer.h"

/* Where the session began, to compute its speed. */
typedef struct Pace {
    double seconds, training_seconds; /* as in Progress */
    size_t step, tokens;
} Pace;

Pace pace_start(const Progress *progress);
/* Tokens per second of training, without validation and saving. */
double pace_speed(const Pace *pace, const Progress *progress);
/* Seconds until the last step, with validation and saving at the rate of the session so far. */
double pace_left(const Pace *pace, const Trainer *trainer);

/* "epoch 1.25/10" */
void words_append_epoch(char **text, const Trainer *trainer);
/* "[====>     ] " with the given number of columns between the brackets. */
void words_append_bar(char **text, double share, size_t columns);

#endif
