#include "eval/compare/notes.h"
#include "src/containers.h"

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

void notes_print_on_runs(const RunData *runs, size_t count, char *const *names)
{
    for (size_t r = 0; r < count; r++) {
        if (arrlenu(runs[r].rows) == 0)
            print_warning("%s: its log is empty: no step has been logged yet", names[r]);
        else if (runs[r].validations == 0)
            print_warning("%s: no validation loss yet; the chart shows its training loss",
                          names[r]);
        if (rundata_diverged(&runs[r]))
            print_warning("%s: diverged: its training loss ended as %g", names[r],
                          runs[r].final_train_loss);
    }
    print_score_notes(runs, count, names);
}

static size_t last_step(const RunData *run)
{
    return arrlenu(run->rows) > 0 ? arrlast(run->rows).step : 0;
}

void notes_print_on_groups(const RunGroup *groups, char *const *names)
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
