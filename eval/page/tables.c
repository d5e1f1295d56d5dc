/* The tables of the page: results and settings. */
#include "eval/show/markup.h"
#include "eval/page/report_parts.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <string.h>

/* --- the numbers --- */

/* The columns of the table of results. */
typedef enum Figure {
    FIGURE_PARAMETERS,
    FIGURE_LOSS,
    FIGURE_PERPLEXITY,
    FIGURE_EPOCH,
    FIGURE_TEST,
    FIGURE_TRAIN,
    FIGURE_SPEED,
    FIGURE_TIME,
    FIGURE_MEMORY,
    FIGURES
} Figure;

static const struct {
    const char *title;
    bool lowest_is_best;
} figures[FIGURES] = {
    [FIGURE_PARAMETERS] = {"parameters", false},
    [FIGURE_LOSS] = {"best validation loss", true},
    [FIGURE_PERPLEXITY] = {"perplexity", true},
    [FIGURE_EPOCH] = {"at epoch", false},
    [FIGURE_TEST] = {"test perplexity", true},
    [FIGURE_TRAIN] = {"final training loss", false},
    [FIGURE_SPEED] = {"tokens per second", false},
    [FIGURE_TIME] = {"time", false},
    [FIGURE_MEMORY] = {"memory, MB", false},
};

static double figure_of(const RunData *run, Figure figure, const RunScore *test)
{
    switch (figure) {
    case FIGURE_PARAMETERS:
        return run->parameters > 0 ? (double)run->parameters : NAN;
    case FIGURE_LOSS:
        return run->best_val_loss;
    case FIGURE_PERPLEXITY:
        return exp(run->best_val_loss);
    case FIGURE_EPOCH:
        return run->best_epoch;
    case FIGURE_TEST: {
        const RunScore *score = test ? rundata_score(run, test) : NULL;
        return score ? exp(score_row_loss(score)) : NAN;
    }
    case FIGURE_TRAIN:
        return run->final_train_loss;
    case FIGURE_SPEED:
        return run->tokens_per_second;
    case FIGURE_TIME:
        return run->seconds;
    case FIGURE_MEMORY:
        return run->peak_mb;
    case FIGURES:
        break;
    }
    return NAN;
}

/* With thin, non-breaking spaces between the thousands. */
static void print_thousands(FILE *out, double value)
{
    enum { GROUP = 3 };
    char *digits = text_format("%.0f", value);
    size_t length = strlen(digits);
    for (size_t i = 0; i < length; i++)
        fprintf(out, "%s%c", i > 0 && (length - i) % GROUP == 0 ? "\u202f" : "", digits[i]);
    free(digits);
}

static void print_figure(FILE *out, Figure figure, double value)
{
    const double plain = 1e9; /* larger ones are written with an exponent */
    if (isnan(value))
        fputs("\u2013", out);
    else if (!(fabs(value) < plain) || value < 0)
        fprintf(out, "%.4g", value);
    else if (figure == FIGURE_PARAMETERS || figure == FIGURE_SPEED || figure == FIGURE_MEMORY)
        print_thousands(out, value);
    else if (figure == FIGURE_TIME)
        fputs(text_duration(value).text, out);
    else if (figure == FIGURE_EPOCH)
        fprintf(out, "%.4g", value);
    else
        fprintf(out, "%.*f", figure == FIGURE_LOSS || figure == FIGURE_TRAIN ? 4 : 2, value);
}

/* The figures of all runs, and the lowest of each column among runs that did not diverge. */
typedef struct Numbers {
    double (*figures)[FIGURES];
    double lowest[FIGURES];
    bool known[FIGURES];
} Numbers;

static Numbers numbers_make(const Report *report, const RunScore *test)
{
    Numbers numbers = {.figures = memory_take(report->count, sizeof *numbers.figures,
                                              "the numbers of the page")};
    for (Figure figure = 0; figure < FIGURES; figure++) {
        numbers.lowest[figure] = INFINITY;
        for (size_t r = 0; r < report->count; r++) {
            double value = figure_of(&report->runs[r], figure, test);
            numbers.figures[r][figure] = value;
            numbers.known[figure] |= !isnan(value);
            if (!groups_diverged(&report->runs[r]))
                numbers.lowest[figure] = fmin(numbers.lowest[figure], value);
        }
    }
    return numbers;
}

static void print_numbers_of(FILE *out, const Report *report, const Numbers *numbers, size_t r)
{
    const RunData *run = &report->runs[r];
    fputs("<tr><th scope=\"row\">", out);
    report_print_swatch(out, &report->runs[r]);
    markup_print(out, report->names[r]);
    fputs(groups_diverged(run) ? " (diverged)</th><td>" : "</th><td>", out);
    markup_print(out, run->attn ? run->attn : "\u2013");
    fputs("</td>", out);
    for (Figure figure = 0; figure < FIGURES; figure++) {
        double value = numbers->figures[r][figure];
        if (!numbers->known[figure])
            continue;
        bool best = report->count > 1 && report_corpus_of(report, report->count - 1) == 0 &&
                    !groups_diverged(run) && figures[figure].lowest_is_best &&
                    value <= numbers->lowest[figure];
        fprintf(out, "<td class=\"number%s\">", best ? " best" : "");
        print_figure(out, figure, value);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

void report_print_numbers(FILE *out, const Report *report)
{
    const RunScore *test = rundata_shared_test(report->runs, report->count);
    Numbers numbers = numbers_make(report, test);
    fputs("<section aria-labelledby=\"numbers\"><h2 id=\"numbers\">Numbers</h2>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Numbers\">\n"
          "<table class=\"numbers\"><thead><tr><th scope=\"col\">run</th>"
          "<th scope=\"col\">attention</th>",
          out);
    for (Figure figure = 0; figure < FIGURES; figure++)
        if (numbers.known[figure])
            fprintf(out, "<th scope=\"col\" class=\"number\">%s</th>", figures[figure].title);
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t r = 0; r < report->count; r++)
        print_numbers_of(out, report, &numbers, r);
    fputs("</tbody></table></div>\n", out);
    fputs("<p class=\"aside\">Losses in nats per token; speed: median.", out);
    if (test)
        fprintf(out, " Test: context %zu, stride %zu, %s.", test->window, test->stride,
                test->carried_streams > 0 ? "state carried" : "no state carried");
    fputs("</p></section>\n", out);
    free(numbers.figures);
}

/* --- the settings --- */

/* The names of all settings, in the order of their first appearance. */
static const char **all_settings(const Report *report)
{
    const char **names = NULL;
    struct {
        char *key;
        bool value;
    } *seen = NULL;
    for (size_t r = 0; r < report->count; r++)
        for (size_t i = 0; i < arrlenu(report->runs[r].settings); i++) {
            char *name = report->runs[r].settings[i].name;
            if (shgeti(seen, name) >= 0)
                continue;
            shput(seen, name, true);
            arrput(names, name);
        }
    shfree(seen);
    return names;
}

static bool differs(const Report *report, const char *name)
{
    const char *first = rundata_setting(&report->runs[0], name);
    for (size_t r = 1; r < report->count; r++) {
        const char *value = rundata_setting(&report->runs[r], name);
        if (!first != !value || (first && strcmp(first, value) != 0))
            return true;
    }
    return false;
}

static void print_setting(FILE *out, const Report *report, const char *name)
{
    fprintf(out, "<tr class=\"%s\"><th scope=\"row\">",
            differs(report, name) ? "differs" : "same");
    markup_print(out, name);
    fputs("</th>", out);
    for (size_t r = 0; r < report->count; r++) {
        const char *value = rundata_setting(&report->runs[r], name);
        fputs("<td>", out);
        markup_print(out, value ? value : "\u2013");
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

/* A check box that the style sheet reads, so it works without scripts. */
static void print_switch(FILE *out, const char *const *settings, const Report *report)
{
    size_t different = 0, count = arrlenu(settings);
    for (size_t i = 0; i < count; i++)
        different += differs(report, settings[i]);
    if (report->count < 2)
        return;
    if (different == 0)
        fputs("<p class=\"aside\">The runs have the same settings.</p>\n", out);
    else
        fprintf(out,
                "<input type=\"checkbox\" id=\"only\" checked>\n"
                "<label for=\"only\" class=\"settings-line\">only differences: "
                "%zu of %zu</label>\n",
                different, count);
}

void report_print_settings(FILE *out, const Report *report)
{
    const char **settings = all_settings(report);
    fputs("<section aria-labelledby=\"settings\"><h2 id=\"settings\">Settings</h2>\n", out);
    print_switch(out, settings, report);
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Settings\">\n"
          "<table class=\"settings\"><thead><tr><th scope=\"col\">setting</th>",
          out);
    for (size_t r = 0; r < report->count; r++) {
        fputs("<th scope=\"col\">", out);
        report_print_swatch(out, &report->runs[r]);
        markup_print(out, report->names[r]);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (size_t i = 0; i < arrlenu(settings); i++)
        print_setting(out, report, settings[i]);
    fputs("</tbody></table></div></section>\n", out);
    arrfree(settings);
}
