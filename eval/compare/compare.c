/* compare: training runs as a table and a chart, as Markdown, JSON or CSV, or as a page.
 *
 * It reads only settings, logs and scores (for the samples of --html also checkpoints), so it
 * works while they train, on another machine, and without the corpus. */
#include "eval/compare/compare.h"
#include "eval/runs/gridfile.h"
#include "eval/runs/groups.h"
#include "eval/runs/runtable.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/program.h"
#include "src/base/text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static OPTION_NAMES(colour_name, "auto", "always", "never");

#define FIELD(name) offsetof(CompareSettings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "x", OPTION_ONE_OF("AXIS", FIELD(axes.x), runchart_x_name, "epoch"),
     .help = "horizontal axis; time-per-token: of training, only with --by, whose values stand "
             "at the points",
     .common = true},
    {.name = "y", OPTION_ONE_OF("AXIS", FIELD(axes.y), runchart_y_name, "auto"),
     .help = "vertical axis; auto: loss, or bits per byte for runs with different tokenizers",
     .common = true},
    {.name = "train", OPTION_SWITCH(FIELD(axes.train), "no"),
     .help = "draw training losses as well"},
    {.name = "group", OPTION_SWITCH(FIELD(group), "yes"),
     .help = "combine runs that differ only by --seed: means, ranges and confidence "
             "intervals",
     .also = "average-seeds",
     .common = true},
    {.name = "control", OPTION_STRING("NAME", FIELD(control), NULL),
     .help = "the group that the others are compared with: its name, a run or an attention "
             "kind; default: the first one",
     .also = "baseline",
     .common = true},
    {.name = "reach", OPTION_STRING("LOSSES", FIELD(reach), NULL),
     .help = "print the epochs needed to reach these validation losses, for example "
             "5.0,4.9; bits per byte where tokenizers differ"},
    {.name = "by", OPTION_STRING("SETTING", FIELD(by), NULL),
     .help = "results against this setting, such as lr, context or dropout, with a line for "
             "each attention kind: validation loss, of which the best of each kind is chosen, "
             "or accuracy for settings of synthetic tasks, such as pairs; state: against the bytes "
             "that decoding keeps",
     .common = true},
    {.name = "within", OPTION_STRING("SETTING", FIELD(within), NULL),
     .help = "compare runs with the same value of this setting only, such as context: a table, a "
             "chart and a verdict for each value",
     .also = "facet group-by split-by per",
     .common = true},
    {.name = "forest", OPTION_SWITCH(FIELD(forest), "no"),
     .help = "draw the differences from the control with their confidence intervals, grouped "
             "by idea, in place of the curves",
     .common = true},
    {.name = "width", OPTION_WHOLE(FIELD(width), CHART_COLUMNS_LEAST, COMPARE_SIZE_MOST, NULL),
     .help = "columns of the output; default: those of the terminal"},
    {.name = "height", OPTION_WHOLE(FIELD(height), CHART_ROWS_LEAST, COMPARE_SIZE_MOST, NULL),
     .help = "rows of the chart; default: fills the terminal below the table"},
    {.name = "color", OPTION_ONE_OF("WHEN", FIELD(color), colour_name, "auto"),
     .help = "when to use colours; auto follows the terminal, TERM and NO_COLOR",
     .also = "colour"},
    {.name = "svg", OPTION_STRING("FILE", FIELD(svg), NULL),
     .help = "also write the chart to this file, as SVG",
     .common = true},
    {.name = "title", OPTION_STRING("TEXT", FIELD(title), NULL),
     .help = "title of the chart in --svg"},
    {.name = "html", OPTION_STRING("FILE", FIELD(html), NULL),
     .help = "also write a page with all results, curves, settings and samples to this file",
     .also = "report",
     .common = true},
    {.name = "watch", OPTION_WHOLE(FIELD(watch), 1, COMPARE_WATCH_MOST, NULL),
     .help = "write the page of --html anew every N seconds until the grid is finished; the "
             "page reloads itself as often",
     .common = true},
    {.name = "markdown", OPTION_SWITCH(FIELD(markdown), "no"),
     .help = "print a Markdown table instead",
     .also = "md",
     .common = true},
    {.name = "json", OPTION_SWITCH(FIELD(json), "no"),
     .help = "print JSON with all digits instead",
     .common = true},
    {.name = "csv", OPTION_SWITCH(FIELD(csv), "no"),
     .help = "print CSV with a row for each run instead: kind, learning rate, seed, results, and "
             "every setting that differs",
     .common = true},
    {.name = "csv-log", OPTION_SWITCH(FIELD(csv_log), "no"),
     .help = "print every row of the logs as CSV instead"},
};
/* clang-format on */

static const About about = {
    .name = "compare",
    .purpose = "compares training runs: a table, loss curves and the differences between them",
    .synopses = {"[OPTIONS] RUN..."},
    .paragraphs =
        {"RUN is a run directory, finished or not, or that of a grid, which stands for all its "
         "runs "
         "(or runs/NAME.grid.json), or a table of runs, such as eval/results.csv. The table "
         "shows the attention "
         "kind, parameters, "
         "best validation loss (nats per token) with its perplexity, bits per byte (bpb) "
         "and epoch, last training loss, "
         "training speed, time and memory. Runs that differ only by --seed are "
         "combined into one "
         "row and one curve. Runs on one text with different tokenizers are compared "
         "by bits per byte."},
    .examples = {"runs/softmax runs/linear", "--x seconds --y perplexity runs/*",
                 "runs/* --html report.html", "runs/grid --html report.html --watch 30"},
    .environment = {ABOUT_TERMINAL_SIZE, ABOUT_COLOUR, ABOUT_LOCALE},
};

static bool has_log(const char *folder)
{
    return file_is_in(folder, RUN_LOG);
}

/* The run directories, and tables of runs, that the command line names, an stb_ds array for
 * text_lines_free: for a grid, those of its runs that have begun; adds its progress. */
static char **find_folders(const CommandLine *line, GridProgress *progress)
{
    char **folders = NULL;
    size_t missing;
    Error error;
    for (size_t i = 0; i < line->operand_count; i++) {
        char *grid = gridfile_find(line->operands[i]);
        if (!grid)
            gridfile_add_run(&folders, line->operands[i]);
        else if (!gridfile_progress(grid, progress, &error) ||
                 !gridfile_add_runs(&folders, grid, has_log, &missing, &error))
            print_warning("%s", error.text);
        free(grid);
    }
    return folders;
}

/* Appends the run of a directory. */
static bool read_run(const char *folder, RunData **runs, Error *error)
{
    RunData run;
    if (!rundata_read(&run, folder, error)) {
        rundata_free(&run);
        return false;
    }
    arrput(*runs, run);
    return true;
}

/* An stb_ds array of the runs, those of one corpus together. Warns of arguments that are not
 * runs. */
static RunData *read_runs(const CommandLine *line, const char *within, GridProgress *progress)
{
    RunData *runs = NULL;
    char **folders = find_folders(line, progress);
    for (size_t r = 0; r < arrlenu(folders); r++) {
        Error error;
        bool good = runtable_is(folders[r]) ? runtable_read(folders[r], &runs, &error)
                                            : read_run(folders[r], &runs, &error);
        if (!good)
            print_warning("%s", error.text);
    }
    text_lines_free(folders);
    groups_sort(runs, arrlenu(runs), within);
    bool has_setting = !within || !runs;
    for (size_t r = 0; r < arrlenu(runs); r++)
        has_setting = has_setting || runs[r].apart;
    if (!has_setting)
        die_usage("--within %s: no run has a setting of this name", within);
    return runs;
}

static void check_usage(const CompareSettings *settings, const CommandLine *line)
{
    const int forms = settings->json + settings->csv + settings->csv_log + settings->markdown;
    const bool data = forms > 0;
    const bool no_chart = data && !settings->svg,
               times = settings->axes.x == RUNCHART_TIME_PER_TOKEN;
    const char *const with_data = "with --json, --csv or --markdown",
                      *const without_chart =
                          "with --json, --csv or --markdown, unless --svg is given";
    const struct {
        const char *option, *beside;
        bool idle;
    } rules[] = {{"reach", "with --by, --json, --csv or --markdown", settings->by || data},
                 {"x", "with --by, except as time-per-token", settings->by && !times},
                 {"y", "with --by, except as bits-per-byte",
                  settings->by && settings->axes.y != RUNCHART_BITS},
                 {"train", "with --by", settings->by},
                 {"group", "with --by", settings->by},
                 {"within", "with --by", settings->by},
                 {"forest", "with --by", settings->by},
                 {"forest", without_chart, no_chart},
                 {"x", "with --forest", settings->forest},
                 {"y", "with --forest", settings->forest},
                 {"train", "with --forest", settings->forest},
                 {"height", "with --forest", settings->forest},
                 {"width", with_data, data},
                 {"height", with_data, data},
                 {"color", with_data, data},
                 {"x", without_chart, no_chart},
                 {"y", without_chart, no_chart},
                 {"train", without_chart, no_chart},
                 {"title", "without --svg", !settings->svg},
                 {"watch", "without --html", !settings->html}};
    if (line->operand_count == 0)
        die_usage("no run given; give run directories, such as runs/linear");
    if (forms > 1)
        die_usage("--json, --csv, --csv-log and --markdown: give only one of them");
    if (times && !settings->by)
        die_usage("--x time-per-token needs --by, which gives a line several points");
    if (settings->by && (settings->csv || settings->csv_log))
        die_usage("--by has no CSV; take --json, or leave --csv out");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].idle && command_line_value(line, rules[i].option))
            die_usage("--%s has no effect %s; leave it out", rules[i].option, rules[i].beside);
}

/* Reads and shows the runs as they are now; returns how far their grids are. */
static GridProgress compare(const CommandLine *line, const CompareSettings *settings)
{
    GridProgress progress = {0};
    RunData *runs = read_runs(line, settings->within, &progress);
    size_t count = arrlenu(runs);
    Sweep *sweep = NULL;
    Error error;
    if (settings->watch && progress.runs == 0)
        die_usage("--watch: no grid given; give the directory of one, such as runs/grid");
    if (!runs && !settings->watch)
        exit(EXIT_FAILURE);
    if (runs && settings->by && !(sweep = sweep_make(runs, &count, settings, &error)))
        error_die(&error);
    if (runs)
        compare_show(runs, count, sweep, settings, &progress);
    sweep_free(sweep);
    for (size_t r = 0; r < arrlenu(runs); r++)
        rundata_free(&runs[r]);
    arrfree(runs);
    return progress;
}

/* Compares again and again until the grids are finished. */
static void watch(const CommandLine *line, const CompareSettings *settings)
{
    size_t told = SIZE_MAX;
    for (;;) {
        const GridProgress progress = compare(line, settings);
        if (progress.finished >= progress.runs)
            return;
        if (progress.finished != told)
            print_warning("%zu of %zu runs finished; %s is written every %zu s",
                          progress.finished, progress.runs, settings->html, settings->watch);
        told = progress.finished;
        sleep((unsigned)settings->watch);
    }
}

int main(int argc, char **argv)
{
    CompareSettings settings = {0};
    const Options group = {{OPTION_GROUP("Options", rows, &settings)}};
    CommandLine line;
    program_read_command_line(&about, &group, argc, argv, &line);
    check_usage(&settings, &line);
    if (settings.watch)
        watch(&line, &settings);
    else
        compare(&line, &settings);
    program_end(&group, &line);
    return EXIT_SUCCESS;
}
