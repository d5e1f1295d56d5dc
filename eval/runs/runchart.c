#include "eval/runs/runchart.h"
#include "eval/runs/results.h"
#include "src/attention/attention.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *runchart_x_name(size_t index)
{
    static const char *const names[] = {"epoch",   "step",           "tokens",
                                        "seconds", "time-per-token", NULL};
    return names[index];
}

const char *runchart_y_name(size_t index)
{
    static const char *const names[] = {"auto", "loss", "perplexity", "bits-per-byte", NULL};
    return names[index];
}

/* A place on the x axis, of those that a row or a point of a group knows. */
static double pick_x(size_t x, double epoch, size_t step, double tokens, double seconds)
{
    const double places[] = {[RUNCHART_EPOCH] = epoch,
                             [RUNCHART_STEP] = (double)step,
                             [RUNCHART_TOKENS] = tokens,
                             [RUNCHART_SECONDS] = seconds};
    assert(x < RUNCHART_TIME_PER_TOKEN); /* which no curve has */
    return places[x];
}

static double x_of_row(const RunLogRow *row, const RunChartAxes *axes)
{
    return pick_x(axes->x, row->epoch, row->step, (double)row->tokens, row->seconds);
}

/* A loss in nats per token as shown; bits: of one nat. */
static double loss_y(double loss, double bits, RunChartY y)
{
    return y == RUNCHART_PERPLEXITY ? exp(loss)
           : y == RUNCHART_BITS     ? (bits > 0 ? loss * bits : NAN)
                                    : loss;
}

static RunChartY settle_y(const RunGroup *groups, const RunChartAxes *axes)
{
    return axes->y != RUNCHART_AUTO               ? (RunChartY)axes->y
           : groups_measure(groups) == GROUP_BITS ? RUNCHART_BITS
                                                  : RUNCHART_LOSS;
}

/* Adds a series of a run, in its colour. */
static ChartSeries *add_series(Chart *chart, const RunData *run, const char *name)
{
    ChartSeries *series = chart_add(chart, name, NULL, 0);
    series->identity = run->identity;
    return series;
}

/* Adds the training losses of a run, unless it has none. */
static void add_train(Chart *chart, const RunData *run, const char *name,
                      const RunChartAxes *axes, RunChartY y)
{
    if (arrlenu(run->rows) == 0)
        return;
    char *of_train = name ? text_format("%s (train)", name) : NULL;
    ChartSeries *series = add_series(chart, run, of_train);
    for (size_t i = 0; i < arrlenu(run->rows); i++)
        arrput(series->points,
               ((ChartPoint){x_of_row(&run->rows[i], axes),
                             loss_y(run->rows[i].train_loss, run->train_bits, y)}));
    series->faint = true;
    series->diverged = rundata_diverged(run);
    free(of_train);
}

/* Adds the validation losses of a group, unless it has none; of several runs with a band. */
static void add_validations(Chart *chart, const RunGroup *group, const RunChartAxes *axes,
                            RunChartY y)
{
    double bits = group->runs[0]->val_bits;
    if (arrlenu(group->points) == 0)
        return;
    ChartSeries *series = add_series(chart, group->runs[0], group->name);
    for (size_t i = 0; i < arrlenu(group->points); i++) {
        const GroupPoint *of = &group->points[i];
        ChartPoint point = {pick_x(axes->x, of->epoch, of->step, of->tokens, of->seconds),
                            loss_y(of->mean, bits, y)};
        ChartBand around = {loss_y(of->low, bits, y), loss_y(of->high, bits, y)};
        arrput(series->points, point);
        if (arrlenu(group->runs) > 1)
            arrput(series->band, around);
    }
    series->diverged = group_diverged(group);
}

/* A vertical line where a run's matching of attention outputs ended, unless it had none. */
static void add_stage(Chart *chart, const RunGroup *group, const RunChartAxes *axes,
                      RunChartY y)
{
    const RunData *run = group->runs[0];
    const RunLogRow *row = rundata_last_match(run);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < arrlenu(group->points); i++) {
        low = fmin(low, loss_y(group->points[i].low, run->val_bits, y));
        high = fmax(high, loss_y(group->points[i].high, run->val_bits, y));
    }
    if (!row || !(low < high))
        return;
    ChartSeries *series = add_series(chart, run, NULL);
    arrput(series->points, ((ChartPoint){x_of_row(row, axes), low}));
    arrput(series->points, ((ChartPoint){x_of_row(row, axes), high}));
    series->faint = true;
}

/* A level line from the first x to the last. */
static void add_floor(Chart *chart, double level)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t s = 0; s < arrlenu(chart->series); s++)
        for (size_t i = 0; i < arrlenu(chart->series[s].points); i++) {
            low = fmin(low, chart->series[s].points[i].x);
            high = fmax(high, chart->series[s].points[i].x);
        }
    const ChartPoint ends[] = {{low, level}, {high, level}};
    chart_add(chart, "entropy of the corpus", ends, 2)->identity = CHART_NOBODY;
}

/* Whether a group has too few validations for a curve, but training losses. */
static bool needs_train(const RunGroup *group)
{
    return arrlenu(group->points) < 2 && arrlenu(group->runs[0]->rows) > 1;
}

/* Whether validation losses of any run are of a part of the text. */
static bool shows_parts(const RunGroup *groups)
{
    for (size_t g = 0; g < arrlenu(groups); g++)
        if (groups[g].runs[0]->part_tokens > 0)
            return true;
    return false;
}

/* What the axis measures: with training losses or without, on a part or not. */
static const char *y_label(RunChartY y, bool train, bool part)
{
    static const char *const labels[][2][2] = {
        [RUNCHART_LOSS] = {{"validation loss (nats per token)",
                            "validation loss on a part (nats)"},
                           {"loss (nats per token)", "loss, validation on a part (nats)"}},
        [RUNCHART_PERPLEXITY] = {{"validation perplexity", "validation perplexity on a part"},
                                 {"perplexity", "perplexity, validation on a part"}},
        [RUNCHART_BITS] = {{"validation bits per byte", "bits per byte, on a part"},
                           {"bits per byte", "bits per byte, validation on a part"}}};
    return labels[y][train][part];
}

Chart runchart_make(const RunGroup *groups, double entropy, const RunChartAxes *axes)
{
    const RunChartY y = settle_y(groups, axes);
    Chart chart = {.x_label = runchart_x_name(axes->x)};
    bool train = axes->train;
    /* Training losses first: the validation curves, which count, are drawn over them. */
    for (size_t g = 0; g < arrlenu(groups); g++) {
        bool needed = needs_train(&groups[g]);
        size_t runs = axes->train ? arrlenu(groups[g].runs) : needed;
        for (size_t r = 0; r < runs; r++) /* one name for all of them */
            add_train(&chart, groups[g].runs[r], r ? NULL : groups[g].name, axes, y);
        train |= needed;
    }
    for (size_t g = 0; g < arrlenu(groups); g++)
        add_stage(&chart, &groups[g], axes, y);
    for (size_t g = 0; g < arrlenu(groups); g++)
        add_validations(&chart, &groups[g], axes, y);
    double level = arrlenu(groups) ? loss_y(entropy, groups[0].runs[0]->val_bits, y) : NAN;
    if (chart.series && !isnan(level))
        add_floor(&chart, level);
    chart.y_label = y_label(y, train, shows_parts(groups));
    return chart;
}

bool runchart_mixes_tokens(const RunGroup *groups, const RunChartAxes *axes)
{
    return groups_measure(groups) == GROUP_BITS && settle_y(groups, axes) != RUNCHART_BITS;
}

/* The corpus that all groups have, without its folder; NULL: none. */
static const char *shared_corpus(const RunGroup *groups)
{
    const char *corpus = arrlenu(groups) ? groups[0].runs[0]->corpus : NULL;
    for (size_t g = 1; g < arrlenu(groups); g++) {
        const char *other = groups[g].runs[0]->corpus;
        if (!corpus || !other || strcmp(corpus, other) != 0)
            return NULL;
    }
    return corpus ? file_base_name(corpus) : NULL;
}

char *runchart_title(const RunGroup *groups, const RunChartAxes *axes)
{
    const char *corpus = shared_corpus(groups);
    static const char *const names[] = {[RUNCHART_LOSS] = "loss",
                                        [RUNCHART_PERPLEXITY] = "perplexity",
                                        [RUNCHART_BITS] = "bits per byte"};
    char *title = text_format("Validation %s", names[settle_y(groups, axes)]);
    if (corpus)
        text_append(&title, " on %s", corpus);
    text_append(&title, ": ");
    groups_append_names(&title, groups);
    return title;
}

/* --- the forest plot --- */

/* The number of the idea of a run's attention kind, in the order of `--attn help`, and its
 * name, which is NULL for unknown or mixed kinds. */
static size_t idea_of(const RunData *run, const char **idea)
{
    size_t number = 0;
    *idea = NULL;
    for (size_t i = 0; attention_name(i); i++) {
        if (attention_group(i)) {
            *idea = attention_group(i);
            number++;
        }
        if (run->attn && strcmp(attention_name(i), run->attn) == 0)
            return number;
    }
    *idea = NULL;
    return number + 1;
}

/* 0 for the control; NaN without a difference. */
static double estimate_of(const RunGroup *group, const RunGroup *control, GroupLoss loss)
{
    const GroupDifference *from = &group->differences[loss];
    bool is_control = group->runs[0] == control->runs[0] && !isnan(control->losses[loss].mean);
    return is_control ? 0 : group_per_cent(from, from->of.mean, loss);
}

/* Whether group a stands after b: by idea, then by estimate; without one last. */
static bool stands_after(const RunGroup *a, const RunGroup *b, const RunGroup *control,
                         GroupLoss loss)
{
    const char *name;
    const size_t of_a = idea_of(a->runs[0], &name), of_b = idea_of(b->runs[0], &name);
    const double x = estimate_of(a, control, loss), y = estimate_of(b, control, loss);
    return of_a != of_b ? of_a > of_b : x > y || (isnan(x) && !isnan(y));
}

/* The groups in the order of the plot, which borrow from the given ones; an array of stb_ds. */
static RunGroup *sort_for_forest(const RunGroup *groups, GroupLoss loss)
{
    RunGroup *sorted = NULL;
    for (size_t g = 0; g < arrlenu(groups); g++) {
        size_t at = g;
        arrput(sorted, groups[g]);
        for (; at > 0 && stands_after(&sorted[at - 1], &groups[g], groups, loss); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = groups[g];
    }
    return sorted;
}

/* The words before the first comma or colon of an idea. The caller's. */
static char *heading_of(const char *idea)
{
    return idea ? text_format("%.*s", (int)strcspn(idea, ",:"), idea)
                : memory_copy_text("Mixed or other kinds");
}

size_t runchart_idea(const RunData *run, char **heading)
{
    const char *idea;
    const size_t number = idea_of(run, &idea);
    *heading = heading_of(idea);
    return number;
}

Forest runchart_forest(const RunGroup *groups)
{
    const GroupLoss loss = groups_compared_loss(groups);
    const bool of_test = loss == GROUP_TEST || loss == GROUP_TEST_BITS,
               of_bits = loss == GROUP_BITS || loss == GROUP_TEST_BITS;
    RunGroup *sorted = sort_for_forest(groups, loss);
    const RunSetting *apart = groups[0].runs[0]->apart;
    const char *control = groups[0].name, *corpus = shared_corpus(groups),
               *measure = of_bits ? "bits per byte" : "perplexity",
               *text = of_test ? "test" : "validation";
    char *title = text_format("Change of the %s %s", text, measure);
    if (corpus)
        text_append(&title, " on %s", corpus);
    if (apart)
        text_append(&title, ", %s %s", apart->name, apart->value);
    text_append(&title, " against %s", control);
    Forest forest = {.table = results_for_forest(sorted),
                     .x_label = text_format("%s %s vs. %s, %%", text, measure, control),
                     .title = title,
                     .note = text_format("Lines: 95 %% confidence intervals over seeds. "
                                         "Filled: told apart from %s (Holm, %g).",
                                         control, GROUP_TAILS)};
    const char *before = "";
    bool single = false; /* an estimate has no interval */
    for (size_t g = 0; g < arrlenu(sorted); g++) {
        const GroupDifference *from = &sorted[g].differences[loss];
        const char *idea;
        idea_of(sorted[g].runs[0], &idea);
        arrput(forest.marks, ((ForestMark){.heading = idea != before ? heading_of(idea) : NULL,
                                           .estimate = estimate_of(&sorted[g], groups, loss),
                                           .low = group_per_cent(from, from->of.low, loss),
                                           .high = group_per_cent(from, from->of.high, loss),
                                           .filled = from->holm < GROUP_TAILS}));
        single |= isnan(from->of.low) && from->of.mean < INFINITY;
        before = idea;
    }
    if (single)
        text_append(&forest.note, " Without a line: fewer than two seeds.");
    arrfree(sorted);
    return forest;
}

bool runchart_has_forest(const RunGroup *groups)
{
    for (size_t g = 0; g < arrlenu(groups); g++)
        if (!isnan(groups[g].differences[groups_compared_loss(groups)].of.mean))
            return true;
    return false;
}

/* --- thinning --- */

typedef enum Curve { CURVE_TRAIN, CURVE_VALIDATION, CURVE_SPEED, CURVES } Curve;

/* Marks the rows that one curve needs. */
static void keep_curve(bool *kept, const RunLogRow *rows, Curve curve, size_t most)
{
    ChartPoint *points = NULL;
    size_t *of_points = NULL;
    for (size_t i = 0; i < arrlenu(rows); i++) {
        const RunLogRow *row = &rows[i];
        const double y[CURVES] = {row->train_loss, row->val_loss, row->tokens_per_second};
        if (curve == CURVE_VALIDATION && !row->has_val_loss)
            continue;
        arrput(points, ((ChartPoint){(double)row->step, y[curve]}));
        arrput(of_points, i);
    }
    size_t *drawn = chart_thin(points, arrlenu(points), most);
    for (size_t i = 0; i < arrlenu(drawn); i++)
        kept[of_points[drawn[i]]] = true;
    arrfree(drawn);
    arrfree(of_points);
    arrfree(points);
}

RunLogRow *runchart_thin(const RunLogRow *rows, size_t most)
{
    RunLogRow *left = NULL;
    bool *kept = memory_new(arrlenu(rows) + 1, sizeof *kept, "the curves");
    for (Curve curve = 0; curve < CURVES; curve++)
        keep_curve(kept, rows, curve, most);
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (kept[i])
            arrput(left, rows[i]);
    free(kept);
    return left;
}
