#include "train/observers/words.h"
#include "src/text.h"

#include <math.h>

Pace pace_start(const Progress *progress)
{
    return (Pace){progress->seconds, progress->training_seconds, progress->step,
                  progress->tokens};
}

double pace_speed(const Pace *pace, const Progress *progress)
{
    return (double)(progress->tokens - pace->tokens) /
           (progress->training_seconds - pace->training_seconds);
}

double pace_left(const Pace *pace, const Trainer *trainer)
{
    const Progress *progress = &trainer->progress;
    return (progress->seconds - pace->seconds) / (double)(progress->step - pace->step) *
           (double)(trainer->steps - progress->step);
}

void words_append_epoch(char **text, const Trainer *trainer)
{
    double epochs = trainer_epoch(trainer, trainer->steps);
    text_append(text, epochs == floor(epochs) ? "epoch %.2f/%.0f" : "epoch %.2f/%.2f",
                trainer_epoch(trainer, trainer->progress.step), epochs);
}

void words_append_bar(char **text, double share, size_t columns)
{
    size_t full = (size_t)(share * (double)columns);
    text_append(text, "[");
    for (size_t i = 0; i < columns; i++)
        text_append(text, i < full ? "=" : i == full ? ">" : " ");
    text_append(text, "] ");
}
