#include "train/observers/screen.h"
#include "eval/terminal.h"
#include "src/gemm.h"
#include "src/ranks.h"
#include "src/team.h"
#include "src/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_SECONDS 0.1

void screen_open(Screen *screen, const Trainer *trainer, bool quiet)
{
    *screen = (Screen){.trainer = trainer,
                       .quiet = quiet,
                       .live = terminal_can_redraw(STDERR_FILENO),
                       .shown = -1};
}

/* --- the table --- */

/* Of the model's settings, only those that its attention kinds have. */
static bool matters(const OptionGroup *group, const Option *option)
{
    return option->stored &&
           (group->options != model_option_rows || config_has_option(group->target, option));
}

/* Settings of a group as "name value", flowing over as many lines as the width takes. */
static void print_group(const OptionGroup *group, size_t width)
{
    enum { TITLE = 14 };
    size_t column = TITLE;
    fprintf(stderr, "%-*s", TITLE, group->title);
    for (size_t i = 0; i < group->count; i++) {
        const Option *option = &group->options[i];
        char *value = option_value(group, option);
        if (matters(group, option) && *value) {
            char *item = text_format("%s %s", option->name, value);
            size_t columns = text_columns(item);
            if (column > TITLE && column + columns + 2 > width) {
                fprintf(stderr, "\n%*s", TITLE, "");
                column = TITLE;
            }
            terminal_print_safe(stderr, item);
            fputs("  ", stderr);
            column += columns + 2;
            free(item);
        }
        free(value);
    }
    fputc('\n', stderr);
}

static void print_corpus(const Trainer *t)
{
    const Corpus *corpus = &t->corpus;
    fputs("              from ", stderr);
    terminal_print_safe(stderr, corpus->source);
    fprintf(stderr,
            "\n              tokens %zu training, %zu validation, %zu test; vocabulary %zu\n",
            corpus->train.count, corpus->valid.count, corpus->test.count,
            corpus->vocabulary.count);
    if (corpus->valid.unknown || corpus->test.unknown)
        fprintf(stderr, "              unknown words: %.2f %% of validation, %.2f %% of test\n",
                100.0 * (double)corpus->valid.unknown / (double)corpus->valid.count,
                100.0 * (double)corpus->test.unknown / (double)corpus->test.count);
    if (corpus->entropy_floor > 0)
        fprintf(stderr,
                "              entropy %.4f nats per token: no loss can stay below it "
                "(perplexity %.2f)\n",
                corpus->entropy_floor, exp(corpus->entropy_floor));
}

void screen_settings(const Screen *screen, const char *folder)
{
    const Trainer *t = screen->trainer;
    if (screen->quiet)
        return;
    OptionGroup groups[GROUP_COUNT];
    settings_groups((Settings *)&t->settings, groups);
    size_t width = terminal_width(STDERR_FILENO);
    print_group(&groups[GROUP_MODEL], width);
    fprintf(stderr, "              parameters %zu\n", t->model.table.parameters);
    print_group(&groups[GROUP_CORPUS], width);
    print_corpus(t);
    print_group(&groups[GROUP_TRAIN], width);
    fprintf(stderr, "              steps %zu, %zu in an epoch\n", t->steps, t->steps_per_epoch);
    if (ranks_count() > 1)
        fprintf(stderr, "Together      ranks %zu  shards %zu\n", ranks_count(),
                t->settings.train.shards);
    fprintf(stderr, "This session  threads %zu  kernels %s  memory %.0f MB  run ", team_size(),
            gemm_kernels(), (double)t->memory / 1e6);
    terminal_print_safe(stderr, folder);
    fputs("\n\n", stderr);
}

/* --- lines --- */

/* Takes the live line away, before something else is written. */
static void clear(Screen *screen)
{
    if (screen->line_open)
        fputs("\r\033[K", stderr);
    screen->line_open = false;
}

/* "epoch 2/10  step 1234/9200  loss 5.123  lr 9.8e-04  12.3k tokens/s  0:03:21 left" */
static char *step_line(const Screen *screen, const StepNews *news)
{
    enum { BAR = 16 };
    const Trainer *t = screen->trainer;
    const Progress *progress = &t->progress;
    char *text = NULL;
    if (screen->live)
        words_append_bar(&text, (double)progress->step / (double)t->steps, BAR);
    text_append(
        &text, "epoch %.2f/%.3g  step %zu/%zu  loss %.4f  lr %.2e  norm %.2f  %.1fk tokens/s  ",
        trainer_epoch(t, progress->step), trainer_epoch(t, t->steps), progress->step, t->steps,
        news->train_loss, news->step->lr, news->step->gradient_norm,
        pace_speed(&screen->pace, progress) / 1000);
    words_append_duration(&text, pace_left(&screen->pace, t));
    text_append(&text, " left");
    return text;
}

static bool started(void *self, Error *error)
{
    (void)error;
    Screen *screen = self;
    screen->pace = pace_start(&screen->trainer->progress);
    return true;
}

static bool stepped(void *self, const StepNews *news, Error *error)
{
    (void)error;
    Screen *screen = self;
    double now = screen->trainer->progress.seconds;
    bool due = screen->live ? now - screen->shown >= REDRAW_SECONDS : news->logged;
    if (screen->quiet || !due)
        return true;
    char *line = step_line(screen, news);
    if (screen->live) {
        size_t width = terminal_width(STDERR_FILENO); /* cut, so that it never wraps */
        fprintf(stderr, "\r%.*s\033[K", (int)(width > 1 ? width - 1 : 1), line);
        screen->line_open = true;
        screen->shown = now;
    } else {
        fprintf(stderr, "%s\n", line);
    }
    free(line);
    return true;
}

static bool validated(void *self, const ValidationNews *news, Error *error)
{
    (void)error;
    Screen *screen = self;
    const Trainer *t = screen->trainer;
    const Progress *progress = &t->progress;
    char *text = text_format("epoch %.4g  step %zu  train %.4f  validation %.4f  perplexity "
                             "%.2f  %s  ",
                             trainer_epoch(t, progress->step), progress->step, news->train_loss,
                             progress->last_loss, exp(progress->last_loss),
                             news->best ? "best" : "    ");
    words_append_duration(&text, progress->seconds);
    screen_say(screen, "%s", text);
    free(text);
    return true;
}

static bool sampled(void *self, const SampleNews *news, Error *error)
{
    (void)error;
    Screen *screen = self;
    for (const char *line = news->text; *line;) {
        size_t length = strcspn(line, "\n");
        screen_say(screen, "    %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return true;
}

static bool ended(void *self, Error *error)
{
    (void)error;
    clear(self);
    return true;
}

static void warned(void *self, const char *text)
{
    clear(self);
    warn("%s", text);
}

const ObserverCalls screen_calls = {.started = started,
                                    .stepped = stepped,
                                    .validated = validated,
                                    .sampled = sampled,
                                    .warned = warned,
                                    .ended = ended};

void screen_say(Screen *screen, const char *format, ...)
{
    if (screen->quiet)
        return;
    char text[2048]; /* longer than any path and a sentence around it */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    clear(screen);
    terminal_print_safe(stderr, text);
    fputc('\n', stderr);
}
