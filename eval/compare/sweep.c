/* The results of runs against a setting: of a synthetic task the accuracy, else the best
 * validation loss against a number such as the learning rate, of which each line's best is
 * chosen. */
#include "eval/compare/compare.h"
#include "data/corpora/tasks.h"
#include "eval/runs/results.h"
#include "eval/runs/sentences.h"
#include "eval/show/markup.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* The runs of one attention kind, and of one value of each other setting that a grid varies. */
typedef struct Line {
    char *name;        /* of a task with the bytes of its state at the largest value */
    ChartPoint *seeds; /* an stb_ds array, by value, a point for each run */
    size_t *runs;      /* (seeds) an stb_ds array: their indexes */
    ChartPoint *means; /* an stb_ds array, a point for each value; NaN if a run diverged */
    size_t best;       /* index in means of the lowest loss; their number: none */
} Line;

struct Sweep {
    const RunData *runs; /* (count) */
    size_t count;
    const char *setting;
    bool of_task;   /* accuracies; else losses, */
    bool bits;      /* in bits per byte */
    char **factors; /* an stb_ds array, borrowed: other settings that have lines of their own */
    Line *lines;    /* an stb_ds array */
    double *values; /* an stb_ds array, ascending: all values of the setting */
    const char *y_label;
};

/* --- what is measured, against what --- */

static bool task_value_of(const RunData *run, const char *setting, double *value)
{
    Task task;
    Error why;
    size_t whole;
    bool has = run->corpus && task_is_named(run->corpus) &&
               task_read(&task, run->corpus, &why) && task_value(&task, setting, &whole);
    if (has)
        *value = (double)whole;
    return has;
}

static bool is_by_state(const Sweep *sweep)
{
    return strcmp(sweep->setting, "state") == 0;
}

static bool value_of(const Sweep *sweep, const RunData *run, double *value, Error *error)
{
    if (is_by_state(sweep) && run->attn && run->state > 0) {
        *value = (double)run->state;
        return true;
    }
    if (sweep->of_task && run->attn && task_value_of(run, sweep->setting, value))
        return true;
    const char *text = rundata_setting(run, sweep->setting);
    if (!sweep->of_task && run->attn && text && text_to_double(text, value) && isfinite(*value))
        return true;
    return error_usage(error,
                       "--by %s: %s has no setting of this name that is a number, nor was it "
                       "trained on a synthetic task with this setting",
                       sweep->setting, run->name);
}

/* NaN: the run diverged. */
static double result_of(const Sweep *sweep, const RunData *run)
{
    const double per_cent = 100;
    return sweep->of_task          ? per_cent * run->best_accuracy
           : rundata_diverged(run) ? NAN
                                   : run->best_val_loss * (sweep->bits ? run->val_bits : 1);
}

static bool is_measured(const Sweep *sweep, const RunData *run)
{
    return !isnan(sweep->of_task ? run->best_accuracy : run->best_val_loss);
}

/* --- lines --- */

static const char *setting_or_none(const RunData *run, const char *name)
{
    const char *value = rundata_setting(run, name);
    return value ? value : "none";
}

/* Adds the settings that differ between two runs of one kind and value: they are not what
 * changes along with the value. */
static void add_factors(Sweep *sweep, const RunData *a, const RunData *b)
{
    for (size_t i = 0; i < arrlenu(a->settings); i++) {
        char *name = a->settings[i].name;
        size_t known = 0;
        while (known < arrlenu(sweep->factors) && strcmp(sweep->factors[known], name) != 0)
            known++;
        if (known == arrlenu(sweep->factors) && strcmp(name, "attn") != 0 &&
            groups_setting_differs(a, b, name))
            arrput(sweep->factors, name);
    }
}

/* Whether runs with the same value of one setting have the same value of the other. */
static bool determines(const Sweep *sweep, const char *one, const char *other)
{
    for (size_t a = 0; a < sweep->count; a++)
        for (size_t b = 0; b < a; b++)
            if (strcmp(setting_or_none(&sweep->runs[a], one),
                       setting_or_none(&sweep->runs[b], one)) == 0 &&
                strcmp(setting_or_none(&sweep->runs[a], other),
                       setting_or_none(&sweep->runs[b], other)) != 0)
                return false;
    return true;
}

/* Leaves out factors that follow from an earlier one, as the batch size does from the context
 * with --batch-tokens. */
static void drop_dependent(Sweep *sweep)
{
    for (size_t i = arrlenu(sweep->factors); i-- > 1;)
        for (size_t j = 0; j < i; j++)
            if (determines(sweep, sweep->factors[j], sweep->factors[i])) {
                arrdel(sweep->factors, i);
                break;
            }
}

static void find_factors(Sweep *sweep)
{
    double of_a, of_b;
    Error error;
    for (size_t a = 0; a < sweep->count; a++)
        for (size_t b = 0; b < a; b++)
            if (strcmp(sweep->runs[a].attn, sweep->runs[b].attn) == 0 &&
                value_of(sweep, &sweep->runs[a], &of_a, &error) &&
                value_of(sweep, &sweep->runs[b], &of_b, &error) && of_a == of_b)
                add_factors(sweep, &sweep->runs[a], &sweep->runs[b]);
    drop_dependent(sweep);
}

static bool belongs_to(const Sweep *sweep, const Line *line, const RunData *run)
{
    const RunData *first = &sweep->runs[line->runs[0]];
    bool belongs = strcmp(first->attn, run->attn) == 0;
    for (size_t i = 0; i < arrlenu(sweep->factors) && belongs; i++)
        belongs = strcmp(setting_or_none(first, sweep->factors[i]),
                         setting_or_none(run, sweep->factors[i])) == 0;
    return belongs;
}

static Line *line_of(Sweep *sweep, const RunData *run)
{
    for (size_t i = 0; i < arrlenu(sweep->lines); i++)
        if (belongs_to(sweep, &sweep->lines[i], run))
            return &sweep->lines[i];
    Line line = {.name = memory_copy_text(run->attn)};
    for (size_t i = 0; i < arrlenu(sweep->factors); i++)
        text_append(&line.name, ", %s %s", sweep->factors[i],
                    setting_or_none(run, sweep->factors[i]));
    arrput(sweep->lines, line);
    return &arrlast(sweep->lines);
}

/* Keeps the points, and the values, in order of the values. */
static void add_run(Sweep *sweep, size_t index, double value)
{
    Line *line = line_of(sweep, &sweep->runs[index]);
    const ChartPoint point = {value, result_of(sweep, &sweep->runs[index])};
    size_t at = arrlenu(line->seeds), place = arrlenu(sweep->values);
    arrput(line->seeds, point);
    arrput(line->runs, index);
    for (; at > 0 && line->seeds[at - 1].x > value; at--) {
        line->seeds[at] = line->seeds[at - 1];
        line->runs[at] = line->runs[at - 1];
    }
    line->seeds[at] = point;
    line->runs[at] = index;
    for (size_t v = 0; v < place; v++)
        if (sweep->values[v] == value)
            return;
    arrput(sweep->values, value);
    for (; place > 0 && sweep->values[place - 1] > value; place--)
        sweep->values[place] = sweep->values[place - 1];
    sweep->values[place] = value;
}

/* Computes the means of a line, and chooses the lowest loss. */
static void finish_line(const Sweep *sweep, Line *line)
{
    for (size_t first = 0, end; first < arrlenu(line->seeds); first = end) {
        ChartPoint mean = {line->seeds[first].x, 0};
        for (end = first; end < arrlenu(line->seeds) && line->seeds[end].x == mean.x; end++)
            mean.y += line->seeds[end].y;
        mean.y /= (double)(end - first);
        arrput(line->means, mean);
    }
    line->best = arrlenu(line->means);
    for (size_t i = 0; i < arrlenu(line->means) && !sweep->of_task; i++)
        if (!isnan(line->means[i].y) && (line->best == arrlenu(line->means) ||
                                         line->means[i].y < line->means[line->best].y))
            line->best = i;
    const RunData *largest = &sweep->runs[arrlast(line->runs)];
    if (sweep->of_task && !is_by_state(sweep) && largest->state > 0) {
        char *amount = results_amount((double)largest->state);
        text_append(&line->name, ", %sB", amount);
        free(amount);
    }
}

static bool is_chosen(const Line *line)
{
    return line->best < arrlenu(line->means);
}

static bool is_at_edge(const Line *line)
{
    return line->best == 0 || line->best + 1 == arrlenu(line->means);
}

/* --- tables, charts and words --- */

/* The best value, and whether none beyond it was tried. The caller's; NULL: none. */
static char *choice_of(const Line *line)
{
    return is_chosen(line) ? text_format("%g%s", line->means[line->best].x,
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

/* Values that span so many times themselves, such as learning rates, are drawn on a logarithmic
 * axis. */
static bool are_wide(const double *values)
{
    const double wide = 5;
    return arrlenu(values) > 0 && values[0] > 0 && arrlast(values) >= wide * values[0];
}

static Chart chart_of(const Sweep *sweep, const RunChartAxes *axes)
{
    const bool times = axes->x == RUNCHART_TIME_PER_TOKEN;
    Chart chart = {.x_label = times                ? "training time per token (microseconds)"
                              : is_by_state(sweep) ? "state, bytes per sequence"
                                                   : sweep->setting,
                   .y_label = sweep->of_task && !is_by_state(sweep)
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
    return !is_chosen(line)
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
    for (size_t g = 0; g < arrlenu(all->groups) && is_chosen(line); g++)
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
        "best", is_chosen(line) ? json_figure(line->means[line->best].x) : json_null(),
        "at_edge", is_chosen(line) && is_at_edge(line), "verdict", markup_json(words), "points",
        points);
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

/* --- the whole --- */

/* Moves the runs that were chosen before the others; returns how many they are. */
static size_t move_chosen(RunData *runs, Sweep *sweep)
{
    bool *chosen = memory_new(sweep->count, sizeof *chosen, "the chosen runs");
    size_t *places = memory_new(sweep->count, sizeof *places, "the chosen runs"), count = 0;
    RunData *moved = NULL;
    for (size_t i = 0; i < arrlenu(sweep->lines); i++) {
        const Line *line = &sweep->lines[i];
        for (size_t r = 0; r < arrlenu(line->runs) && is_chosen(line); r++)
            chosen[line->runs[r]] = line->seeds[r].x == line->means[line->best].x;
    }
    for (int others = 0; others < 2; others++)
        for (size_t r = 0; r < sweep->count; r++)
            if (chosen[r] != others) {
                places[r] = arrlenu(moved);
                arrput(moved, runs[r]);
                count += chosen[r];
            }
    memcpy(runs, moved, sweep->count * sizeof *runs);
    for (size_t i = 0; i < arrlenu(sweep->lines); i++)
        for (size_t r = 0; r < arrlenu(sweep->lines[i].runs); r++)
            sweep->lines[i].runs[r] = places[sweep->lines[i].runs[r]];
    arrfree(moved);
    free(places);
    free(chosen);
    return count;
}

/* Whether all that the axes need is known of a run. */
static bool has_axes(const RunData *run, const RunChartAxes *axes, Error *error)
{
    const bool has_bits = axes->y != RUNCHART_BITS || run->val_bits > 0,
               has_time = axes->x != RUNCHART_TIME_PER_TOKEN || run->tokens_per_second > 0;
    return (has_bits && has_time) ||
           error_usage(error, "--%s: of %s %s",
                       has_bits ? "x time-per-token" : "y bits-per-byte", run->name,
                       has_bits ? "no speed is known"
                                : "the bytes of the validation text are unknown");
}

static bool read_sweep(Sweep *sweep, const RunChartAxes *axes, Error *error)
{
    double value;
    const char *corpus = sweep->runs[0].corpus;
    sweep->of_task = is_by_state(sweep)
                         ? corpus && task_is_named(corpus)
                         : task_value_of(&sweep->runs[0], sweep->setting, &value);
    sweep->y_label = sweep->of_task ? "accuracy, %"
                     : sweep->bits  ? "validation bits per byte"
                                    : "validation loss";
    for (size_t r = 0; r < sweep->count; r++) {
        if (!value_of(sweep, &sweep->runs[r], &value, error) ||
            !has_axes(&sweep->runs[r], axes, error))
            return false;
        if (!sweep->of_task && !groups_same_scale(&sweep->runs[0], &sweep->runs[r]))
            return error_usage(error,
                               "--by %s: %s and %s were trained on different texts or tokens, "
                               "whose losses do not compare",
                               sweep->setting, sweep->runs[0].name, sweep->runs[r].name);
    }
    if (!sweep->of_task)
        find_factors(sweep);
    for (size_t r = 0; r < sweep->count; r++)
        if (value_of(sweep, &sweep->runs[r], &value, error) &&
            is_measured(sweep, &sweep->runs[r])) /* else nothing is validated yet */
            add_run(sweep, r, value);
    for (size_t i = 0; i < arrlenu(sweep->lines); i++)
        finish_line(sweep, &sweep->lines[i]);
    return true;
}

Sweep *sweep_make(RunData *runs, size_t *count, const CompareSettings *settings, Error *error)
{
    Sweep *sweep = memory_new(1, sizeof *sweep, "the results by a setting");
    *sweep = (Sweep){.runs = runs,
                     .count = *count,
                     .setting = settings->by,
                     .bits = runs[0].by_bits || settings->axes.y == RUNCHART_BITS};
    if (!read_sweep(sweep, &settings->axes, error)) {
        sweep_free(sweep);
        return NULL;
    }
    if (!sweep->of_task)
        *count = move_chosen(runs, sweep);
    return sweep;
}

bool sweep_is_of_task(const Sweep *sweep)
{
    return sweep->of_task;
}

void sweep_free(Sweep *sweep)
{
    for (size_t i = 0; sweep && i < arrlenu(sweep->lines); i++) {
        free(sweep->lines[i].name);
        arrfree(sweep->lines[i].seeds);
        arrfree(sweep->lines[i].runs);
        arrfree(sweep->lines[i].means);
    }
    if (sweep) {
        arrfree(sweep->lines);
        arrfree(sweep->factors);
        arrfree(sweep->values);
    }
    free(sweep);
}
