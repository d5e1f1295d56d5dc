/* compare: training runs side by side, as a table and a chart, or as JSON for other programs.
 *
 * It reads what the runs wrote down and computes nothing anew, so it works on runs that are
 * still training, on another machine, and without the corpus. */
#include "eval/compare_chart.h"
#include "eval/compare_table.h"
#include "eval/svg.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/program.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef enum ColourWhen { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourWhen;

typedef struct Settings {
    CompareAxes axes;
    size_t color;         /* ColourWhen */
    size_t width, height; /* 0: fit the terminal */
    char *svg;            /* file to write, or NULL */
    bool json;
} Settings;

static const char *colour_name(size_t index)
{
    static const char *const names[] = {"auto", "always", "never", NULL};
    return names[index];
}

enum { SIZE_MOST = 1000 };

/* clang-format off */
static const Option rows[] = {
    {.name = "x", .argument = "AXIS", .type = OPTION_CHOICE, .fallback = "epoch",
     .offset = offsetof(Settings, axes.x), .choice = compare_x_name,
     .help = "what the chart runs along"},
    {.name = "y", .argument = "AXIS", .type = OPTION_CHOICE, .fallback = "loss",
     .offset = offsetof(Settings, axes.y), .choice = compare_y_name,
     .help = "what the chart shows"},
    {.name = "train", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(Settings, axes.train),
     .help = "draw the losses on the training text as well"},
    {.name = "width", .argument = "N", .type = OPTION_SIZE, .low = CHART_COLUMNS_LEAST,
     .high = SIZE_MOST, .offset = offsetof(Settings, width),
     .help = "columns to fill; without it, those of the terminal"},
    {.name = "height", .argument = "N", .type = OPTION_SIZE, .low = CHART_ROWS_LEAST,
     .high = SIZE_MOST, .offset = offsetof(Settings, height),
     .help = "rows of the chart; without it, what the table leaves of the terminal"},
    {.name = "color", .argument = "WHEN", .type = OPTION_CHOICE, .fallback = "auto",
     .offset = offsetof(Settings, color), .choice = colour_name,
     .help = "colours; auto looks at the terminal, TERM and NO_COLOR"},
    {.name = "svg", .argument = "FILE", .type = OPTION_TEXT,
     .offset = offsetof(Settings, svg),
     .help = "write the chart to this file as well, as a picture"},
    {.name = "json", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(Settings, json),
     .help = "print the same as JSON, with every digit, instead"},
};
/* clang-format on */

static void print_usage(void)
{
    printf(
        "Usage: %s [OPTIONS] RUN...\n\n"
        "Shows training runs side by side: for each its attention kind, its parameters, the\n"
        "best validation loss (in nats per token) with its perplexity and epoch, the last\n"
        "training loss, the median speed and the time, and then their curves. RUN is the\n"
        "folder of a run, finished or not.\n\n"
        "  %s runs/softmax runs/linear\n"
        "  %s --x seconds --y perplexity runs/*\n",
        program_name, program_name, program_name);
}

static void print_json(const RunData *runs, size_t count)
{
    printf("{\"runs\": [");
    for (size_t r = 0; r < count; r++) {
        printf(r ? ",\n" : "\n");
        rundata_print_json(stdout, &runs[r]);
    }
    printf("\n]}\n");
}

/* The entropy of the corpus if all runs name the same, else NaN. */
static double shared_entropy(const RunData *runs, size_t count)
{
    for (size_t r = 1; r < count; r++)
        if (runs[r].entropy_floor != runs[0].entropy_floor)
            return NAN;
    return runs[0].entropy_floor;
}

/* Names to show: those of the folders, or the paths where two folders have the same name. */
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

/* What the numbers do not say by themselves. */
static void print_notes(const RunData *runs, size_t count, char *const *names)
{
    for (size_t r = 0; r < count; r++) {
        if (arrlenu(runs[r].rows) == 0)
            warn("%s: its log is empty: no step has been logged yet", names[r]);
        else if (runs[r].validations == 0)
            warn("%s: no validation loss yet; its training loss can be drawn with --train",
                 names[r]);
        if (arrlenu(runs[r].rows) > 0 && !isfinite(runs[r].final_train_loss))
            warn("%s: its training loss ended as %g", names[r], runs[r].final_train_loss);
    }
    for (size_t r = 1; r < count; r++)
        if (runs[0].corpus && runs[r].corpus && strcmp(runs[0].corpus, runs[r].corpus) != 0) {
            warn("%s and %s name different corpora; losses compare only on the same text",
                 names[0], names[r]);
            break;
        }
}

/* What the table and one empty line leave of the terminal, within reason. */
static size_t chart_height(const Settings *settings, size_t runs)
{
    enum { LEAST = 14, MOST = 40, AROUND = 4 }; /* titles, gap, a sentence, the prompt */
    if (settings->height > 0)
        return settings->height;
    size_t height = terminal_height(STDOUT_FILENO);
    height = height > runs + AROUND + LEAST ? height - runs - AROUND : LEAST;
    return height < MOST ? height : MOST;
}

static void print_chart(const Chart *chart)
{
    char *text = memory_copy_text("\n");
    chart_append(&text, chart);
    fputs(text, stdout);
    free(text);
}

/* For people: the table, the chart, and the floor under it. */
static void print_all(const RunData *runs, size_t count, char *const *names, bool utf8,
                      const Settings *settings)
{
    size_t width = settings->width > 0 ? settings->width : terminal_width(STDOUT_FILENO);
    double entropy = shared_entropy(runs, count);
    compare_print_table(runs, count, names, width, utf8);
    Chart chart = compare_chart_make(runs, count, names, entropy, &settings->axes);
    chart.columns = width < SIZE_MOST ? width : SIZE_MOST;
    chart.rows = chart_height(settings, count);
    chart.utf8 = utf8;
    chart.colour = settings->color == COLOUR_ALWAYS ||
                   (settings->color == COLOUR_AUTO && terminal_has_colour(STDOUT_FILENO));
    if (chart.series)
        print_chart(&chart);
    Error error;
    if (settings->svg && !svg_write(settings->svg, &chart, "Loss curves", &error))
        die("%s", error.text);
    compare_chart_free(&chart);
    if (!isnan(entropy))
        printf("The corpus cannot be predicted better than %.6g nats per token.\n", entropy);
}

static void show(const RunData *runs, size_t count, const Settings *settings)
{
    bool utf8 = terminal_is_utf8();
    char **names = names_to_show(runs, count, utf8);
    if (settings->json)
        print_json(runs, count);
    else
        print_all(runs, count, names, utf8, settings);
    fflush(stdout);
    print_notes(runs, count, names);
    for (size_t r = 0; r < count; r++)
        free(names[r]);
    free(names);
}

/* Reads all runs before anything is shown, and names every one that cannot be read. */
static RunData *read_runs(const CommandLine *line)
{
    RunData *runs = memory_take(line->operand_count, sizeof *runs, "the runs");
    size_t wrong = 0;
    for (size_t r = 0; r < line->operand_count; r++) {
        Error error;
        if (rundata_read(&runs[r], line->operands[r], &error))
            continue;
        warn("%s", error.text);
        wrong++;
    }
    if (wrong > 0)
        exit(EXIT_FAILURE);
    return runs;
}

int main(int argc, char **argv)
{
    Settings settings = {0};
    const OptionGroup group = {"Options", rows, sizeof rows / sizeof *rows, &settings};
    CommandLine line;
    program_read_command_line(&group, 1, print_usage, argc, argv, &line);
    if (line.operand_count == 0)
        die_usage("which runs? give their folders, such as runs/linear");
    RunData *runs = read_runs(&line);
    show(runs, line.operand_count, &settings);
    for (size_t r = 0; r < line.operand_count; r++)
        rundata_free(&runs[r]);
    free(runs);
    options_free_texts(&group, 1);
    command_line_free(&line);
    program_finish_output();
    return EXIT_SUCCESS;
}
