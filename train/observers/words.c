#include "src/base/containers.h"
#include "src/base/text.h"
#include "train/observers/observers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool distils(const RunView *run)
{
    return run->settings->train.distill;
}

char *words_of_grid(const RunView *run)
{
    if (!run->grid)
        return memory_copy_text("");
    return text_format("grid: run %zu of %zu, %s left  ", run->grid->index, run->grid->count,
                       text_duration(view_grid_left(run)).text);
}

char *words_of_step(const RunView *run)
{
    const Progress *progress = run->progress;
    double epochs = view_epochs(run, run->steps);
    char *text = words_of_grid(run);
    text_append(&text, "epoch %.2f/%.*f  ", view_epochs(run, progress->step),
                epochs == floor(epochs) ? 0 : 2, epochs);
    if (view_matches(run))
        text_append(&text, "matching attention outputs, mean square error %.3g",
                    run->smoothed_loss);
    else
        text_append(&text, "%sloss %.4f", distils(run) ? "distilling, " : "",
                    run->smoothed_loss);
    text_append(&text, "  %.1fk tokens/s  %s left  step %zu/%zu  lr %.2e  grad norm %.2f",
                run->tokens_per_second / 1000, text_duration(run->seconds_left).text,
                progress->step, run->steps, run->last.lr, run->last.gradient_norm);
    return text;
}

ShortText words_of_training_loss(const RunView *run)
{
    ShortText text = {""};
    if (run->progress->step > 0)
        snprintf(text.text, sizeof text.text,
                 view_matches(run) ? "matching %.3g  " : "train %.4f  ", run->train_loss);
    return text;
}

ShortText words_of_accuracy(const RunView *run)
{
    ShortText text = {""};
    if (run->corpus->valid.labels.data)
        snprintf(text.text, sizeof text.text, "  accuracy %.2f %%",
                 100 * run->progress->last.accuracy);
    return text;
}

char *words_of_validation(const RunView *run)
{
    const Progress *progress = run->progress;
    const CorpusSplit *valid = &run->corpus->valid;
    if (valid->labels.data)
        return text_format("validation%s %.4f%s", view_part(run), progress->last.loss,
                           words_of_accuracy(run).text);
    return text_format("validation%s %.4f  perplexity %s  bits/byte %.4f", view_part(run),
                       progress->last.loss, text_perplexity(exp(progress->last.loss)).text,
                       split_bits_per_byte(valid, progress->last.loss));
}

char **words_filled(const char *text, size_t width)
{
    char **lines = NULL;
    while (*text) {
        const char *end = strstr(text, "  ");
        int length = (int)(end ? (size_t)(end - text) : strlen(text));
        char *item = text_format("%.*s", length, text);
        if (lines && text_columns(arrlast(lines)) + 2 + text_columns(item) <= width) {
            text_append(&arrlast(lines), "  %s", item);
            free(item);
        } else {
            arrput(lines, item);
        }
        text = end ? end + 2 : "";
    }
    return lines;
}

char *words_indented(const char *text)
{
    char *indented = memory_copy_text("");
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        text_append(&indented, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return indented;
}

char *words_bar(double share, size_t columns)
{
    size_t full = (size_t)(share * (double)columns);
    char *text = text_format("[");
    for (size_t i = 0; i < columns; i++)
        text_append(&text, i < full ? "=" : i == full ? ">" : " ");
    text_append(&text, "] ");
    return text;
}
