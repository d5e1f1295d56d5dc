/* The results of runs against a setting: of a synthetic task the accuracy, else the best
 * validation loss against a number such as the learning rate, of which each line's best is
 * chosen. */
#include "eval/compare/sweep.h"
#include "data/corpora/tasks.h"
#include "eval/runs/results.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>

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

bool sweep_is_by_state(const Sweep *sweep)
{
    return strcmp(sweep->setting, "state") == 0;
}

static bool value_of(const Sweep *sweep, const RunData *run, double *value, Error *error)
{
    if (sweep_is_by_state(sweep) && run->attn && run->state > 0) {
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
    if (sweep->of_task && !sweep_is_by_state(sweep) && largest->state > 0) {
        char *amount = results_amount((double)largest->state);
        text_append(&line->name, ", %sB", amount);
        free(amount);
    }
}

bool sweep_line_is_chosen(const Line *line)
{
    return line->best < arrlenu(line->means);
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
        for (size_t r = 0; r < arrlenu(line->runs) && sweep_line_is_chosen(line); r++)
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
    sweep->of_task = sweep_is_by_state(sweep)
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
