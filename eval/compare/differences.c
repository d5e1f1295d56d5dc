#include "eval/compare/differences.h"
#include "eval/compare/notes.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>

#define TAILS 0.05 /* of the intervals: 95 % */

static char *seeds_text(const RunGroup *group)
{
    return text_format("%.0f seed%s", group->best.count, group->best.count == 1 ? "" : "s");
}

static const char *verdict(Interval interval)
{
    return interval.low > 0    ? "worse"
           : interval.high < 0 ? "better"
                               : "indistinguishable at this number of seeds";
}

/* Without an interval: what can still be said. */
static void append_reservation(char **text, const RunGroup *base, const RunGroup *other)
{
    const Sample known = base->best.count > 1 ? base->best : other->best;
    double reach = student_next_value(known, TAILS);
    if (base->best.count > 1 && other->best.count > 1)
        text_append(text, "; no two seeds of either differ, so there is no interval");
    else if (isnan(reach))
        text_append(text, "; with one seed each nothing says how much of it is chance");
    else
        text_append(text,
                    "; one seed against %.0f: if the seeds of both spread alike, less than "
                    "%.4f may be chance",
                    known.count, reach);
}

/* One sentence; NULL where a group has no loss yet. The caller frees it. */
static char *difference_text(const RunGroup *base, const RunGroup *other, const char *name)
{
    GroupDifference of = groups_difference(base, other);
    if (isnan(of.difference))
        return NULL;
    char *seeds = seeds_text(other), *text = text_format("%s (%s): ", name, seeds);
    free(seeds);
    if (!of.comparable) {
        text_append(&text, "another text or other tokens, so the losses do not compare");
        return text;
    }
    text_append(&text, "%+.4f", of.difference);
    if (isnan(of.interval.low))
        append_reservation(&text, base, other);
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

static void append_sentences(char **all, const RunGroup *groups, char *const *names,
                             size_t width)
{
    char *seeds = seeds_text(&groups[0]);
    char *opening = text_format("Best validation loss against %s (%s):", names[0], seeds);
    compare_append_sentence(all, opening, "", width);
    free(opening);
    free(seeds);
    for (size_t g = 1; g < arrlenu(groups); g++) {
        char *text = difference_text(&groups[0], &groups[g], names[g]);
        if (text)
            compare_append_sentence(all, text, "  ", width);
        free(text);
    }
}

void differences_append(char **text, const RunGroup *groups, char *const *names, size_t width)
{
    size_t measured = 0;
    for (size_t g = 0; g < arrlenu(groups); g++)
        measured += groups[g].best.count > 0;
    if (measured >= 2 && has_seeds(groups))
        append_sentences(text, groups, names, width);
    else if (measured >= 2)
        compare_append_sentence(
            text,
            "One seed each: nothing here says how much of a difference is chance. Runs that "
            "differ by --seed alone are taken together.",
            "", width);
}

void differences_print_json(FILE *stream, const RunGroup *groups)
{
    char *text = memory_copy_text("[");
    for (size_t g = 1; g < arrlenu(groups); g++) {
        GroupDifference of = groups_difference(&groups[0], &groups[g]);
        const struct {
            const char *key;
            double value;
        } numbers[] = {{"difference", of.difference},
                       {"low", of.interval.low},
                       {"high", of.interval.high},
                       {"confidence", 1 - TAILS},
                       {"degrees_of_freedom", of.interval.freedom}};
        text_append(&text, "%s\n{\"base\": 0, \"other\": %zu, \"comparable\": %s",
                    g > 1 ? "," : "", g, of.comparable ? "true" : "false");
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            text_append(&text, ", \"%s\": ", numbers[i].key);
            text_append_json_number(&text, numbers[i].value);
        }
        text_append(&text, "}");
    }
    fprintf(stream, "%s]", text);
    free(text);
}
