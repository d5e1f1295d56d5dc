#include "eval/runs/notes.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Says why the table lacks a run's test score. */
static void print_score_notes(const RunData *runs, size_t count, char *const *names)
{
    const RunScore *shown = rundata_shared_test(runs, count);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < arrlenu(runs[r].scores); i++) {
            const RunScore *score = &runs[r].scores[i];
            if (!score_is_plain(score) || strcmp(score->split, "test") != 0 ||
                (shown && rundata_score(&runs[r], shown)))
                continue;
            if (score->step != runs[r].best_step)
                print_warning(
                    "%s: its test score is of step %zu, but its best checkpoint is now of step "
                    "%zu; run eval again",
                    names[r], score->step, runs[r].best_step);
            else
                print_warning(
                    "%s: its test score has another text, window or stride than the others",
                    names[r]);
            break;
        }
}

void compare_print_notes(const RunData *runs, size_t count, char *const *names)
{
    for (size_t r = 0; r < count; r++) {
        if (arrlenu(runs[r].rows) == 0)
            print_warning("%s: its log is empty: no step has been logged yet", names[r]);
        else if (runs[r].validations == 0)
            print_warning("%s: no validation loss yet; the chart shows its training loss",
                          names[r]);
        if (arrlenu(runs[r].rows) > 0 && !isfinite(runs[r].final_train_loss))
            print_warning("%s: diverged: its training loss ended as %g", names[r],
                          runs[r].final_train_loss);
    }
    print_score_notes(runs, count, names);
}

static size_t last_step(const RunData *run)
{
    return arrlenu(run->rows) > 0 ? arrlast(run->rows).step : 0;
}

void compare_print_group_notes(const RunGroup *groups, char *const *names)
{
    for (size_t g = 0; g < arrlenu(groups); g++) {
        size_t least = SIZE_MAX, most = 0;
        for (size_t r = 0; r < arrlenu(groups[g].runs); r++) {
            size_t step = last_step(groups[g].runs[r]);
            least = step < least ? step : least;
            most = step > most ? step : most;
        }
        if (least < most)
            print_warning(
                "%s: its runs have reached different steps, from %zu to %zu; their mean best "
                "loss mixes these",
                names[g], least, most);
    }
}

void compare_append_sentence(char **text, const char *sentence, const char *indent,
                             size_t width)
{
    enum { LEAST = 20 };
    size_t most_indent = 2 * strlen(indent);
    text_append(text, "%s", indent);
    text_append_wrapped(text, sentence,
                        width > LEAST + most_indent ? width - most_indent : LEAST, most_indent);
}

void compare_append_protocol(char **text, const RunScore *test, size_t width)
{
    if (!test)
        return;
    char *sentence = text_format("Test perplexity: %zu tokens, window %zu, stride %zu",
                                 test->tokens, test->window, test->stride);
    if (test->carried_streams > 0)
        text_append(&sentence, ", state carried through %zu stream%s", test->carried_streams,
                    test->carried_streams == 1 ? "" : "s");
    text_append(&sentence, ".");
    compare_append_sentence(text, sentence, "", width);
    free(sentence);
}
