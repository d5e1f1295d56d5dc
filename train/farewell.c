#include "train/farewell.h"
#include "src/base/text.h"
#include "train/loop/signals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* " --threads 4", for a flag " --recompute" or " --no-recompute". */
static void append_option(char **command, const OptionGroup *group, const Option *option)
{
    char *value = option_value(group, option);
    bool taken = option_takes_value(option), off = !taken && strcmp(value, "no") == 0;
    text_append(command, " --%s%s%s", off ? "no-" : "", option->name, taken ? " " : "");
    if (taken)
        text_append_shell_word(command, value);
    free(value);
}

/* The command that continues the run as this session went; the caller frees. */
static char *resume_command(const RunFolder *folder, const Settings *settings)
{
    OptionGroup groups[GROUP_COUNT];
    char *command = NULL;
    text_append_shell_word(&command, program_command);
    text_append(&command, " --resume ");
    text_append_shell_word(&command, folder->path);
    settings_groups(settings, groups);
    for (size_t g = 0; g < GROUP_COUNT; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            if (!option->stored && !option->once && !option_has_default(&groups[g], option))
                append_option(&command, &groups[g], option);
        }
    return command;
}

/* A model that predicts worse than the uniform distribution has diverged, unless it began so
 * and has become better, as one of --init on another text may. */
static void warn_if_diverged(const RunView *run)
{
    const double margin = 0.5; /* untrained weights are a little worse too */
    const Progress *progress = run->progress;
    double uniform = log((double)run->model->config.vocabulary);
    double most = fmax(uniform, run->settings->train.init ? progress->best.loss : 0) + margin;
    if (progress->last.step > 0 && !(progress->last.loss < most))
        print_warning(
            "the run diverged: its last validation loss is %.4g, and equal probabilities for "
            "all tokens give %.4f; try a lower --lr, a longer --warmup or %s",
            progress->last.loss, uniform,
            run->settings->train.clip > 0 ? "a lower --clip" : "--clip 1");
}

/* "4.5296 (perplexity 92.72, 1.2057 bits per byte)", in a synthetic task "0.0121 (accuracy
 * 99.80 %)"; the caller frees. */
static char *loss_figures(const RunView *run, double loss, double accuracy)
{
    if (run->corpus->line > 0)
        return text_format("%.4f (accuracy %.2f %%)", loss, 100 * accuracy);
    return text_format("%.4f (perplexity %s, %.4f bits per byte)", loss,
                       text_perplexity(exp(loss)).text,
                       split_bits_per_byte(&run->corpus->valid, loss));
}

/* The best loss. If validations read a part of the text, the whole of it was read once, with
 * the last weights: that loss stands for the best one if the last weights are the best. */
static void say_best(const RunView *run, const RunFolder *folder, Screen *screen)
{
    const Progress *progress = run->progress;
    char *figures = loss_figures(run, progress->best.loss, progress->best.accuracy),
         *of_end = loss_figures(run, progress->final.loss, progress->final.accuracy);
    char *what = run->part_tokens > 0
                     ? text_format(" on a part of the text (%zu of %zu tokens):",
                                   run->part_tokens, split_scored(&run->corpus->valid))
                     : memory_copy_text("");
    screen_say(screen, text_format("Best validation loss%s %s after step %zu: %s", what,
                                   figures, progress->best.step, folder->best));
    if (progress->final.loss > 0)
        screen_say(
            screen,
            text_format("Validation loss on the whole text: %s after the last step%s", of_end,
                        progress->best.step == progress->step ? ", the same model" : ""));
    free(what);
    free(figures);
    free(of_end);
}

int farewell(LoopEnd end, const RunView *run, const RunFolder *folder, Screen *screen,
             const Error *error)
{
    const Progress *progress = run->progress;
    char *command = resume_command(folder, run->settings);
    if (end == LOOP_FAILED) {
        print_warning("%s", error->text);
        char *good = folder_newest_checkpoint(folder->path);
        if (good)
            print_warning("%s is intact; to continue from it: %s", good, command);
        free(good);
    }
    if (progress->skipped > 0)
        print_warning("%zu step%s skipped in this run: loss or gradient were not finite",
                      progress->skipped, progress->skipped == 1 ? " was" : "s were");
    if (end == LOOP_PATIENCE)
        screen_say(screen,
                   text_format("Early stopping: no better validation loss in %zu validation%s.",
                               progress->stale, text_plural(progress->stale)));
    if (end != LOOP_FAILED && isfinite(progress->best.loss))
        say_best(run, folder, screen);
    warn_if_diverged(run);
    if (end == LOOP_STOPPED || end == LOOP_SIGNAL)
        screen_say(screen, text_format("To continue: %s", command));
    free(command);
    return end == LOOP_FAILED ? 1 : end == LOOP_SIGNAL ? 128 + signals_caught() : 0;
}
