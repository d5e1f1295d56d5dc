#include "eval/compare/differences.h"
#include "eval/compare/notes.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>

static char *seeds_text(const Sample *losses)
{
    return text_format("%.0f seed%s", losses->count, losses->count == 1 ? "" : "s");
}

static const char *verdict(Interval interval)
{
    return interval.low > 0    ? "worse"
           : interval.high < 0 ? "better"
                               : "indistinguishable at this number of seeds";
}

/* Without an interval: what can still be said. */
static void append_reservation(char **text, const Sample *base, const Sample *other)
{
    const Sample *known = base->count > 1 ? base : other;
    double reach = student_next_value(*known, GROUP_TAILS);
    if (base->count > 1 && other->count > 1)
        text_append(text, "; no two seeds of either differ, so there is no interval");
    else if (isnan(reach))
        text_append(text, "; with one seed each nothing says how much of it is chance");
    else
        text_append(text,
                    "; one seed against %.0f: if the seeds of both spread alike, less than "
                    "%.4f may be chance",
                    known->count, reach);
}

/* One sentence; NULL where a group has no loss yet. The caller frees it. */
static char *difference_text(const RunGroup *base, const RunGroup *other, const char *name,
                             GroupLoss loss)
{
    GroupDifference of = groups_difference(base, other, loss);
    if (isnan(of.difference))
        return NULL;
    const Sample *of_base = group_losses(base, loss), *of_other = group_losses(other, loss);
    char *seeds = seeds_text(of_other), *text = text_format("%s (%s): ", name, seeds);
    free(seeds);
    if (!of.comparable) {
        text_append(&text, "another text or other tokens, so the losses do not compare");
        return text;
    }
    text_append(&text, "%+.4f", of.difference);
    if (isnan(of.interval.low))
        append_reservation(&text, of_base, of_other);
    else
        text_append(&text, ", 95 %% interval from %+.4f to %+.4f: %s", of.interval.low,
                    of.interval.high, verdict(of.interval));
    return text;
}

static bool has_seeds(const RunGroup *groups)
{
    for (size_t g = 0; g < arrlenu(groups); g++)
        if (groups[g].best.count > 1)
            return true;
    return false;
}

/* A paragraph with a sentence for each of the other groups. Of test losses it takes two seeds
 * to be mentioned: what one seed cannot say the validation losses have said already. */
static void append_paragraph(char **all, const RunGroup *groups, char *const *names,
                             size_t width, GroupLoss loss)
{
    static const char *const openings[] = {
        [GROUP_BEST] = "Best validation loss", [GROUP_TEST] = "Test loss"};
    const Sample *base = group_losses(&groups[0], loss);
    const double least = loss == GROUP_TEST ? 2 : 1;
    char *seeds = seeds_text(base), *lines = NULL;
    char *opening = text_format("%s against %s (%s):", openings[loss], names[0], seeds);
    for (size_t g = 1; base->count >= least && g < arrlenu(groups); g++) {
        char *text = group_losses(&groups[g], loss)->count >= least
                         ? difference_text(&groups[0], &groups[g], names[g], loss)
                         : NULL;
        if (text)
            compare_append_sentence(&lines, text, "  ", width);
        free(text);
    }
    if (lines) {
        compare_append_sentence(all, opening, "", width);
        text_append(all, "%s", lines);
    }
    free(lines);
    free(opening);
    free(seeds);
}

void differences_append(char **text, const RunGroup *groups, char *const *names, size_t width)
{
    size_t measured = 0;
    for (size_t g = 0; g < arrlenu(groups); g++)
        measured += groups[g].best.count > 0;
    if (measured >= 2 && has_seeds(groups))
        append_paragraph(text, groups, names, width, GROUP_BEST);
    else if (measured >= 2)
        compare_append_sentence(
            text,
            "One seed each: nothing here says how much of a difference is chance. Runs that "
            "differ by --seed alone are taken together.",
            "", width);
    append_paragraph(text, groups, names, width, GROUP_TEST);
}

void differences_print_json(FILE *stream, const RunGroup *groups)
{
    char *text = memory_copy_text("[");
    for (size_t g = 1; g < arrlenu(groups); g++) {
        GroupDifference of = groups_difference(&groups[0], &groups[g], GROUP_BEST);
        GroupDifference test = groups_difference(&groups[0], &groups[g], GROUP_TEST);
        const struct {
            const char *key;
            double value;
        } numbers[] = {{"difference", of.difference},
                       {"low", of.interval.low},
                       {"high", of.interval.high},
                       {"confidence", 1 - GROUP_TAILS},
                       {"degrees_of_freedom", of.interval.freedom},
                       {"test_difference", test.difference},
                       {"test_low", test.interval.low},
                       {"test_high", test.interval.high}};
        text_append(&text, "%s\n{\"base\": 0, \"other\": %zu, \"comparable\": %s",
                    g > 1 ? "," : "", g, of.comparable ? "true" : "false");
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            text_append_json_figure(&text, numbers[i].key, numbers[i].value);
        text_append(&text, "}");
    }
    fprintf(stream, "%s]", text);
    free(text);
}
