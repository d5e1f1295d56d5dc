#include "eval/compare/compare.h"
#include "eval/compare/page/report.h"
#include "eval/runs/differences.h"
#include "eval/runs/results.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The entropy of the corpus if all runs have the same, else NaN. */
static double shared_entropy(const RunGroup *groups)
{
    double entropy = groups[0].runs[0]->entropy_floor;
    for (size_t g = 0; g < arrlenu(groups); g++)
        for (size_t r = 0; r < arrlenu(groups[g].runs); r++)
            if (groups[g].runs[r]->entropy_floor != entropy)
                return NAN;
    return entropy;
}

/* Reads the list of --reach, before anything else is done. */
static ResultsReach *read_reach(const char *list)
{
    ResultsReach *reach = NULL;
    char *copy = memory_copy_text(list ? list : ""), *rest = copy;
    for (char *word; list && (word = strsep(&rest, ","));) {
        ResultsReach one;
        int length = snprintf(one.title, sizeof one.title, "to %s", word);
        if (!text_to_double(word, &one.loss) || (size_t)length >= sizeof one.title)
            die_usage("--reach: '%.40s' is not a number; give losses, such as 5.0,4.9", word);
        arrput(reach, one);
    }
    free(copy);
    return reach;
}

static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* The rows of the terminal that these lines of text leave to the chart, within reason. */
static size_t chart_height(const CompareSettings *settings, size_t lines)
{
    enum { LEAST = 12, MOST = 40, AROUND = 3 }; /* titles, gap, the prompt */
    if (settings->height > 0)
        return settings->height;
    size_t height = terminal_height(STDOUT_FILENO);
    height = height > lines + AROUND + LEAST ? height - lines - AROUND : LEAST;
    return height < MOST ? height : MOST;
}

/* The runs of one corpus. */
typedef struct Section {
    const RunGroup *groups; /* of this corpus */
    const ResultsReach *reach;
    char *heading;  /* not made safe; NULL: there is only one corpus */
    double entropy; /* of the corpus that all groups share, else NaN */
    bool first;
} Section;

typedef void (*ShowSection)(const Section *section, const CompareSettings *settings);

/* Calls show for each corpus in turn. */
static void for_each_corpus(const Comparison *all, const ResultsReach *reach, ShowSection show,
                            const CompareSettings *settings)
{
    size_t next = 0;
    while (next < arrlenu(all->groups)) {
        RunGroup *groups = groups_section(all->groups, next);
        Section section = {.groups = groups,
                           .reach = reach,
                           .entropy = shared_entropy(groups),
                           .first = next == 0};
        if (arrlenu(groups) < arrlenu(all->groups))
            section.heading = groups_scale_name(groups[0].runs[0], all->runs, all->count);
        show(&section, settings);
        next += arrlenu(groups);
        arrfree(groups);
        free(section.heading);
    }
}

static void print_chart(const Section *section, const CompareSettings *settings, size_t width,
                        size_t lines)
{
    Chart chart = runchart_make(section->groups, section->entropy, &settings->axes);
    chart.columns = width < COMPARE_SIZE_MOST ? width : COMPARE_SIZE_MOST;
    chart.rows = chart_height(settings, lines);
    chart.utf8 = terminal_is_utf8();
    chart.colour = settings->color == COLOUR_ALWAYS ||
                   (settings->color == COLOUR_AUTO && terminal_has_colour(STDOUT_FILENO));
    char *text = memory_copy_text("\n");
    if (chart.series)
        chart_append(&text, &chart);
    fputs(text, stdout);
    free(text);
    chart_free(&chart);
}

/* The most seeds that a group has. */
static size_t most_seeds(const RunGroup *groups)
{
    size_t most = 0;
    for (size_t g = 0; g < arrlenu(groups); g++)
        most = arrlenu(groups[g].runs) > most ? arrlenu(groups[g].runs) : most;
    return most;
}

/* What the numbers mean, wrapped at the width; the caller frees it. */
static char *meaning(const Section *section, size_t width)
{
    char *text = memory_copy_text("");
    char *const sentences[] = {
        results_part_text(section->groups), results_bits_text(section->groups),
        results_history_text(section->groups), groups_test_text(section->groups[0].runs[0])};
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (sentences[i])
            differences_append_sentence(&text, sentences[i], "", width);
        free(sentences[i]);
    }
    differences_append(&text, section->groups, width);
    if (!isnan(section->entropy)) {
        char *floor = text_format(
            "Entropy of the corpus, a lower bound of the loss: %.6g nats per token.",
            section->entropy);
        differences_append_sentence(&text, floor, "", width);
        free(floor);
    }
    return text;
}

/* A chart that was asked for is drawn all the same. */
static void warn_of_axis(const Section *section, const CompareSettings *settings)
{
    if (runchart_mixes_tokens(section->groups, &settings->axes))
        print_warning("the chart shows losses per token of different tokenizers, which do not "
                      "compare; take --y bits-per-byte");
}

/* For people: the table, the chart, and what it all means. */
static void print_section(const Section *section, const CompareSettings *settings)
{
    size_t width = settings->width > 0 ? settings->width : terminal_width(STDOUT_FILENO);
    char *sentences = meaning(section, width);
    fputs(section->first ? "" : "\n", stdout);
    if (section->heading) {
        char *safe = terminal_safe_name(section->heading, SIZE_MAX, terminal_is_utf8());
        puts(safe);
        free(safe);
    }
    Table table = results_for_terminal(section->groups, section->reach);
    table_print(stdout, &table, TABLE_TERMINAL, width);
    table_free(&table);
    print_chart(section, settings, width, arrlenu(section->groups) + lines_of(sentences));
    fputs(sentences, stdout);
    free(sentences);
}

/* A sentence below a Markdown table, if there is one; frees it. */
static void print_below(char *sentence)
{
    if (sentence)
        printf("\n%s\n", sentence);
    free(sentence);
}

/* The same for one that holds names. */
static void print_below_escaped(char *sentence)
{
    char *escaped = NULL;
    if (sentence)
        table_append_markdown(&escaped, sentence);
    print_below(escaped);
    free(sentence);
}

static void print_markdown(const Section *section, const CompareSettings *settings)
{
    (void)settings;
    fputs(section->first ? "" : "\n", stdout);
    if (section->heading) {
        char *escaped = NULL;
        table_append_markdown(&escaped, section->heading);
        printf("### %s\n\n", escaped);
        free(escaped);
    }
    Table table = results_for_markdown(section->groups);
    table_print(stdout, &table, TABLE_MARKDOWN, 0);
    table_free(&table);
    if (most_seeds(section->groups) > 1)
        puts("\n± and brackets: 95 % confidence intervals of the mean over seeds and of the "
             "difference.");
    print_below(results_part_text(section->groups));
    print_below_escaped(results_bits_text(section->groups));
    print_below_escaped(results_history_text(section->groups));
    print_below(groups_test_text(section->groups[0].runs[0]));
}

/* One picture shows one corpus: the first. */
static void write_svg(const Section *section, const CompareSettings *settings)
{
    if (!section->first)
        return;
    if (section->heading) {
        char *safe = terminal_safe_name(section->heading, SIZE_MAX, terminal_is_utf8());
        print_warning(
            "%s: shows the runs on %s only; give the runs of one corpus to draw others",
            settings->svg, safe);
        free(safe);
    }
    Chart chart = runchart_make(section->groups, section->entropy, &settings->axes);
    char *label = memory_copy_text(chart.y_label);
    if (most_seeds(section->groups) > 1)
        text_append(&label, ", mean and range of %zu seeds", most_seeds(section->groups));
    chart.y_label = label;
    char *title = settings->title ? memory_copy_text(settings->title)
                                  : runchart_title(section->groups, &settings->axes);
    Error error;
    if (!svg_write(settings->svg, &chart, title, &error))
        die("%s", error.text);
    chart_free(&chart);
    free(title);
    free(label);
}

/* --- warnings: no loss, diverged, test scores left out, different steps --- */

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

static void print_notes(const Comparison *all)
{
    for (size_t r = 0; r < all->count; r++)
        note_losses(&all->each[r]);
    for (size_t r = 0; r < all->count; r++)
        note_scores(&all->each[r]);
    for (size_t g = 0; g < arrlenu(all->groups); g++)
        note_steps(&all->groups[g]);
}

void compare_show(RunData *runs, size_t count, const CompareSettings *settings)
{
    ResultsReach *reach = read_reach(settings->reach);
    Comparison all = comparison_make(runs, count, settings->group);
    Error error;
    if (settings->json)
        compare_print_json(stdout, &all);
    else if (settings->csv)
        compare_print_csv(stdout, &all);
    else
        for_each_corpus(&all, reach, settings->markdown ? print_markdown : print_section,
                        settings);
    fflush(stdout);
    if (settings->svg)
        for_each_corpus(&all, reach, write_svg, settings);
    if (settings->svg || !(settings->json || settings->csv || settings->markdown))
        for_each_corpus(&all, reach, warn_of_axis, settings);
    if (settings->html && !report_write(settings->html, &all, &error))
        die("%s", error.text);
    print_notes(&all);
    comparison_free(&all);
    arrfree(reach);
}
