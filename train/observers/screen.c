#include "train/observers/screen.h"
#include "eval/show/terminal.h"
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

/* --- the summary of the settings --- */

enum { TITLE = 10 };

/* An option whose value shows elsewhere in the summary, or says nothing about the run. */
static bool is_shown_elsewhere(const Option *option)
{
    static const char *const names[] = {"attn",   "layers",  "dim",    "heads", "ffn",
                                        "corpus", "context", "epochs", "steps", "batch",
                                        "pos",    "tokens",  "shards", "warmup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(option->name, names[i]) == 0)
            return true;
    return !option->stored;
}

/* Appends "name value" of the settings that differ from the defaults. */
static void append_changed(char **text, const OptionGroup *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const Option *option = &group->options[i];
        char *value = option_value(group, option);
        bool changed = strcmp(value, option->fallback ? option->fallback : "") != 0;
        double number, fallback; /* 0.001 and 1e-3 are the same */
        if (changed && option->fallback && text_to_double(value, &number) &&
            text_to_double(option->fallback, &fallback))
            changed = number != fallback;
        if (changed && !is_shown_elsewhere(option))
            text_append(text, "%s%s %s", *text ? "  " : "", option->name, value);
        free(value);
    }
}

/* A titled paragraph, wrapped between items, which two blanks separate. */
static void print_paragraph(const char *title, const char *text)
{
    size_t width = terminal_width(STDOUT_FILENO), column = TITLE;
    if (strlen(title) < TITLE)
        printf("%-*s", TITLE, title);
    else
        printf("%s\n%*s", title, TITLE, "");
    while (*text) {
        const char *end = strstr(text, "  ");
        char *item = text_format("%.*s", end ? (int)(end - text) : (int)strlen(text), text);
        if (column > TITLE && column + 2 + text_columns(item) > width) {
            printf("\n%*s", TITLE, "");
            column = TITLE;
        }
        if (column > TITLE)
            column += (size_t)printf("  ");
        terminal_print_safe(stdout, item);
        column += text_columns(item);
        free(item);
        text = end ? end + 2 : "";
    }
    putchar('\n');
}

static void print_titled(const char *title, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void print_titled(const char *title, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_paragraph(title, text);
}

static void print_model(const Trainer *t, const OptionGroup *group)
{
    const ModelConfig *config = &t->model.config;
    char *attention = model_attention(&t->model);
    char *positions = option_value(group, option_find(group, 1, "pos", NULL));
    print_titled("Model",
                 "%s attention  %zu layer%s of %zu  %zu head%s  MLP %zu  context %zu  "
                 "%s positions  %zu parameters",
                 attention, config->layers, text_plural(config->layers), config->dim,
                 config->heads, text_plural(config->heads), config->ffn, config->context,
                 config->positions == POSITIONS_NONE ? "no" : positions,
                 t->model.table.parameters);
    if (config->positions == POSITIONS_LEARNED && config_head_width(config) % 2 != 0)
        print_titled(
            "",
            "learned positions because RoPE needs heads of an even dimension; these have %zu",
            config_head_width(config));
    free(attention);
    free(positions);
}

static void print_text(const Trainer *t)
{
    const Corpus *corpus = &t->corpus;
    print_titled("Text",
                 "%s  %zu training tokens  %zu validation  %zu test  vocabulary %zu "
                 "(%s)",
                 corpus->source, corpus->train.count, corpus->valid.count, corpus->test.count,
                 corpus->vocabulary.count, corpus->vocabulary.tokenizer->name);
    if (corpus->valid.unknown || corpus->test.unknown)
        print_titled("", "unknown words: %.2f %% of validation, %.2f %% of test",
                     100.0 * (double)corpus->valid.unknown / (double)corpus->valid.count,
                     100.0 * (double)corpus->test.unknown / (double)corpus->test.count);
    if (corpus->entropy_floor > 0)
        print_titled("",
                     "entropy %.4f nats per token, the lowest possible loss (perplexity "
                     "%.2f)",
                     corpus->entropy_floor, exp(corpus->entropy_floor));
}

static void print_plan(const Trainer *t, const OptionGroup groups[GROUP_COUNT])
{
    const TrainOptions *train = &t->settings.train;
    print_titled("Training",
                 "%zu step%s, %zu per epoch  batches of %zu x %zu tokens  warmup %zu", t->steps,
                 text_plural(t->steps), t->steps_per_epoch, train->batch, t->pass.length,
                 train->warmup);
    char *changed = NULL;
    append_changed(&changed, &groups[GROUP_MODEL]);
    append_changed(&changed, &groups[GROUP_CORPUS]);
    append_changed(&changed, &groups[GROUP_TRAIN]);
    if (changed)
        print_paragraph("Changed from the defaults", changed);
    free(changed);
}

void screen_settings(const Screen *screen, const char *folder)
{
    const Trainer *t = screen->trainer;
    if (screen->quiet)
        return;
    OptionGroup groups[GROUP_COUNT];
    settings_groups((Settings *)&t->settings, groups);
    print_model(t, &groups[GROUP_MODEL]);
    print_text(t);
    print_plan(t, groups);
    if (ranks_count() > 1)
        print_titled("MPI", "%zu ranks  %zu shards", ranks_count(), t->settings.train.shards);
    print_titled("Machine", "%zu thread%s  %s kernels  %.0f MB of memory", team_size(),
                 text_plural(team_size()), gemm_kernels(), (double)t->memory / 1e6);
    print_titled("Run", "%s  (all settings in its settings.conf)", folder);
    printf("\n");
    fflush(stdout);
}

/* --- lines --- */

/* Clears the progress line before something else is printed. */
static void clear(Screen *screen)
{
    if (screen->line_open)
        fputs("\r\033[K", stderr);
    screen->line_open = false;
}

/* Appends an item, which it frees, if it fits into the width. */
static void append_item(char **text, char *item, size_t width)
{
    size_t used = *text ? text_columns(*text) + 2 : 0;
    if (used + text_columns(item) <= width)
        text_append(text, "%s%s", *text ? "  " : "", item);
    free(item);
}

/* "epoch 1.25/10  loss 5.1230  12.3k tokens/s  0:03:21 left  step 568/4540  ...", what people
 * look for first at the front, as far as it fits. */
static char *step_line(const Screen *screen, const StepNews *news, size_t width)
{
    enum { BAR = 16, WIDE = 100 };
    const Trainer *t = screen->trainer;
    const Progress *progress = &t->progress;
    char *text = NULL, *epoch = NULL;
    words_append_epoch(&epoch, t);
    append_item(&text, epoch, width);
    append_item(&text, text_format("loss %.4f", news->smoothed_loss), width);
    append_item(&text,
                text_format("%.1fk tokens/s", pace_speed(&screen->pace, progress) / 1000),
                width);
    append_item(&text, text_format("%s left", text_duration(pace_left(&screen->pace, t)).text),
                width);
    append_item(&text, text_format("step %zu/%zu", progress->step, t->steps), width);
    append_item(&text, text_format("lr %.2e", news->step->lr), width);
    append_item(&text, text_format("norm %.2f", news->step->gradient_norm), width);
    if (screen->live && width >= WIDE) {
        char *bar = NULL;
        words_append_bar(&bar, (double)progress->step / (double)t->steps, BAR);
        append_item(&text, bar, width);
    }
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
    size_t width = screen->live ? terminal_width(STDERR_FILENO) - 1 : SIZE_MAX;
    char *line = step_line(screen, news, width);
    if (screen->live) {
        fprintf(stderr, "\r%s\033[K", line ? line : "");
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
    double epoch = trainer_epoch(t, progress->step);
    char *text = text_format(epoch == floor(epoch) ? "epoch %.0f" : "epoch %.2f", epoch);
    text_append(&text, "  step %zu  train %.4f  validation %.4f  perplexity %s  %s  %s",
                progress->step, news->train_loss, progress->last_loss,
                text_perplexity(exp(progress->last_loss)).text, news->best ? "best" : "    ",
                text_duration(progress->seconds).text);
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
    print_warning("%s", text);
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
    terminal_print_safe(stdout, text);
    fputc('\n', stdout);
    fflush(stdout);
}
