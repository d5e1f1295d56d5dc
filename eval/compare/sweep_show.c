/* Shows the results by a setting: tables, charts, sentences and JSON. */
#include "eval/compare/sweep.h"
#include "eval/runs/sentences.h"
#include "eval/show/markup.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static bool is_at_edge(const Line *line)
{
    return line->best == 0 || line->best + 1 == arrlenu(line->means);
}

/* --- tables, charts and words --- */

/* The best value, and whether none beyond it was tried. The caller's; NULL: none. */
static char *choice_of(const Line *line)
{
    return sweep_line_is_chosen(line) ? text_format("%g%s", line->means[line->best].x,
                                                    is_at_edge(line) ? " (edge)" : "")
                                      : NULL;
}

static char *cell_of(const Sweep *sweep, double y)
{
    return sweep->of_task ? text_format("%.1f", y)
           : isnan(y)     ? memory_copy_text("diverged")
                          : text_format("%.4f", y);
}

/* A row for each line, a column for each value. */
static void print_table(const Sweep *sweep, const CompareSettings *settings, size_t width)
{
    enum { WORTH = 50 };
    Table table = {0};
    char **titles = NULL;
    table_add_column(&table, (TableColumn){.title = sweep->y_label, .worth = TABLE_ALWAYS});
    for (size_t v = 0; v < arrlenu(sweep->values); v++) {
        arrput(titles, text_format("%s %g", sweep->setting, sweep->values[v]));
        table_add_column(&table, (TableColumn){.title = titles[v], .worth = WORTH});
    }
    if (!sweep->of_task)
        table_add_column(&table, (TableColumn){.title = "best", .worth = TABLE_ALWAYS});
    for (size_t i = 0; i < arrlenu(sweep->lines); i++) {
        const Line *line = &sweep->lines[i];
        table_add_row(&table, (TableRow){0});
        table_add(&table, memory_copy_text(line->name));
        for (size_t v = 0, at = 0; v < arrlenu(sweep->values); v++) {
            bool has = at < arrlenu(line->means) && line->means[at].x <= sweep->values[v];
            table_add(&table, has ? cell_of(sweep, line->means[at].y) : NULL);
            at += has;
        }
        if (!sweep->of_task)
            table_add(&table, choice_of(line));
    }
    table_print(stdout, &table, settings->markdown ? TABLE_MARKDOWN : TABLE_TERMINAL, width);
    table_free(&table);
    text_lines_free(titles);
}

/* The means as a line, behind the single seeds, between which there are gaps. */
static void add_series(Chart *chart, const Line *line)
{
    ChartSeries *series = chart_add(chart, line->name, NULL, 0);
    for (size_t i = 0; arrlenu(line->seeds) > arrlenu(line->means) && i < arrlenu(line->seeds);
         i++) {
        arrput(series->points, line->seeds[i]);
        arrput(series->points, ((ChartPoint){NAN, NAN}));
    }
    for (size_t i = 0; i < arrlenu(line->means); i++)
        arrput(series->points, line->means[i]);
}

/* The microseconds of training per token of the runs with this value, their mean. */
static double time_per_token(const Sweep *sweep, const Line *line, double value)
{
    const double microseconds = 1e6;
    double sum = 0, count = 0;
    for (size_t i = 0; i < arrlenu(line->seeds); i++)
        if (line->seeds[i].x == value) {
            sum += microseconds / sweep->runs[line->runs[i]].tokens_per_second;
            count++;
        }
    return sum / count;
}

/* The means in order of the setting, whose values stand at the points, against the time. */
static void add_times(Chart *chart, const Sweep *sweep, const Line *line)
{
    ChartSeries *series = chart_add(chart, line->name, NULL, 0);
    for (size_t i = 0; i < arrlenu(line->means); i++) {
        const double value = line->means[i].x;
        arrput(series->points,
               ((ChartPoint){time_per_token(sweep, line, value), line->means[i].y}));
        arrput(series->labels, value);
    }
}

/* Values that span a factor of five, such as learning rates, have a logarithmic axis. */
static bool are_wide(const double *values)
{
    const double wide = 5;
    return arrlenu(values) > 0 && values[0] > 0 && arrlast(values) >= wide * values[0];
}

static Chart chart_of(const Sweep *sweep, const RunChartAxes *axes)
{
    const bool times = axes->x == RUNCHART_TIME_PER_TOKEN;
    Chart chart = {.x_label = times ? "training time per token (microseconds)"
                              : sweep_is_by_state(sweep) ? "state, bytes per sequence"
                                                         : sweep->setting,
                   .y_label = sweep->of_task && !sweep_is_by_state(sweep)
                                  ? "accuracy, % (legend: state in bytes per sequence)"
                                  : sweep->y_label,
                   .logarithmic_x = times || are_wide(sweep->values)};
    for (size_t i = 0; i < arrlenu(sweep->lines); i++)
        if (times)
            add_times(&chart, sweep, &sweep->lines[i]);
        else
            add_series(&chart, &sweep->lines[i]);
    return chart;
}

/* What was chosen of a line, and what to try where it lies at the edge. The caller's. */
static char *choice_text(const Sweep *sweep, const Line *line)
{
    const bool one = arrlenu(line->means) == 1;
    return !sweep_line_is_chosen(line)
               ? text_format("%s: diverged at every %s", line->name, sweep->setting)
               : text_format("%s: %s %g has the lowest %s, %.4f%s", line->name, sweep->setting,
                             line->means[line->best].x, sweep->y_label,
                             line->means[line->best].y,
                             one                ? "; it is the only one"
                             : line->best == 0  ? ", at the edge of the grid: try a smaller one"
                             : is_at_edge(line) ? ", at the edge of the grid: try a larger one"
                                                : "");
}

/* The same of all lines; for Markdown a list. The caller's. */
static char *words_of(const Sweep *sweep, bool markdown, size_t width)
{
    char *text = memory_copy_text(markdown ? "\n" : "");
    for (size_t i = 0; i < arrlenu(sweep->lines); i++) {
        char *words = choice_text(sweep, &sweep->lines[i]);
        if (markdown) {
            text_append(&text, "- ");
            table_append_markdown(&text, words);
            text_append(&text, "\n");
        } else {
            sentences_append(&text, words, "", width);
        }
        free(words);
    }
    return text;
}

void sweep_print(const Sweep *sweep, const CompareSettings *settings)
{
    const size_t width = settings->width ? settings->width : terminal_width(STDOUT_FILENO);
    char *words = sweep->of_task ? memory_copy_text("")
                                 : words_of(sweep, settings->markdown, width);
    print_table(sweep, settings, width);
    if (!settings->markdown) {
        Chart chart = chart_of(sweep, &settings->axes);
        compare_print_chart(&chart, settings, arrlenu(sweep->lines));
        chart_free(&chart);
    }
    fputs(words, stdout);
    free(words);
}

/* The caller's. */
static char *title_of_times(const Sweep *sweep)
{
    char *title = text_format("%s against training time per token, by %s", sweep->y_label,
                              sweep->setting);
    title[0] = (char)toupper((unsigned char)title[0]);
    return title;
}

/* The caller's. */
static char *title_of(const Sweep *sweep)
{
    bool seeds = false;
    for (size_t i = 0; i < arrlenu(sweep->lines); i++)
        seeds |= arrlenu(sweep->lines[i].seeds) > arrlenu(sweep->lines[i].means);
    return text_format("%s by %s%s", sweep->of_task ? "Accuracy" : "Validation loss",
                       sweep->setting, seeds ? ": means and single seeds" : "");
}

bool sweep_write_svg(const Sweep *sweep, const CompareSettings *settings, Error *error)
{
    Chart chart = chart_of(sweep, &settings->axes);
    char *usual = settings->axes.x == RUNCHART_TIME_PER_TOKEN ? title_of_times(sweep)
                                                              : title_of(sweep);
    bool good = svg_write(settings->svg, &chart, settings->title ? settings->title : usual,
                          error);
    free(usual);
    chart_free(&chart);
    return good;
}

/* --- for other programs and for the page --- */

/* The runs of a line at a value, from seed i on, which it moves past them. */
static json_t *seeds_json(const Sweep *sweep, const Line *line, size_t *i)
{
    json_t *seeds = json_array();
    for (const double value = line->seeds[*i].x;
         *i < arrlenu(line->seeds) && line->seeds[*i].x == value; ++*i) {
        const RunData *run = &sweep->runs[line->runs[*i]];
        json_array_append_new(seeds, json_pack("{so so so}", "run", markup_json(run->path),
                                               "seed", markup_json(group_seed(run)), "result",
                                               json_figure(line->seeds[*i].y)));
    }
    return seeds;
}

/* The number of the group that the chosen runs of a line form, or null. */
static json_t *group_of(const Sweep *sweep, const Line *line, const Comparison *all)
{
    for (size_t g = 0; g < arrlenu(all->groups) && sweep_line_is_chosen(line); g++)
        for (size_t i = 0; i < arrlenu(line->runs); i++)
            if (line->seeds[i].x == line->means[line->best].x &&
                all->groups[g].runs[0] == &sweep->runs[line->runs[i]])
                return json_count(g);
    return json_null();
}

static json_t *line_json(const Sweep *sweep, const Line *line, const Comparison *all)
{
    json_t *points = json_array();
    char *words = sweep->of_task ? NULL : choice_text(sweep, line);
    for (size_t i = 0, seed = 0; i < arrlenu(line->means); i++)
        json_array_append_new(points,
                              json_pack("{so so so}", "value", json_figure(line->means[i].x),
                                        "mean", json_figure(line->means[i].y), "seeds",
                                        seeds_json(sweep, line, &seed)));
    json_t *object = json_pack(
        "{so so so so sb so so}", "name", markup_json(line->name), "kind",
        markup_json(sweep->runs[line->runs[0]].attn), "group", group_of(sweep, line, all),
        "best",
        sweep_line_is_chosen(line) ? json_figure(line->means[line->best].x) : json_null(),
        "at_edge", sweep_line_is_chosen(line) && is_at_edge(line), "verdict",
        markup_json(words), "points", points);
    free(words);
    return object;
}

json_t *sweep_json(const Sweep *sweep, const Comparison *all)
{
    char *title = title_of(sweep);
    json_t *lines = json_array();
    for (size_t i = 0; i < arrlenu(sweep->lines); i++)
        json_array_append_new(lines, line_json(sweep, &sweep->lines[i], all));
    json_t *object = json_pack("{so so ss so}", "setting", markup_json(sweep->setting), "title",
                               markup_json(title), "measure", sweep->y_label, "lines", lines);
    free(title);
    return object;
}
