/* The accuracy of runs on a synthetic task against a setting of it. */
#include "eval/compare/compare.h"
#include "data/corpora/tasks.h"
#include "eval/runs/results.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* The runs of one attention kind. */
typedef struct Line {
    const char *attn;
    char *name;         /* with the bytes of its state at the largest value */
    ChartPoint *points; /* an stb_ds array, by value; y in per cent */
    size_t *runs;       /* whose mean a point is */
    double state;       /* bytes; NaN: unknown */
} Line;

static bool value_of(const RunData *run, const char *setting, size_t *value, Error *error)
{
    Task task;
    Error why;
    return (run->attn && run->corpus && task_is_named(run->corpus) &&
            task_read(&task, run->corpus, &why) && task_value(&task, setting, value)) ||
           error_usage(error,
                       "--by %s: %s was not trained on a synthetic task with this setting",
                       setting, run->name);
}

static Line *line_of(Line **lines, const char *attn)
{
    for (size_t i = 0; i < arrlenu(*lines); i++)
        if (strcmp((*lines)[i].attn, attn) == 0)
            return &(*lines)[i];
    arrput(*lines, ((Line){.attn = attn, .state = NAN}));
    return &arrlast(*lines);
}

/* Keeps the points in order of their values. */
static void add_run(Line *line, const RunData *run, double value)
{
    const double per_cent = 100;
    size_t at = 0, last = arrlenu(line->points);
    while (at < last && line->points[at].x < value)
        at++;
    if (at == last || line->points[at].x > value) {
        arrput(line->points, ((ChartPoint){0}));
        arrput(line->runs, 0);
        memmove(line->points + at + 1, line->points + at, (last - at) * sizeof *line->points);
        memmove(line->runs + at + 1, line->runs + at, (last - at) * sizeof *line->runs);
        line->points[at] = (ChartPoint){value, 0};
        line->runs[at] = 0;
    }
    ChartPoint *point = &line->points[at];
    point->y += (per_cent * run->best_accuracy - point->y) / (double)++line->runs[at];
    if (at + 1 == arrlenu(line->points) && run->state > 0)
        line->state = (double)run->state;
}

static void name_line(Line *line)
{
    line->name = memory_copy_text(line->attn);
    if (isnan(line->state))
        return;
    char *amount = results_amount(line->state);
    text_append(&line->name, ", %sB", amount);
    free(amount);
}

/* A row for each kind, a column for each value. */
static void print_table(const Line *lines, const double *values,
                        const CompareSettings *settings)
{
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "accuracy, %", .worth = TABLE_ALWAYS});
    char **titles = NULL;
    for (size_t v = 0; v < arrlenu(values); v++) {
        arrput(titles, text_format("%s %g", settings->by, values[v]));
        table_add_column(&table, (TableColumn){.title = titles[v], .worth = TABLE_ALWAYS});
    }
    for (size_t i = 0; i < arrlenu(lines); i++) {
        table_add_row(&table, (TableRow){0});
        table_add(&table, memory_copy_text(lines[i].name));
        for (size_t v = 0, at = 0; v < arrlenu(values); v++) {
            bool has = at < arrlenu(lines[i].points) && lines[i].points[at].x <= values[v];
            table_add(&table, has ? text_format("%.1f", lines[i].points[at].y) : NULL);
            at += has;
        }
    }
    table_print(stdout, &table, settings->markdown ? TABLE_MARKDOWN : TABLE_TERMINAL,
                settings->width ? settings->width : terminal_width(STDOUT_FILENO));
    table_free(&table);
    text_lines_free(titles);
}

static bool draw(const Line *lines, const CompareSettings *settings, Error *error)
{
    Chart chart = {.x_label = settings->by,
                   .y_label = "accuracy, % (legend: state in bytes per sequence)"};
    for (size_t i = 0; i < arrlenu(lines); i++)
        chart_add(&chart, lines[i].name, lines[i].points, arrlenu(lines[i].points));
    char *title = settings->title ? memory_copy_text(settings->title)
                                  : text_format("Accuracy by %s", settings->by);
    bool good = svg_write(settings->svg, &chart, title, error);
    free(title);
    chart_free(&chart);
    return good;
}

bool compare_sweep(const RunData *runs, size_t count, const CompareSettings *settings,
                   Error *error)
{
    Line *lines = NULL, all = {0};
    size_t value = 0;
    bool good = true;
    for (size_t r = 0; r < count && good; r++) {
        good = value_of(&runs[r], settings->by, &value, error);
        if (!good || isnan(runs[r].best_accuracy)) /* nothing is validated yet */
            continue;
        add_run(line_of(&lines, runs[r].attn), &runs[r], (double)value);
        add_run(&all, &runs[r], (double)value);
    }
    double *values = NULL;
    for (size_t i = 0; i < arrlenu(all.points); i++)
        arrput(values, all.points[i].x);
    for (size_t i = 0; i < arrlenu(lines); i++)
        name_line(&lines[i]);
    if (good)
        print_table(lines, values, settings);
    good = good && (!settings->svg || draw(lines, settings, error));
    arrput(lines, all);
    for (size_t i = 0; i < arrlenu(lines); i++) {
        free(lines[i].name);
        arrfree(lines[i].points);
        arrfree(lines[i].runs);
    }
    arrfree(lines);
    arrfree(values);
    return good;
}
