#include "train/observers/observers.h"
#include "eval/show/terminal.h"
#include "models/exchange/family.h"
#include "src/base/containers.h"
#include "src/math/gemm.h"
#include "src/base/memory.h"
#include "src/ranks/ranks.h"
#include "src/math/team.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW_SECONDS 0.1

void screen_open(Screen *screen, bool quiet)
{
    *screen = (Screen){.quiet = quiet, .live = terminal_can_redraw(STDERR_FILENO), .shown = -1};
}

/* --- the summary of the settings --- */

enum { TITLE = 10 };

/* An option whose value shows elsewhere in the summary, or says nothing about the run. */
static bool is_shown_elsewhere(const Option *option)
{
    static const char *const names[] = {
        "attn",    "layers",       "dim",         "heads", "ffn",         "corpus",
        "context", "epochs",       "steps",       "batch", "pos",         "tokens",
        "shards",  "warmup",       "eval-tokens", "init",  "init-tokens", "distill",
        "convert", "match-epochs", "match-lr",    NULL};
    return !option->stored || text_is_among(option->name, names);
}

/* "name value" of the settings that differ from the defaults; NULL: none. */
static char *changed_settings(const Options *options)
{
    char *text = NULL;
    const Option *option;
    for (size_t i = 0; (option = option_at(options, i)); i++) {
        if (option_has_default(options, option) || is_shown_elsewhere(option))
            continue;
        char *value = option_value(options, option);
        text_append(&text, "%s%s %s", text ? "  " : "", option->name, value);
        free(value);
    }
    return text;
}

/* A titled paragraph, wrapped between items, which two blanks separate; frees the text. */
static void print_paragraph(const char *title, char *text)
{
    size_t width = terminal_width(STDOUT_FILENO);
    char **lines = words_filled(text, width > TITLE ? width - TITLE : 0);
    if (strlen(title) < TITLE)
        printf("%-*s", TITLE, title);
    else
        printf("%s\n%*s", title, TITLE, "");
    for (size_t i = 0; i < arrlenu(lines); i++) {
        if (i > 0)
            printf("\n%*s", TITLE, "");
        terminal_print_safe(stdout, lines[i]);
    }
    putchar('\n');
    text_lines_free(lines);
    free(text);
}

static void print_model(const RunView *run, const Options *options)
{
    const ModelConfig *config = &run->model->config;
    char *attention = config_attention(&run->model->config);
    char *positions = option_value(options, option_find(options, "pos"));
    print_paragraph(
        "Model",
        text_format("%s attention  %zu layer%s of %zu  %zu head%s  MLP %zu  context %zu  "
                    "%s positions  %zu parameters",
                    attention, config->layers, text_plural(config->layers), config->dim,
                    config->heads, text_plural(config->heads), config->ffn, config->context,
                    config->positions == POSITIONS_NONE ? "no" : positions,
                    run->model->table.parameters));
    if (config->positions == POSITIONS_LEARNED && config_head_width(config) % 2 != 0)
        print_paragraph("", text_format("learned positions because RoPE needs heads of an even "
                                        "dimension; these have %zu",
                                        config_head_width(config)));
    free(attention);
    free(positions);
}

static void print_exports(const ModelConfig *config)
{
    Error lacks;
    bool gguf = family_of_llama_cpp(config, &lacks);
    print_paragraph("Export", gguf ? memory_copy_text("Hugging Face and GGUF (llama.cpp)")
                                   : text_format("Hugging Face; GGUF lacks %s", lacks.text));
}

static void print_text(const Corpus *corpus)
{
    print_paragraph(
        "Text", text_format("%s  %zu training tokens  %zu validation  %zu test  vocabulary %zu "
                            "(%s)",
                            corpus->source, corpus->train.count, corpus->valid.count,
                            corpus->test.count, corpus->vocabulary.count,
                            corpus->vocabulary.tokenizer->name));
    if (corpus->valid.unknown || corpus->test.unknown)
        print_paragraph("",
                        text_format("unknown tokens: %.2f %% of validation, %.2f %% of test",
                                    100 * split_unknown_share(&corpus->valid),
                                    100 * split_unknown_share(&corpus->test)));
    if (corpus->line > 0)
        print_paragraph("",
                        text_format("only the answers are scored, %zu of %zu tokens of a "
                                    "line  lowest possible loss 0, accuracy 100 %%",
                                    corpus->valid.labelled * corpus->line / corpus->valid.count,
                                    corpus->line));
    if (corpus->entropy_floor > 0)
        print_paragraph(
            "", text_format("entropy %.4f nats per token, the lowest possible loss (perplexity "
                            "%.2f)",
                            corpus->entropy_floor, exp(corpus->entropy_floor)));
}

/* From where on the run has another length, and what that changes. */
static void print_extension(const RunView *run)
{
    const Extension *extension = run->extension;
    if (!extension->planned)
        return;
    char *text = text_format("%zu to %zu steps  the learning rate follows the schedule of the "
                             "new length from step %zu on: %.3g, was %.3g",
                             extension->from, extension->to, extension->step + 1,
                             extension->lr_to, extension->lr_from);
    if (extension->restarts_average)
        text_append(&text, "  weight averaging starts again after step %.0f",
                    extension->average_from);
    if (extension->finished)
        text_append(&text, "  the finished run is kept as step-%zu.safetensors",
                    extension->step);
    print_paragraph("Extended", text);
}

static void print_plan(const RunView *run, const Options *options)
{
    const TrainOptions *train = &run->settings->train;
    print_paragraph(
        "Training",
        text_format("%zu step%s, %zu per epoch  batches of %zu x %zu tokens  warmup %zu",
                    run->steps, text_plural(run->steps), run->steps_per_epoch, train->batch,
                    run->model->config.context, train->warmup));
    if (run->match_steps > 0)
        print_paragraph("", text_format("attention transfer in the first %zu steps, at "
                                        "learning rate %g  then distillation at %g",
                                        run->match_steps, train->match_lr, train->length.lr));
    if (run->part_tokens > 0)
        print_paragraph("", text_format("validation on a part of the text, %zu of %zu tokens "
                                        "(--eval-tokens)  after the last step on all of it",
                                        run->part_tokens, split_scored(&run->corpus->valid)));
    char *changed = changed_settings(options);
    if (changed)
        print_paragraph("Changed from the defaults", changed);
}

void screen_settings(const Screen *screen, const RunView *run)
{
    if (screen->quiet)
        return;
    const Options options = settings_options(run->settings);
    print_model(run, &options);
    print_exports(&run->model->config);
    print_text(run->corpus);
    if (run->start)
        print_paragraph("Start", memory_copy_text(run->start));
    if (run->history[HISTORY_TEACHER])
        print_paragraph("Teacher", memory_copy_text(run->history[HISTORY_TEACHER]));
    print_plan(run, &options);
    print_extension(run);
    if (ranks_count() > 1)
        print_paragraph("MPI", text_format("%zu ranks  %zu shards", ranks_count(),
                                           run->settings->train.shards));
    print_paragraph("Machine", text_format("%zu thread%s  %s kernels  %.0f MB of memory",
                                           team_size(), text_plural(team_size()),
                                           gemm_kernels(), (double)run->memory / 1e6));
    print_paragraph("Run", text_format("%s  (all settings in its settings.conf)", run->folder));
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

/* The items that fit into the width. */
static char *step_line(const Screen *screen, const RunView *run, size_t width)
{
    enum { BAR = 16, WIDE = 100 };
    char *items = words_of_step(run);
    char **lines = words_filled(items, width);
    char *text = memory_copy_text(text_columns(lines[0]) <= width ? lines[0] : "");
    char *bar = words_bar((double)run->progress->step / (double)run->steps, BAR);
    if (screen->live && width >= WIDE && text_columns(items) + 2 + text_columns(bar) <= width)
        text_append(&text, "  %s", bar);
    text_lines_free(lines);
    free(items);
    free(bar);
    return text;
}

static bool stepped(void *self, const RunView *run, Error *error)
{
    (void)error;
    Screen *screen = self;
    double now = run->progress->seconds;
    bool due = screen->live ? now - screen->shown >= REDRAW_SECONDS : run->logs;
    if (screen->quiet || !due)
        return true;
    char *line = step_line(screen, run,
                           screen->live ? terminal_width(STDERR_FILENO) - 1 : SIZE_MAX);
    fprintf(stderr, screen->live ? "\r%s\033[K" : "%s\n", line);
    if (screen->live) {
        screen->line_open = true;
        screen->shown = now;
    }
    free(line);
    return true;
}

static bool validated(void *self, const RunView *run, Error *error)
{
    (void)error;
    const Progress *progress = run->progress;
    double epoch = view_epochs(run, progress->step);
    char *figures = words_of_validation(run);
    screen_say(self,
               text_format("epoch %.*f  step %zu  %s%s  %s  %s", epoch == floor(epoch) ? 0 : 2,
                           epoch, progress->step, words_of_training_loss(run).text, figures,
                           run->best ? "best" : "    ", text_duration(progress->seconds).text));
    free(figures);
    return true;
}

static bool sampled(void *self, const RunView *run, Error *error)
{
    (void)error;
    char *text = words_indented(run->sample), *end = strrchr(text, '\n');
    if (end)
        *end = '\0'; /* screen_say ends the line */
    screen_say(self, text);
    return true;
}

static bool ended(void *self, const RunView *run, Error *error)
{
    (void)run;
    (void)error;
    clear(self);
    return true;
}

static void warned(void *self, const char *text)
{
    clear(self);
    print_warning("%s", text);
}

const ObserverCalls screen_calls = {.on = {[RUN_STEPPED] = stepped,
                                           [RUN_VALIDATED] = validated,
                                           [RUN_SAMPLED] = sampled,
                                           [RUN_ENDED] = ended},
                                    .warned = warned};

void screen_say(Screen *screen, char *text)
{
    if (!screen->quiet) {
        clear(screen);
        terminal_print_safe(stdout, text);
        fputc('\n', stdout);
        fflush(stdout);
    }
    free(text);
}
