/* Sentences about compared runs. */
#include "eval/runs/sentences.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Wraps a sentence whose lines after the first one are indented by this. */
static void append_wrapped(char **text, const char *sentence, size_t indent, size_t width)
{
    enum { LEAST = 20 };
    char *safe = terminal_safe_name(sentence, SIZE_MAX, terminal_is_utf8());
    text_append_wrapped(text, safe, width > LEAST + indent ? width - indent : LEAST, indent);
    free(safe);
}

void sentences_append(char **text, const char *sentence, const char *indent, size_t width)
{
    text_append(text, "%s", indent);
    append_wrapped(text, sentence, 2 * strlen(indent), width);
}

void sentences_print(char *sentence)
{
    enum { INDENT = 4 };
    char *text = NULL;
    append_wrapped(&text, sentence, INDENT, terminal_width(STDOUT_FILENO));
    fputs(text, stdout);
    free(sentence);
    free(text);
}

static char *seeds_text(const Sample *losses)
{
    return text_format("%.0f seed%s", losses->count, text_plural((size_t)losses->count));
}

/* Why there is no confidence interval, and how large a difference chance explains. */
static void append_reservation(char **text, const RunGroup *control, const RunGroup *other,
                               GroupLoss loss)
{
    const Sample *of_control = &control->losses[loss], *of_other = &other->losses[loss];
    const RunGroup *single = of_other->count < 2 ? other : control;
    double reach = student_reach(control->differences[loss].pool, of_control->count,
                                 of_other->count, GROUP_TAILS);
    if (single->losses[loss].count >= 2) {
        text_append(text, "; all seeds of a group have the same loss: no confidence interval");
        return;
    }
    text_append(text, "; no confidence interval, as %s has one seed", single->name);
    if (reach > 0)
        text_append(text,
                    "; by the pooled standard deviation a difference below %.4f may be "
                    "due to chance",
                    reach);
}

/* One sentence; NULL where a group has no loss yet. The caller frees it. */
static char *difference_text(const RunGroup *control, const RunGroup *other, GroupLoss loss)
{
    const GroupDifference *from = &other->differences[loss];
    if (isnan(from->of.mean) && !group_diverged(other))
        return NULL;
    char *seeds = seeds_text(&other->losses[loss]),
         *text = text_format("%s (%s): ", other->name, seeds);
    free(seeds);
    if (group_diverged(other)) {
        text_append(&text, "diverged");
        return text;
    }
    text_append(&text, "%+.4f (%+.2f %%)", from->of.mean,
                group_per_cent(from, from->of.mean, loss));
    if (isnan(from->of.p))
        append_reservation(&text, control, other, loss);
    else
        text_append(&text, ", 95 %% confidence interval %+.4f to %+.4f, p %.2g (Holm %.2g): %s",
                    from->of.low, from->of.high, from->of.p, from->holm, group_verdict(from));
    return text;
}

/* How the intervals and verdicts of a paragraph came about; NULL if it has none. */
static char *method_text(const GroupDifference *from)
{
    if (from->comparisons == 0)
        return NULL;
    return text_format(
        "Standard deviation over seeds, pooled over all groups: %.4g (%.0f degrees of "
        "freedom). "
        "Intervals cover seeds, not texts. Verdicts: p of Student's t below %g after Holm's "
        "correction for %zu comparison%s.",
        from->pool.deviation, from->pool.freedom, GROUP_TAILS, from->comparisons,
        text_plural(from->comparisons));
}

static bool has_seeds(const RunGroup *groups)
{
    for (size_t g = 0; g < arrlenu(groups); g++)
        if (groups[g].losses[GROUP_BEST].count > 1)
            return true;
    return false;
}

/* A paragraph with a sentence for each of the other groups. Test losses appear from two seeds
 * on, as with one seed the validation losses have the caveat already. */
static void append_paragraph(char **all, const RunGroup *groups, size_t width, GroupLoss loss)
{
    static const char *const openings[] = {
        [GROUP_BEST] = "Best validation loss",
        [GROUP_TEST] = "Test loss",
        [GROUP_BITS] = "Best bits per byte of the validation text",
        [GROUP_TEST_BITS] = "Bits per byte of the test text"};
    const Sample *base = &groups[0].losses[loss];
    const double least = loss == GROUP_TEST || loss == GROUP_TEST_BITS ? 2 : 1;
    char *seeds = seeds_text(base), *lines = NULL;
    char *opening = text_format(
        "%s against %s (%s%s):", openings[loss], groups[0].name, seeds,
        group_diverged(&groups[0]) ? ", diverged: choose another --control" : "");
    for (size_t g = 1; base->count >= least && g < arrlenu(groups); g++) {
        char *text = groups[g].losses[loss].count >= least
                         ? difference_text(&groups[0], &groups[g], loss)
                         : NULL;
        if (text)
            sentences_append(&lines, text, "  ", width);
        free(text);
    }
    char *method = method_text(&groups[0].differences[loss]);
    if (method)
        sentences_append(&lines, method, "  ", width);
    if (lines) {
        sentences_append(all, opening, "", width);
        text_append(all, "%s", lines);
    }
    free(method);
    free(lines);
    free(opening);
    free(seeds);
}

void sentences_differences(char **text, const RunGroup *groups, size_t width)
{
    size_t measured = 0;
    for (size_t g = 0; g < arrlenu(groups); g++)
        measured += groups[g].losses[GROUP_BEST].count > 0;
    if (measured >= 2 && has_seeds(groups))
        append_paragraph(text, groups, width, groups_measure(groups));
    else if (measured >= 2)
        sentences_append(
            text,
            "One seed each: differences may be due to chance. Confidence intervals need two "
            "seeds per model or more.",
            "", width);
    append_paragraph(text, groups, width, groups_test_of(groups_measure(groups)));
}

/* p of the differences between every two of `count` ranked groups, by Holm's correction for all
 * pairs, since the losses that are tested chose the ranking. That of places i < j is at
 * [j (j - 1) / 2 + i]; NaN: a group has one seed. The caller's. */
static double *pair_tails(const RunGroup *groups, const size_t *order, size_t count,
                          GroupLoss measure)
{
    const Pool pool = groups[0].differences[measure].pool;
    const size_t pairs = count * (count - 1) / 2;
    double *p = memory_new(pairs, sizeof *p, "the ranking");
    for (size_t j = 1, at = 0; j < count; j++)
        for (size_t i = 0; i < j; i++, at++)
            p[at] = student_difference(groups[order[i]].losses[measure],
                                       groups[order[j]].losses[measure], pool, GROUP_TAILS)
                        .p;
    student_holm(p, pairs);
    return p;
}

/* Appends how far the second best group is behind the best. */
static void append_lead(char **text, const RunGroup *best, const RunGroup *second,
                        GroupLoss measure, double p)
{
    const Difference of = student_difference(best->losses[measure], second->losses[measure],
                                             best->differences[measure].pool, GROUP_TAILS);
    text_append(text, ", %.4f below %s", of.mean, second->name);
    const bool one = best->losses[GROUP_BEST].count <= 1,
               other = second->losses[GROUP_BEST].count <= 1;
    if (isnan(of.low) && one != other)
        text_append(
            text,
            ". %s has one seed, which gives no confidence interval, so the difference may "
            "be due to chance.",
            one ? best->name : second->name);
    else if (isnan(of.low))
        text_append(text, ". %s, so the difference may be due to chance.",
                    one ? "One seed per model gives no confidence interval"
                        : "All seeds of a model have the same loss");
    else
        text_append(text, " (95 %% confidence interval %.4f to %.4f%s).", of.low, of.high,
                    p < GROUP_TAILS ? ""
                    : of.low > 0    ? ", but not told apart after Holm's correction"
                                    : ", so not told apart");
}

/* Appends the other ranked groups in their order, each with how surely it is behind the best.
 */
static void append_ranking(char **text, const RunGroup *groups, const size_t *order,
                           size_t count, const double *p)
{
    enum { MOST_NAMES = 7 };
    size_t compared = 0, worse = 0;
    text_append(text, " Behind %s, in this order: ", groups[order[0]].name);
    for (size_t j = 1; j < count; j++) {
        const double tails = p[j * (j - 1) / 2];
        if (j <= MOST_NAMES)
            text_append(text, "%s%s%s", j > 1 ? ", " : "", groups[order[j]].name,
                        isnan(tails)          ? ""
                        : tails < GROUP_TAILS ? " (worse)"
                                              : " (not told apart)");
        else
            worse += tails < GROUP_TAILS ? 1 : 0;
    }
    for (size_t i = 0; i < count * (count - 1) / 2; i++)
        compared += isnan(p[i]) ? 0 : 1;
    if (count > 1 + MOST_NAMES)
        text_append(text, compared ? " and %zu more (%zu worse)" : " and %zu more",
                    count - 1 - MOST_NAMES, worse);
    text_append(text, ".");
    if (compared > 0)
        text_append(text,
                    " Worse: p of Student's t is below %g after Holm's correction for %zu "
                    "pair%s.",
                    GROUP_TAILS, compared, text_plural(compared));
}

char *sentences_verdict(const RunGroup *groups)
{
    const GroupLoss measure = groups_measure(groups);
    size_t *order = groups_rank(groups), count = 0;
    char *text = NULL;
    while (count < arrlenu(order) && !group_diverged(&groups[order[count]]) &&
           !isnan(groups[order[count]].losses[measure].mean))
        count++;
    const RunGroup *best = &groups[order[0]];
    if (count > 0 && measure == GROUP_BITS) {
        double unknown = best->runs[0]->unknown;
        text_append(&text, "%s has the fewest bits per byte of the validation text",
                    best->name);
        if (unknown > 0)
            text_append(&text,
                        " (with %.1f %% of its tokens unknown, which makes them look fewer)",
                        100 * unknown);
        text_append(&text, ": %.4f", best->losses[GROUP_BITS].mean);
    } else if (count > 0) {
        double loss = best->losses[GROUP_BEST].mean;
        text_append(&text, "%s has the lowest validation loss: %.4f (perplexity %s)",
                    best->name, loss, text_perplexity(exp(loss)).text);
    }
    if (count > 1) {
        double *p = pair_tails(groups, order, count, measure);
        append_lead(&text, best, &groups[order[1]], measure, p[0]);
        if (count > 2)
            append_ranking(&text, groups, order, count, p);
        free(p);
    } else if (count > 0) {
        text_append(&text, ".");
    }
    for (size_t g = 0; g < arrlenu(groups); g++)
        if (group_diverged(&groups[g]))
            text_append(&text, "%s%s diverged.", text ? " " : "", groups[g].name);
    arrfree(order);
    return text;
}

/* --- what the numbers mean --- */

/* The groups of runs with unknown tokens in the validation text: "word (4.8 %), small (12 %)".
 */
static char *unknown_text(const RunGroup *groups)
{
    char *text = NULL;
    for (size_t g = 0; g < arrlenu(groups); g++) {
        double share = groups[g].runs[0]->unknown;
        if (share > 0)
            text_append(&text, "%s%s (%.2g %%)", text ? ", " : "", groups[g].name, 100 * share);
    }
    return text;
}

char *sentences_bits(const RunGroup *groups)
{
    if (groups_measure(groups) != GROUP_BITS)
        return NULL;
    char *text = text_format(
        "The tokenizers differ: compared in bits per byte of the validation text, since losses "
        "and perplexities per token do not compare.");
    char *unknown = unknown_text(groups);
    if (unknown)
        text_append(&text,
                    " An unknown word is scored as one <unk>, with all its bytes, so bits per "
                    "byte look lower than they are where tokens are unknown: %s.",
                    unknown);
    free(unknown);
    return text;
}

char *sentences_part(const RunGroup *groups)
{
    const RunData *part = NULL;
    bool equal = true;
    for (size_t g = 0; g < arrlenu(groups); g++)
        for (size_t r = 0; r < arrlenu(groups[g].runs); r++) {
            const RunData *run = groups[g].runs[r];
            if (!run->best_is_part)
                continue;
            equal &= !part || part->part_tokens == run->part_tokens;
            part = run;
        }
    if (!part)
        return NULL;
    if (!equal)
        return text_format("~: on a part of the validation text, whose size differs between "
                           "the runs (--eval-tokens); compare these losses with care.");
    return text_format(
        "~: on a part of the validation text, %zu of %zu tokens (--eval-tokens).",
        part->part_tokens, part->valid_tokens);
}

char *sentences_test(const RunData *run)
{
    char *text = run->test ? score_protocol_text(run->test, SCORE_PER_TOKEN) : NULL;
    if (run->test_bits) {
        char *bits = score_protocol_text(run->test_bits, SCORE_PER_BYTE);
        text_append(&text, "%s%s", text ? " " : "", bits);
        free(bits);
    }
    return text;
}

/* --- where runs come from --- */

static void append_setting(char **text, const RunGroup *group, const char *key,
                           const char *what)
{
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const char *value = rundata_setting(group->runs[r], key);
        if (value && !groups_is_of_chain(group->runs[r], key))
            text_append(text, "%s%s %s %s.", *text ? " " : "", group->runs[r]->name, what,
                        value);
    }
}

static void append_matching(char **text, const RunGroup *group)
{
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const RunLogRow *last = rundata_last_match(group->runs[r]);
        if (last)
            text_append(text, "%s%s: attention transfer up to step %zu, epoch %.4g.",
                        *text ? " " : "", group->runs[r]->name, last->step, last->epoch);
    }
}

char *sentences_history(const RunGroup *groups)
{
    char *text = NULL;
    for (size_t g = 0; g < arrlenu(groups); g++) {
        append_setting(&text, &groups[g], RUN_ORIGIN, "started from");
        append_setting(&text, &groups[g], RUN_TEACHER, "was distilled from");
        append_matching(&text, &groups[g]);
        append_setting(&text, &groups[g], RUN_EXTENDED, "was extended after");
    }
    return text;
}
