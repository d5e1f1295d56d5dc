#include "eval/compare/notes.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Warns of something about a run or a group; takes over the words. */
static void warn_of(const RunGroup *group, char *words)
{
    char *name = terminal_safe_name(group->name, SIZE_MAX, terminal_is_utf8());
    print_warning("%s: %s", name, words);
    free(name);
    free(words);
}

static void note_losses(const RunGroup *one)
{
    const RunData *run = one->runs[0];
    if (arrlenu(run->rows) == 0)
        warn_of(one, text_format("its log is empty: no step has been logged yet"));
    else if (run->validations == 0)
        warn_of(one, text_format("no validation loss yet"));
    double loss;
    const char *diverged = rundata_divergence(run, &loss);
    if (diverged)
        warn_of(one, text_format("diverged: its %s ended as %g", diverged, loss));
}

/* Says why the table lacks a run's test score. */
static void note_scores(const RunGroup *one)
{
    const RunData *run = one->runs[0];
    const RunScore *score = run->scores, *end = score + arrlenu(run->scores);
    while (score < end && (!score_is_plain(score) || strcmp(score->split, "test") != 0))
        score++;
    if (score == end)
        return;
    bool lacks_bytes = run->by_bits && score->bytes == 0;
    if (!lacks_bytes &&
        ((run->test && rundata_score(run, run->test, SCORE_PER_TOKEN)) ||
         (run->test_bits && rundata_score(run, run->test_bits, SCORE_PER_BYTE))))
        return;
    if (score->step != run->best_step)
        warn_of(one,
                text_format("its test score is of step %zu, but its best checkpoint is now "
                            "of step %zu; run eval again",
                            score->step, run->best_step));
    else if (lacks_bytes)
        warn_of(one, text_format("its test score does not say how many bytes the text has; run "
                                 "eval again to compare bits per byte"));
    else
        warn_of(one, text_format("its test score has another text, tokenizer, window or stride "
                                 "than the others"));
}

static void note_steps(const RunGroup *group)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const RunLogRow *rows = group->runs[r]->rows;
        if (isnan(group->runs[r]->best_val_loss))
            continue; /* it is not in the mean */
        size_t step = arrlast(rows).step;
        least = step < least ? step : least;
        most = step > most ? step : most;
    }
    if (least < most)
        warn_of(group, text_format("its runs have reached different steps, from %zu to %zu; "
                                   "their mean best loss mixes these",
                                   least, most));
}

void notes_print(const Comparison *all)
{
    for (size_t r = 0; r < all->count; r++)
        note_losses(&all->each[r]);
    for (size_t r = 0; r < all->count; r++)
        note_scores(&all->each[r]);
    for (size_t g = 0; g < arrlenu(all->groups); g++)
        note_steps(&all->groups[g]);
}
