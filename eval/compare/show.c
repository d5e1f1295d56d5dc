#include "eval/compare/show.h"
#include "eval/compare/data.h"
#include "eval/compare/notes.h"
#include "eval/page/report.h"
#include "eval/runs/differences.h"
#include "eval/runs/results.h"
#include "eval/show/columns.h"
#include "eval/show/svg.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/program.h"
#include "src/text.h"

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

/* The names of the run directories, or their paths where two have the same name. */
static char **names_to_show(const RunData *runs, size_t count, bool utf8)
{
    char **names = memory_take(count, sizeof *names, "the runs");
    for (size_t r = 0; r < count; r++) {
        bool twice = false;
        for (size_t other = 0; other < count; other++)
            twice |= other != r && strcmp(runs[other].name, runs[r].name) == 0;
        names[r] = terminal_safe_name(twice ? runs[r].path : runs[r].name, SIZE_MAX, utf8);
    }
    return names;
}

/* Names of groups, safe to print. */
static char **group_names(const RunGroup *groups, bool utf8)
{
    char **names = memory_take(arrlenu(groups), sizeof *names, "the groups of runs");
    for (size_t g = 0; g < arrlenu(groups); g++)
        names[g] = terminal_safe_name(groups[g].name, SIZE_MAX, utf8);
    return names;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
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

static void print_chart(Chart chart, size_t width, size_t height, bool utf8, size_t color)
{
    chart.columns = width < COMPARE_SIZE_MOST ? width : COMPARE_SIZE_MOST;
    chart.rows = height;
    chart.utf8 = utf8;
    chart.colour = color == COLOUR_ALWAYS ||
                   (color == COLOUR_AUTO && terminal_has_colour(STDOUT_FILENO));
    char *text = memory_copy_text("\n");
    if (chart.series)
        chart_append(&text, &chart);
    fputs(text, stdout);
    free(text);
}

/* What is shown: all runs, or the runs of one corpus. */
typedef struct Comparison {
    const RunData *runs; /* all of them */
    size_t count;
    const RunGroup *groups;
    char **names; /* of the groups, safe to print */
    const ResultsReach *reach;
    const RunScore *test; /* the protocol of the test perplexities; NULL: there are none */
    double entropy;       /* of the corpus that all groups share, else NaN */
    bool utf8;
} Comparison;

/* Calls show for each corpus in turn, with its heading, or NULL if there is only one. */
typedef void (*ShowSection)(const Comparison *section, const char *heading,
                            const CompareSettings *settings);

static void for_each_corpus(const Comparison *all, ShowSection show,
                            const CompareSettings *settings)
{
    size_t next = 0;
    while (next < arrlenu(all->groups)) {
        Comparison section = *all;
        RunGroup *groups = groups_section(all->groups, next);
        char *heading = NULL;
        if (arrlenu(groups) < arrlenu(all->groups)) {
            char *name = groups_scale_name(groups[0].runs[0], all->runs, all->count);
            heading = terminal_safe_name(name, SIZE_MAX, all->utf8);
            free(name);
        }
        section.groups = groups;
        section.names = all->names + next;
        section.entropy = shared_entropy(groups);
        show(&section, heading, settings);
        next += arrlenu(groups);
        arrfree(groups);
        free(heading);
    }
}

static Chart chart_of(const Comparison *section, const CompareSettings *settings)
{
    return runchart_make(section->groups, section->names, section->entropy, &settings->axes);
}

/* The most seeds that a group has. */
static size_t most_seeds(const RunGroup *groups)
{
    size_t most = 0;
    for (size_t g = 0; g < arrlenu(groups); g++)
        most = arrlenu(groups[g].runs) > most ? arrlenu(groups[g].runs) : most;
    return most;
}

/* How the test perplexities were measured, "" if there are none; the caller's. */
static char *protocol_of(const Comparison *section)
{
    return section->test ? score_protocol_text(section->test) : memory_copy_text("");
}

/* What the numbers mean, wrapped at the width; the caller frees it. */
static char *meaning(const Comparison *section, size_t width)
{
    char *text = memory_copy_text(""), *protocol = protocol_of(section);
    if (*protocol)
        columns_append_sentence(&text, protocol, "", width);
    free(protocol);
    differences_append(&text, section->groups, section->names, width);
    if (!isnan(section->entropy)) {
        char *floor = text_format(
            "Entropy of the corpus, a lower bound of the loss: %.6g nats per token.",
            section->entropy);
        columns_append_sentence(&text, floor, "", width);
        free(floor);
    }
    return text;
}

/* For people: the table, the chart, and what it all means. */
static void print_section(const Comparison *section, const char *heading,
                          const CompareSettings *settings)
{
    size_t width = settings->width > 0 ? settings->width : terminal_width(STDOUT_FILENO);
    Table table = results_for_terminal(section->groups, section->names, section->reach);
    char *sentences = meaning(section, width);
    if (heading)
        printf("%s%s\n", section->groups[0].runs[0] == section->runs ? "" : "\n", heading);
    table_print(stdout, &table, TABLE_TERMINAL, width);
    table_free(&table);
    Chart chart = chart_of(section, settings);
    print_chart(chart, width,
                chart_height(settings, arrlenu(section->groups) + lines_of(sentences)),
                section->utf8, settings->color);
    runchart_free(&chart);
    fputs(sentences, stdout);
    free(sentences);
}

static void print_markdown(const Comparison *section, const char *heading,
                           const CompareSettings *settings)
{
    (void)settings;
    char *protocol = protocol_of(section);
    if (heading) {
        char *escaped = NULL;
        table_append_markdown(&escaped, heading);
        printf("%s### %s\n\n", section->groups[0].runs[0] == section->runs ? "" : "\n",
               escaped);
        free(escaped);
    }
    Table table = results_for_markdown(section->groups, section->names);
    table_print(stdout, &table, TABLE_MARKDOWN, SIZE_MAX);
    table_free(&table);
    if (most_seeds(section->groups) > 1)
        puts("\n± and brackets: 95 % confidence intervals of the mean over seeds and of the "
             "difference.");
    printf("%s%s%s", *protocol ? "\n" : "", protocol, *protocol ? "\n" : "");
    free(protocol);
}

/* Prints to standard output, in one form. */
static void print_one(const Comparison *all, const CompareSettings *settings)
{
    if (settings->json) {
        compare_print_json(stdout, all->runs, all->count, all->groups);
    } else if (settings->csv) {
        compare_print_csv(stdout, all->runs, all->count, all->groups);
    } else if (settings->markdown) {
        Comparison document = *all;
        document.utf8 = true; /* whatever the terminal is */
        document.names = group_names(all->groups, true);
        for_each_corpus(&document, print_markdown, settings);
        free_names(document.names, arrlenu(all->groups));
    } else {
        for_each_corpus(all, print_section, settings);
    }
    fflush(stdout);
}

/* One picture shows one corpus: the first. */
static void write_svg(const Comparison *section, const char *heading,
                      const CompareSettings *settings)
{
    if (section->groups[0].runs[0] != section->runs)
        return;
    if (heading)
        print_warning(
            "%s: shows the runs on %s only; give the runs of one corpus to draw others",
            settings->svg, heading);
    Chart chart = chart_of(section, settings);
    char *label = memory_copy_text(chart.y_label);
    if (most_seeds(section->groups) > 1)
        text_append(&label, ", mean and range of %zu seeds", most_seeds(section->groups));
    chart.y_label = label;
    char *title = settings->title ? memory_copy_text(settings->title)
                                  : runchart_title(section->groups, &settings->axes);
    Error error;
    if (!svg_write(settings->svg, &chart, title, &error))
        die("%s", error.text);
    runchart_free(&chart);
    free(title);
    free(label);
}

/* A page is always UTF-8, whatever the terminal is. */
static void write_page(const char *path, const Comparison *all)
{
    char **names = names_to_show(all->runs, all->count, true);
    const Report report = {
        .runs = all->runs, .count = all->count, .names = names, .groups = all->groups};
    Error error;
    if (!report_write(path, &report, &error))
        die("%s", error.text);
    free_names(names, all->count);
}

void compare_show(RunData *runs, size_t count, const CompareSettings *settings)
{
    ResultsReach *reach = read_reach(settings->reach);
    RunGroup *groups = groups_make(runs, count, settings->group);
    const RunScore *test = rundata_shared_test(runs, count);
    groups_identify(groups, runs);
    groups_score(groups, test);
    bool utf8 = terminal_is_utf8();
    char **names = names_to_show(runs, count, utf8), **of_groups = group_names(groups, utf8);
    const Comparison all = {.runs = runs,
                            .count = count,
                            .groups = groups,
                            .names = of_groups,
                            .reach = reach,
                            .test = test,
                            .utf8 = utf8};
    print_one(&all, settings);
    if (settings->svg)
        for_each_corpus(&all, write_svg, settings);
    if (settings->html)
        write_page(settings->html, &all);
    notes_print_on_runs(runs, count, names);
    notes_print_on_groups(groups, of_groups);
    free_names(names, count);
    free_names(of_groups, arrlenu(groups));
    groups_free(groups);
    arrfree(reach);
}
