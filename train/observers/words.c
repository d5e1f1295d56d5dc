#include "train/observers/words.h"
#include "src/text.h"

Pace pace_start(const Progress *progress)
{
    return (Pace){progress->seconds, progress->tokens};
}

double pace_speed(const Pace *pace, const Progress *progress)
{
    return (double)(progress->tokens - pace->tokens) / (progress->seconds - pace->seconds);
}

double pace_left(const Pace *pace, const Trainer *trainer)
{
    const Progress *progress = &trainer->progress;
    double tokens_per_step = (double)progress->tokens / (double)progress->step;
    return (double)(trainer->steps - progress->step) * tokens_per_step /
           pace_speed(pace, progress);
}

void words_append_duration(char **text, double seconds)
{
    size_t whole = seconds > 0 && seconds < 1e9 ? (size_t)seconds : 0;
    text_append(text, "%zu:%02zu:%02zu", whole / 3600, whole / 60 % 60, whole % 60);
}

void words_append_bar(char **text, double share, size_t columns)
{
    size_t full = (size_t)(share * (double)columns);
    text_append(text, "[");
    for (size_t i = 0; i < columns; i++)
        text_append(text, i < full ? "=" : i == full ? ">" : " ");
    text_append(text, "] ");
}
