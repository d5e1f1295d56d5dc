#include "eval/runs/runchart.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum XAxis { X_EPOCH, X_STEP, X_TOKENS, X_SECONDS } XAxis;
typedef enum YAxis { Y_AUTO, Y_LOSS, Y_PERPLEXITY, Y_BITS } YAxis;

const char *runchart_x_name(size_t index)
{
    static const char *const names[] = {"epoch", "step", "tokens", "seconds", NULL};
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
    switch ((XAxis)x) {
    case X_EPOCH:
        return epoch;
    case X_STEP:
        return (double)step;
    case X_TOKENS:
        return tokens;
    case X_SECONDS:
        return seconds;
    }
    return NAN;
}

/* A loss in nats per token as shown; bits: of one nat. */
static double loss_y(double loss, double bits, YAxis y)
{
    return y == Y_PERPLEXITY ? exp(loss) : y == Y_BITS ? (bits > 0 ? loss * bits : NAN) : loss;
}

static YAxis settle_y(const RunGroup *groups, const RunChartAxes *axes)
{
    return axes->y != Y_AUTO                      ? (YAxis)axes->y
           : groups_measure(groups) == GROUP_BITS ? Y_BITS
                                                  : Y_LOSS;
}

/* A chart while it grows: two arrays of stb_ds, of one length. */
typedef struct Drawing {
    ChartSeries *series;
    ChartLook *looks;
} Drawing;

/* Takes over the points and the look's band, and a copy of the name. */
static void add_series(Drawing *drawing, const char *name, ChartPoint *points, ChartLook look)
{
    ChartSeries one = {name ? memory_copy_text(name) : NULL, points, arrlenu(points)};
    arrput(drawing->series, one);
    arrput(drawing->looks, look);
}

/* Adds the training losses of a run, unless it has none. */
static void add_train(Drawing *drawing, const RunData *run, const char *name,
                      const RunChartAxes *axes, YAxis y)
{
    ChartPoint *points = NULL;
    for (size_t i = 0; i < arrlenu(run->rows); i++) {
        const RunLogRow *row = &run->rows[i];
        ChartPoint point = {
            pick_x(axes->x, row->epoch, row->step, (double)row->tokens, row->seconds),
            loss_y(row->train_loss, run->train_bits, y)};
        arrput(points, point);
    }
    char *of_train = name ? text_format("%s (train)", name) : NULL;
    if (points)
        add_series(drawing, of_train, points,
                   (ChartLook){.identity = run->identity,
                               .faint = true,
                               .diverged = rundata_diverged(run)});
    free(of_train);
}

/* Adds the validation losses of a group, unless it has none; of several runs with a band. */
static void add_validations(Drawing *drawing, const RunGroup *group, const RunChartAxes *axes,
                            YAxis y)
{
    double bits = group->runs[0]->val_bits;
    ChartPoint *points = NULL;
    ChartBand *band = NULL;
    for (size_t i = 0; i < arrlenu(group->points); i++) {
        const GroupPoint *of = &group->points[i];
        ChartPoint point = {pick_x(axes->x, of->epoch, of->step, of->tokens, of->seconds),
                            loss_y(of->mean, bits, y)};
        ChartBand around = {loss_y(of->low, bits, y), loss_y(of->high, bits, y)};
        arrput(points, point);
        if (arrlenu(group->runs) > 1)
            arrput(band, around);
    }
    if (points)
        add_series(drawing, group->name, points,
                   (ChartLook){.identity = group->runs[0]->identity,
                               .band = band,
                               .diverged = group_diverged(group)});
}

/* A vertical line where a run's matching of attention outputs ended, unless it had none. */
static void add_stage(Drawing *drawing, const RunGroup *group, const RunChartAxes *axes,
                      YAxis y)
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
    double x = pick_x(axes->x, row->epoch, row->step, (double)row->tokens, row->seconds);
    ChartPoint *points = NULL;
    arrput(points, ((ChartPoint){x, low}));
    arrput(points, ((ChartPoint){x, high}));
    add_series(drawing, NULL, points, (ChartLook){.identity = run->identity, .faint = true});
}

/* A level line from the first x to the last. */
static void add_floor(Drawing *drawing, double level)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t s = 0; s < arrlenu(drawing->series); s++)
        for (size_t i = 0; i < drawing->series[s].count; i++) {
            low = fmin(low, drawing->series[s].points[i].x);
            high = fmax(high, drawing->series[s].points[i].x);
        }
    ChartPoint *points = NULL;
    arrput(points, ((ChartPoint){low, level}));
    arrput(points, ((ChartPoint){high, level}));
    add_series(drawing, "entropy of the corpus", points, (ChartLook){.identity = CHART_NOBODY});
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
static const char *y_label(YAxis y, bool train, bool part)
{
    static const char *const labels[][2][2] = {
        [Y_LOSS] = {{"validation loss (nats per token)", "validation loss on a part (nats)"},
                    {"loss (nats per token)", "loss, validation on a part (nats)"}},
        [Y_PERPLEXITY] = {{"validation perplexity", "validation perplexity on a part"},
                          {"perplexity", "perplexity, validation on a part"}},
        [Y_BITS] = {{"validation bits per byte", "bits per byte, on a part"},
                    {"bits per byte", "bits per byte, validation on a part"}}};
    return labels[y][train][part];
}

Chart runchart_make(const RunGroup *groups, double entropy, const RunChartAxes *axes)
{
    const YAxis y = settle_y(groups, axes);
    Drawing drawing = {0};
    bool train = axes->train;
    /* Training losses first: the validation curves, which count, are drawn over them. */
    for (size_t g = 0; g < arrlenu(groups); g++) {
        bool needed = needs_train(&groups[g]);
        size_t runs = axes->train ? arrlenu(groups[g].runs) : needed;
        for (size_t r = 0; r < runs; r++) /* one name for all of them */
            add_train(&drawing, groups[g].runs[r], r ? NULL : groups[g].name, axes, y);
        train |= needed;
    }
    for (size_t g = 0; g < arrlenu(groups); g++)
        add_stage(&drawing, &groups[g], axes, y);
    for (size_t g = 0; g < arrlenu(groups); g++)
        add_validations(&drawing, &groups[g], axes, y);
    double level = arrlenu(groups) ? loss_y(entropy, groups[0].runs[0]->val_bits, y) : NAN;
    if (drawing.series && !isnan(level))
        add_floor(&drawing, level);
    return (Chart){.series = drawing.series,
                   .series_count = arrlenu(drawing.series),
                   .looks = drawing.looks,
                   .x_label = runchart_x_name(axes->x),
                   .y_label = y_label(y, train, shows_parts(groups))};
}

bool runchart_mixes_tokens(const RunGroup *groups, const RunChartAxes *axes)
{
    return groups_measure(groups) == GROUP_BITS && settle_y(groups, axes) != Y_BITS;
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
    static const char *const names[] = {
        [Y_LOSS] = "loss", [Y_PERPLEXITY] = "perplexity", [Y_BITS] = "bits per byte"};
    char *title = text_format("Validation %s", names[settle_y(groups, axes)]);
    if (corpus)
        text_append(&title, " on %s", corpus);
    text_append(&title, ": ");
    groups_append_names(&title, groups);
    return title;
}

void runchart_free(Chart *chart)
{
    ChartSeries *series = (ChartSeries *)chart->series;
    ChartLook *looks = (ChartLook *)chart->looks;
    for (size_t s = 0; s < chart->series_count; s++) {
        ChartPoint *points = (ChartPoint *)series[s].points;
        ChartBand *band = (ChartBand *)looks[s].band;
        arrfree(points);
        arrfree(band);
        free((char *)series[s].name);
    }
    arrfree(series);
    arrfree(looks);
    *chart = (Chart){0};
}
