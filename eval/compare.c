/* compare: training runs side by side, as a table and a chart, or as JSON for other programs.
 *
 * It reads what the runs wrote down and computes nothing anew, so it works on runs that are
 * still training, on another machine, and without the corpus. */
#include "eval/chart.h"
#include "eval/rundata.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/options.h"
#include "src/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef enum XAxis { X_EPOCH, X_STEP, X_TOKENS, X_SECONDS } XAxis;
typedef enum YAxis { Y_LOSS, Y_PERPLEXITY } YAxis;
typedef enum ColourWhen { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourWhen;

typedef struct Settings {
    size_t x, y, color;   /* XAxis, YAxis, ColourWhen */
    size_t width, height; /* 0: fit the terminal */
    bool train, json;
} Settings;

static const char *x_name(size_t index)
{
    static const char *const names[] = {"epoch", "step", "tokens", "seconds", NULL};
    return names[index];
}

static const char *y_name(size_t index)
{
    static const char *const names[] = {"loss", "perplexity", NULL};
    return names[index];
}

static const char *colour_name(size_t index)
{
    static const char *const names[] = {"auto", "always", "never", NULL};
    return names[index];
}

enum { SIZE_MOST = 1000 };

/* clang-format off */
static const Option options[] = {
    {.name = "x", .argument = "AXIS", .type = OPTION_CHOICE, .fallback = "epoch",
     .offset = offsetof(Settings, x), .choice = x_name,
     .help = "what the chart runs along"},
    {.name = "y", .argument = "AXIS", .type = OPTION_CHOICE, .fallback = "loss",
     .offset = offsetof(Settings, y), .choice = y_name,
     .help = "what the chart shows"},
    {.name = "train", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(Settings, train),
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
    {.name = "json", .type = OPTION_FLAG, .fallback = "no",
     .offset = offsetof(Settings, json),
     .help = "print the same as JSON, with every digit, instead"},
    {.name = "help", .type = OPTION_ACTION, .help = "print this and leave"},
    {.name = "version", .type = OPTION_ACTION, .help = "print the version and leave"},
};
/* clang-format on */

static void print_help(const OptionGroup *group)
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
    options_print_help(group, 1);
}

/* --- the table --- */

enum { TABLE_COLUMNS = 9, TABLE_LEFT = 2, CELL = 32 };

typedef char Cell[CELL];

/* Four or so digits and a unit: "12.3k". */
static void print_amount(Cell cell, double amount)
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; fabs(amount) >= 999.5 && unit + 2 < sizeof units; unit++)
        amount /= 1000;
    snprintf(cell, CELL, fabs(amount) < 9.995 && unit > 0 ? "%.2f%.*s" : "%.3g%.*s", amount,
             unit > 0, units + unit);
}

static void print_time(Cell cell, double seconds)
{
    const double most = 1e9; /* thirty years; also what fits every integer type */
    enum { MINUTE = 60, HOUR = 3600 };
    if (!(seconds >= MINUTE && seconds < most)) {
        snprintf(cell, CELL, "%.3gs", seconds);
        return;
    }
    unsigned long whole = (unsigned long)(seconds + 0.5);
    snprintf(cell, CELL, "%lu:%02lu:%02lu", whole / HOUR, whole % HOUR / MINUTE,
             whole % MINUTE);
}

/* The numbers of one run; what is not known stays "-". */
static void print_numbers(Cell *cells, const RunData *run)
{
    const double plain = 1e5; /* longer ones are written with an exponent */
    double ppl = exp(run->best_val_loss);
    if (run->parameters > 0)
        print_amount(cells[2], (double)run->parameters);
    if (!isnan(run->best_val_loss)) {
        snprintf(cells[3], CELL, run->best_val_loss < plain ? "%.4f" : "%.4g",
                 run->best_val_loss);
        snprintf(cells[4], CELL, ppl < plain ? "%.2f" : "%.3g", ppl);
        snprintf(cells[5], CELL, "%.4g", run->best_epoch);
    }
    if (arrlenu(run->rows) > 0) {
        double loss = run->final_train_loss;
        snprintf(cells[6], CELL, fabs(loss) < plain ? "%.4f" : "%.4g", loss);
        print_time(cells[8], run->seconds);
    }
    if (!isnan(run->tokens_per_second))
        print_amount(cells[7], run->tokens_per_second);
}

static void print_row(const char *name, const Cell *cells, const size_t *widths)
{
    for (size_t i = 0; i < TABLE_COLUMNS; i++) {
        const char *text = i == 0 ? name : cells[i];
        int blanks = (int)(widths[i] - text_columns(text));
        if (i < TABLE_LEFT)
            printf("%s%*s", text, blanks, "");
        else
            printf("  %*s%s", blanks, "", text);
        if (i == 0)
            printf("  ");
    }
    printf("\n");
}

typedef Cell Row[TABLE_COLUMNS];

static const Row titles = {"run",   "attn",  "params", "best val", "ppl",
                           "epoch", "train", "tok/s",  "time"};

/* Every column takes what its longest cell takes, but names only what the others leave. */
static void choose_widths(const Row *rows, size_t count, char *const *names, size_t width,
                          size_t *widths)
{
    enum { GAP = 2, NAME_LEAST = 8 };
    size_t others = 0;
    for (size_t i = 0; i < TABLE_COLUMNS; i++) {
        widths[i] = strlen(titles[i]);
        for (size_t r = 0; r < count; r++) {
            size_t columns = text_columns(i == 0 ? names[r] : rows[r][i]);
            widths[i] = columns > widths[i] ? columns : widths[i];
        }
        others += i == 0 ? 0 : widths[i] + GAP;
    }
    size_t room = width > others + NAME_LEAST ? width - others : NAME_LEAST;
    widths[0] = widths[0] < room ? widths[0] : room;
}

static void print_table(const RunData *runs, size_t count, char *const *names, size_t width,
                        bool utf8)
{
    enum { ATTN_MOST = 16 };
    Row *rows = memory_take(count, sizeof *rows, "the table");
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 1; i < TABLE_COLUMNS; i++)
            snprintf(rows[r][i], CELL, "-");
        char *attn = terminal_safe_name(runs[r].attn ? runs[r].attn : "-", ATTN_MOST, false);
        snprintf(rows[r][1], CELL, "%s", attn);
        free(attn);
        print_numbers(rows[r], &runs[r]);
    }
    size_t widths[TABLE_COLUMNS];
    choose_widths(rows, count, names, width, widths);
    print_row(titles[0], titles, widths);
    for (size_t r = 0; r < count; r++) {
        char *name = terminal_safe_name(names[r], widths[0], utf8);
        print_row(name, rows[r], widths);
        free(name);
    }
    free(rows);
}

/* --- the chart --- */

static double row_x(const RunLogRow *row, size_t x)
{
    switch ((XAxis)x) {
    case X_EPOCH:
        return row->epoch;
    case X_STEP:
        return (double)row->step;
    case X_TOKENS:
        return (double)row->tokens;
    case X_SECONDS:
        return row->seconds;
    }
    return NAN;
}

static double loss_y(double loss, size_t y)
{
    return y == Y_PERPLEXITY ? exp(loss) : loss;
}

/* Adds one curve of a run to the array of series, unless it has no points. */
static void add_series(ChartSeries **series, const RunData *run, const char *name, bool train,
                       const Settings *settings)
{
    ChartPoint *points = NULL;
    for (size_t i = 0; i < arrlenu(run->rows); i++) {
        const RunLogRow *row = &run->rows[i];
        double loss = train ? row->train_loss : row->val_loss;
        if (!train && !row->has_val_loss)
            continue;
        ChartPoint point = {row_x(row, settings->x), loss_y(loss, settings->y)};
        arrput(points, point);
    }
    if (!points)
        return;
    ChartSeries one = {text_format("%s%s", name, train ? " (train)" : ""), points,
                       arrlenu(points)};
    arrput(*series, one);
}

/* A level line from the first x to the last. */
static void add_floor(ChartSeries **series, double entropy, const Settings *settings)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t s = 0; s < arrlenu(*series); s++)
        for (size_t i = 0; i < (*series)[s].count; i++) {
            low = fmin(low, (*series)[s].points[i].x);
            high = fmax(high, (*series)[s].points[i].x);
        }
    ChartPoint *points = NULL;
    arrput(points, ((ChartPoint){low, loss_y(entropy, settings->y)}));
    arrput(points, ((ChartPoint){high, loss_y(entropy, settings->y)}));
    ChartSeries one = {memory_copy_text("entropy of the corpus"), points, arrlenu(points)};
    arrput(*series, one);
}

static void print_chart(const RunData *runs, size_t count, char *const *names, double entropy,
                        const Settings *settings, Chart chart)
{
    static const char *const y_labels[][2] = {
        {"validation loss (nats per token)", "loss (nats per token)"},
        {"validation perplexity", "perplexity"}};
    ChartSeries *series = NULL;
    /* Training losses first: the validation curves, which count, are drawn over them. */
    for (size_t r = 0; settings->train && r < count; r++)
        add_series(&series, &runs[r], names[r], true, settings);
    for (size_t r = 0; r < count; r++)
        add_series(&series, &runs[r], names[r], false, settings);
    if (series && !isnan(entropy))
        add_floor(&series, entropy, settings);
    if (series) {
        char *text = memory_copy_text("\n");
        chart.series = series;
        chart.series_count = arrlenu(series);
        chart.x_label = x_name(settings->x);
        chart.y_label = y_labels[settings->y][settings->train];
        chart_append(&text, &chart);
        fputs(text, stdout);
        free(text);
    }
    for (size_t s = 0; s < arrlenu(series); s++) {
        arrfree(series[s].points);
        free((char *)series[s].name);
    }
    arrfree(series);
}

/* --- the program --- */

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

static void show(const RunData *runs, size_t count, const Settings *settings)
{
    bool utf8 = terminal_is_utf8();
    bool colour = settings->color == COLOUR_ALWAYS ||
                  (settings->color == COLOUR_AUTO && terminal_has_colour(STDOUT_FILENO));
    size_t width = settings->width > 0 ? settings->width : terminal_width(STDOUT_FILENO);
    double entropy = shared_entropy(runs, count);
    char **names = names_to_show(runs, count, utf8);
    if (settings->json) {
        print_json(runs, count);
    } else {
        Chart chart = {.columns = width < SIZE_MOST ? width : SIZE_MOST,
                       .rows = chart_height(settings, count),
                       .utf8 = utf8,
                       .colour = colour};
        print_table(runs, count, names, width, utf8);
        print_chart(runs, count, names, entropy, settings, chart);
        if (!isnan(entropy))
            printf("The corpus cannot be predicted better than %.6g nats per token.\n",
                   entropy);
    }
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
    program_name_set(argv[0]);
    Settings settings = {0};
    const OptionGroup group = {"Options", options, sizeof options / sizeof options[0],
                               &settings};
    CommandLine line;
    Error error;
    options_set_defaults(&group, 1);
    if (!options_scan(&group, 1, argc, argv, &line, &error) ||
        !options_apply(&group, 1, &line, &error))
        die_usage("%s", error.text);
    if (command_line_value(&line, "help")) {
        print_help(&group);
    } else if (command_line_value(&line, "version")) {
        printf("compare (linnet) 0.1.0\n");
    } else if (line.operand_count == 0) {
        die_usage("which runs? give their folders, such as runs/linear");
    } else {
        RunData *runs = read_runs(&line);
        show(runs, line.operand_count, &settings);
        for (size_t r = 0; r < line.operand_count; r++)
            rundata_free(&runs[r]);
        free(runs);
    }
    command_line_free(&line);
    if (fflush(stdout) != 0 || ferror(stdout))
        die("cannot write to the standard output: %s", strerror(errno));
    return EXIT_SUCCESS;
}
