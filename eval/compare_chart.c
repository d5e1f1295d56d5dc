#include "eval/compare_chart.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>

typedef enum XAxis { X_EPOCH, X_STEP, X_TOKENS, X_SECONDS } XAxis;
typedef enum YAxis { Y_LOSS, Y_PERPLEXITY } YAxis;

const char *compare_x_name(size_t index)
{
    static const char *const names[] = {"epoch", "step", "tokens", "seconds", NULL};
    return names[index];
}

const char *compare_y_name(size_t index)
{
    static const char *const names[] = {"loss", "perplexity", NULL};
    return names[index];
}

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
                       const CompareAxes *axes)
{
    ChartPoint *points = NULL;
    for (size_t i = 0; i < arrlenu(run->rows); i++) {
        const RunLogRow *row = &run->rows[i];
        double loss = train ? row->train_loss : row->val_loss;
        if (!train && !row->has_val_loss)
            continue;
        ChartPoint point = {row_x(row, axes->x), loss_y(loss, axes->y)};
        arrput(points, point);
    }
    if (!points)
        return;
    ChartSeries one = {text_format("%s%s", name, train ? " (train)" : ""), points,
                       arrlenu(points)};
    arrput(*series, one);
}

/* A level line from the first x to the last. */
static void add_floor(ChartSeries **series, double entropy, const CompareAxes *axes)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t s = 0; s < arrlenu(*series); s++)
        for (size_t i = 0; i < (*series)[s].count; i++) {
            low = fmin(low, (*series)[s].points[i].x);
            high = fmax(high, (*series)[s].points[i].x);
        }
    ChartPoint *points = NULL;
    arrput(points, ((ChartPoint){low, loss_y(entropy, axes->y)}));
    arrput(points, ((ChartPoint){high, loss_y(entropy, axes->y)}));
    ChartSeries one = {memory_copy_text("entropy of the corpus"), points, arrlenu(points)};
    arrput(*series, one);
}

Chart compare_chart_make(const RunData *runs, size_t count, char *const *names, double entropy,
                         const CompareAxes *axes)
{
    static const char *const y_labels[][2] = {
        {"validation loss (nats per token)", "loss (nats per token)"},
        {"validation perplexity", "perplexity"}};
    ChartSeries *series = NULL;
    /* Training losses first: the validation curves, which count, are drawn over them. */
    for (size_t r = 0; axes->train && r < count; r++)
        add_series(&series, &runs[r], names[r], true, axes);
    for (size_t r = 0; r < count; r++)
        add_series(&series, &runs[r], names[r], false, axes);
    if (series && !isnan(entropy))
        add_floor(&series, entropy, axes);
    return (Chart){.series = series,
                   .series_count = arrlenu(series),
                   .x_label = compare_x_name(axes->x),
                   .y_label = y_labels[axes->y][axes->train]};
}

void compare_chart_free(Chart *chart)
{
    ChartSeries *series = (ChartSeries *)chart->series;
    for (size_t s = 0; s < chart->series_count; s++) {
        ChartPoint *points = (ChartPoint *)series[s].points;
        arrfree(points);
        free((char *)series[s].name);
    }
    arrfree(series);
    *chart = (Chart){0};
}
