/* compare: training runs as a table and a chart, as Markdown, JSON or CSV, or as a page.
 *
 * It reads only what the runs logged, so it works while they train, on another machine, and
 * without the corpus. */
#include "eval/runs/groups.h"
#include "eval/compare/show.h"
#include "src/containers.h"
#include "src/gemm.h"
#include "src/program.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *colour_name(size_t index)
{
    static const char *const names[] = {"auto", "always", "never", NULL};
    return names[index];
}

/* clang-format off */
static const Option rows[] = {
    {.name = "x", .argument = "AXIS", .type = OPTION_CHOICE, .fallback = "epoch",
     .offset = offsetof(CompareSettings, axes.x), .choice = runchart_x_name,
     .help = "horizontal axis"},
    {.name = "y", .argument = "AXIS", .type = OPTION_CHOICE, .fallback = "loss",
     .offset = offsetof(CompareSettings, axes.y), .choice = runchart_y_name,
     .help = "vertical axis"},
    {.name = "train", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(CompareSettings, axes.train),
     .help = "draw training losses as well"},
    {.name = "group", .type = OPTION_FLAG, .fallback = "yes",
     .offset = offsetof(CompareSettings, group),
     .help = "combine runs that differ only by --seed: means, ranges and confidence "
             "intervals",
     .also = "average-seeds"},
    {.name = "reach", .argument = "LOSSES", .type = OPTION_TEXT,
     .offset = offsetof(CompareSettings, reach),
     .help = "print the epochs needed to reach these validation losses, for example "
             "5.0,4.9"},
    {.name = "width", .argument = "N", .type = OPTION_SIZE, .low = CHART_COLUMNS_LEAST,
     .high = COMPARE_SIZE_MOST, .offset = offsetof(CompareSettings, width),
     .help = "columns of the output; default: those of the terminal"},
    {.name = "height", .argument = "N", .type = OPTION_SIZE, .low = CHART_ROWS_LEAST,
     .high = COMPARE_SIZE_MOST, .offset = offsetof(CompareSettings, height),
     .help = "rows of the chart; default: what the table leaves of the terminal"},
    {.name = "color", .argument = "WHEN", .type = OPTION_CHOICE, .fallback = "auto",
     .offset = offsetof(CompareSettings, color), .choice = colour_name,
     .help = "when to use colours; auto follows the terminal, TERM and NO_COLOR",
     .also = "colour"},
    {.name = "svg", .argument = "FILE", .type = OPTION_TEXT,
     .offset = offsetof(CompareSettings, svg),
     .help = "also write the chart to this file, as SVG"},
    {.name = "title", .argument = "TEXT", .type = OPTION_TEXT,
     .offset = offsetof(CompareSettings, title),
     .help = "title of the chart in --svg"},
    {.name = "html", .argument = "FILE", .type = OPTION_TEXT,
     .offset = offsetof(CompareSettings, html),
     .help = "also write a page with all curves, settings and samples to this file",
     .also = "report"},
    {.name = "markdown", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(CompareSettings, markdown),
     .help = "print a Markdown table instead",
     .also = "md"},
    {.name = "json", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(CompareSettings, json),
     .help = "print JSON with all digits instead"},
    {.name = "csv", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(CompareSettings, csv),
     .help = "print every row of the logs as CSV instead"},
};
/* clang-format on */

static const About about = {
    .name = "compare",
    .purpose = "compares training runs: a table, loss curves and the differences between them",
    .synopses = {"[OPTIONS] RUN..."},
    .paragraphs = {"RUN is a run directory, finished or not. The table shows the attention "
                   "kind, parameters, "
                   "best validation loss (nats per token) with its perplexity and epoch, last "
                   "training loss, "
                   "training speed, time and memory. Runs that differ only by --seed are "
                   "combined into one "
                   "row and one curve."},
    .examples = {"runs/softmax runs/linear", "--x seconds --y perplexity runs/*",
                 "runs/* --html report.html"},
    .environment = {&about_terminal_size, &about_colour, &about_locale},
};

/* Puts the runs of one corpus together, the corpora in the order given. */
static void sort_by_corpus(RunData *runs)
{
    for (size_t end = 0; end < arrlenu(runs);) {
        const RunData first = runs[end];
        for (size_t r = end; r < arrlenu(runs); r++)
            if (groups_same_scale(&first, &runs[r])) {
                RunData run = runs[r];
                memmove(&runs[end + 1], &runs[end], (r - end) * sizeof run);
                runs[end++] = run;
            }
    }
}

/* An stb_ds array of the runs, those of one corpus together. Warns of arguments that are not
 * runs; at least one has to be. */
static RunData *read_runs(const CommandLine *line)
{
    RunData *runs = NULL;
    for (size_t r = 0; r < line->operand_count; r++) {
        RunData run;
        Error error;
        if (rundata_read(&run, line->operands[r], &error)) {
            arrput(runs, run);
        } else {
            print_warning("%s", error.text);
            rundata_free(&run);
        }
    }
    if (!runs)
        exit(EXIT_FAILURE);
    sort_by_corpus(runs);
    return runs;
}

int main(int argc, char **argv)
{
    CompareSettings settings = {0};
    const OptionGroup group = {"Options", rows, sizeof rows / sizeof *rows, &settings};
    CommandLine line;
    program_read_command_line(&about, &group, 1, argc, argv, &line);
    if (line.operand_count == 0)
        die_usage("no run given; give run directories, such as runs/linear");
    if (settings.json + settings.csv + settings.markdown > 1)
        die_usage("--json, --csv and --markdown: give only one of them");
    RunData *runs = read_runs(&line);
    compare_show(runs, arrlenu(runs), &settings);
    for (size_t r = 0; r < arrlenu(runs); r++)
        rundata_free(&runs[r]);
    arrfree(runs);
    options_free_texts(&group, 1);
    command_line_free(&line);
    program_finish_output();
    return EXIT_SUCCESS;
}
