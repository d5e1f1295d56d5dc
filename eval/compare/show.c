#include "eval/compare/compare.h"
#include "eval/compare/page/report.h"
#include "eval/runs/sentences.h"
#include "eval/runs/results.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/program.h"
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

static void print_forest(const Section *section, size_t width)
{
    Forest forest = runchart_forest(section->groups);
    char *note = NULL;
    sentences_append(&note, forest.note, "", width);
    putchar('\n');
    forest_print(stdout, &forest, width, terminal_is_utf8());
    fputs(note, stdout);
    free(note);
    forest_free(&forest);
}

void compare_print_chart(Chart *chart, const CompareSettings *settings, size_t lines)
{
    const size_t width = settings->width > 0 ? settings->width : terminal_width(STDOUT_FILENO);
    chart->columns = width < COMPARE_SIZE_MOST ? width : COMPARE_SIZE_MOST;
    chart->rows = chart_height(settings, lines);
    chart->utf8 = terminal_is_utf8();
    chart->colour = settings->color == COLOUR_ALWAYS ||
                    (settings->color == COLOUR_AUTO && terminal_has_colour(STDOUT_FILENO));
    char *text = memory_copy_text("\n");
    if (chart->series)
        chart_append(&text, chart);
    fputs(text, stdout);
    free(text);
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
    char *const sentences[] = {sentences_part(section->groups), sentences_bits(section->groups),
                               sentences_history(section->groups),
                               sentences_test(section->groups[0].runs[0])};
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (sentences[i])
            sentences_append(&text, sentences[i], "", width);
        free(sentences[i]);
    }
    sentences_differences(&text, section->groups, width);
    double entropy = shared_entropy(section->groups);
    if (!isnan(entropy)) {
        char *floor = text_format(
            "Entropy of the corpus, a lower bound of the loss: %.6g nats per token.", entropy);
        sentences_append(&text, floor, "", width);
        free(floor);
    }
    return text;
}

/* For people: the table, the chart, and what it all means. Of several sections, each has a
 * heading. */
static void print_section(const Section *section, bool several, const ResultsReach *reach,
                          const CompareSettings *settings)
{
    size_t width = settings->width > 0 ? settings->width : terminal_width(STDOUT_FILENO);
    char *sentences = meaning(section, width);
    if (several) {
        char *safe = terminal_safe_name(section->name, SIZE_MAX, terminal_is_utf8());
        puts(safe);
        free(safe);
    }
    Table table = results_for_terminal(section->groups, reach);
    table_print(stdout, &table, TABLE_TERMINAL, width);
    table_free(&table);
    if (settings->forest) {
        print_forest(section, width);
    } else if (!settings->by) { /* which has its own chart */
        Chart chart = runchart_make(section->groups, shared_entropy(section->groups),
                                    &settings->axes);
        compare_print_chart(&chart, settings, arrlenu(section->groups) + lines_of(sentences));
        chart_free(&chart);
    }
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

static void print_markdown(const Section *section, bool several)
{
    if (several) {
        char *escaped = NULL;
        table_append_markdown(&escaped, section->name);
        printf("### %s\n\n", escaped);
        free(escaped);
    }
    Table table = results_for_markdown(section->groups);
    table_print(stdout, &table, TABLE_MARKDOWN, 0);
    table_free(&table);
    if (most_seeds(section->groups) > 1)
        puts("\n± and brackets: 95 % confidence intervals of the mean over seeds and of the "
             "difference.");
    print_below(sentences_part(section->groups));
    print_below_escaped(sentences_bits(section->groups));
    print_below_escaped(sentences_history(section->groups));
    print_below(sentences_test(section->groups[0].runs[0]));
}

static bool write_forest(const Section *section, const CompareSettings *settings, Error *error)
{
    Forest forest = runchart_forest(section->groups);
    bool good = forest_write_svg(settings->svg, &forest,
                                 settings->title ? settings->title : forest.title, error);
    forest_free(&forest);
    return good;
}

static bool write_curves(const Section *section, const CompareSettings *settings, Error *error)
{
    char *title = settings->title ? memory_copy_text(settings->title)
                                  : runchart_title(section->groups, &settings->axes);
    Chart chart = runchart_make(section->groups, shared_entropy(section->groups),
                                &settings->axes);
    char *label = memory_copy_text(chart.y_label);
    if (most_seeds(section->groups) > 1)
        text_append(&label, ", mean and range of %zu seeds", most_seeds(section->groups));
    chart.y_label = label;
    bool good = svg_write(settings->svg, &chart, title, error);
    chart_free(&chart);
    free(title);
    free(label);
    return good;
}

/* Draws the first section: one picture shows one corpus. */
static void write_svg(const Comparison *all, const CompareSettings *settings)
{
    const Section *section = &all->sections[0];
    if (arrlenu(all->sections) > 1) {
        char *safe = terminal_safe_name(section->name, SIZE_MAX, terminal_is_utf8());
        print_warning("%s: shows %s only; to draw another section, give its runs alone",
                      settings->svg, safe);
        free(safe);
    }
    Error error;
    bool good = settings->forest ? write_forest(section, settings, &error)
                                 : write_curves(section, settings, &error);
    if (!good)
        die("%s", error.text);
}

/* --- warnings: no loss, diverged, test scores left out, different steps --- */

/* Warns of something about a run or a group; takes over the words. */
static void warn_of(const RunGroup *group, char *words)
{
    char *name = terminal_safe_name(group->whole_name, SIZE_MAX, terminal_is_utf8());
    print_warning("%s: %s", name, words);
    free(name);
    free(words);
}

static void note_losses(const RunGroup *one)
{
    const RunData *run = one->runs[0];
    if (isnan(run->best_val_loss) && isnan(run->best_accuracy) && run->validations == 0)
        warn_of(one, text_format("no validation loss yet"));
    double loss;
    const char *diverged = rundata_divergence(run, &loss);
    if (diverged)
        warn_of(one, text_format("diverged: its %s ended as %g", diverged, loss));
}

/* Says why the table lacks a run's test score; counts those that were made in another way than
 * the others of their section. */
static void note_scores(const RunGroup *one, size_t *others)
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
        ++*others;
}

static void note_differences(const Comparison *all, const CompareSettings *settings)
{
    char *texts = NULL;
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        char *sentence = sentences_unequal(all->sections[s].groups, settings->by);
        char *safe = sentence ? terminal_safe_name(sentence, SIZE_MAX, terminal_is_utf8())
                              : NULL;
        if (safe)
            print_warning("%s", safe);
        text_append(&texts, "%s%s", s ? "; " : "", all->sections[s].name);
        free(sentence);
        free(safe);
    }
    if (arrlenu(all->sections) > 1 && !settings->within) {
        char *safe = terminal_safe_name(texts, SIZE_MAX, terminal_is_utf8());
        print_warning("the runs are on different texts or tokens (%s); each is compared by "
                      "itself",
                      safe);
        free(safe);
    }
    free(texts);
}

static void print_notes(const Comparison *all, const CompareSettings *settings)
{
    note_differences(all, settings);
    for (size_t r = 0; r < all->count; r++)
        note_losses(&all->each[r]);
    size_t others = 0;
    for (size_t r = 0; r < all->count; r++)
        note_scores(&all->each[r], &others);
    if (others > 0)
        print_warning(
            "%zu test score%s left out, as %s another text, tokenizer, window or stride "
            "than the others; eval --context and --stride make them alike, and --within "
            "context compares each context by itself",
            others, others > 1 ? "s are" : " is", others > 1 ? "they have" : "it has");
    for (size_t g = 0; g < arrlenu(all->groups); g++) {
        char *steps = sentences_steps(&all->groups[g]);
        if (steps)
            warn_of(&all->groups[g], steps);
    }
}

static void check_control(const Comparison *all, const char *control)
{
    char *names = NULL;
    if (!control || all->controls > 0)
        return;
    for (size_t g = 0; g < arrlenu(all->groups); g++)
        text_append(&names, "%s%s", g ? ", " : "", all->groups[g].name);
    char *safe = terminal_safe_name(names, SIZE_MAX, terminal_is_utf8());
    die_usage("--control '%.40s': no such group, run or attention kind; the groups are %s",
              control, safe);
}

/* Writes the page; it tells how far the grids are. */
static void write_page(const Comparison *all, const Sweep *sweep,
                       const CompareSettings *settings, const GridProgress *progress)
{
    Error error;
    json_t *by = sweep ? sweep_json(sweep, all) : NULL;
    const Report report = {all, by, *progress, settings->watch};
    if (!report_write(settings->html, &report, &error))
        die("%s", error.text);
    json_decref(by);
}

/* The results by a setting, before the comparison of what was chosen. */
static void show_sweep(const Sweep *sweep, const CompareSettings *settings)
{
    Error error;
    if (!settings->json)
        sweep_print(sweep, settings);
    program_flush_output();
    if (settings->svg && !sweep_write_svg(sweep, settings, &error))
        die("%s", error.text);
    if (!settings->json && !sweep_is_of_task(sweep))
        putchar('\n');
}

/* Prints all tables, charts and sentences, or data; writes the picture. */
static void show_all(const Comparison *all, const Sweep *sweep, const ResultsReach *reach,
                     const CompareSettings *settings)
{
    const bool rows = settings->json || settings->csv || settings->csv_log;
    if (sweep)
        show_sweep(sweep, settings);
    if (settings->json)
        compare_print_json(stdout, all, sweep);
    else if (rows)
        (settings->csv ? compare_print_csv : compare_print_csv_log)(stdout, all);
    for (size_t s = 0; s < arrlenu(all->sections) && !rows; s++) {
        bool several = arrlenu(all->sections) > 1;
        if (sweep && sweep_is_of_task(sweep))
            break; /* every value has a text of its own */
        fputs(s ? "\n" : "", stdout);
        if (settings->markdown)
            print_markdown(&all->sections[s], several);
        else
            print_section(&all->sections[s], several, reach, settings);
    }
    program_flush_output();
    if (settings->svg && !sweep)
        write_svg(all, settings);
    /* A chart that was asked for is drawn all the same. */
    bool drawn = !sweep && (settings->svg || !(rows || settings->markdown));
    for (size_t s = 0; drawn && s < arrlenu(all->sections); s++)
        if (runchart_mixes_tokens(all->sections[s].groups, &settings->axes))
            print_warning("the chart shows losses per token of different tokenizers, which do "
                          "not compare; take --y bits-per-byte");
}

void compare_show(RunData *runs, size_t count, const Sweep *sweep,
                  const CompareSettings *settings, const GridProgress *progress)
{
    const bool of_task = sweep && sweep_is_of_task(sweep),
               waits = settings->watch && progress->finished < progress->runs;
    ResultsReach *reach = read_reach(settings->reach);
    Comparison all = comparison_make(runs, count, settings->group, settings->control);
    if (count > 0 && !of_task)
        check_control(&all, settings->control);
    if (!waits)
        show_all(&all, sweep, reach, settings);
    if (settings->html)
        write_page(&all, sweep, settings, progress);
    if (!waits && !of_task)
        print_notes(&all, settings);
    comparison_free(&all);
    arrfree(reach);
}
