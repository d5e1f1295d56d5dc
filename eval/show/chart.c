#include "eval/show/chart.h"
#include "src/base/containers.h"

#include <math.h>
#include <string.h>

ChartSeries *chart_add(Chart *chart, const char *name, const ChartPoint *points, size_t count)
{
    ChartSeries series = {.name = name ? memory_copy_text(name) : NULL,
                          .identity = arrlenu(chart->series)};
    if (count > 0)
        memcpy(arraddnptr(series.points, count), points, count * sizeof *points);
    arrput(chart->series, series);
    return &arrlast(chart->series);
}

void chart_free(Chart *chart)
{
    for (size_t s = 0; s < arrlenu(chart->series); s++) {
        free(chart->series[s].name);
        arrfree(chart->series[s].points);
        arrfree(chart->series[s].band);
        arrfree(chart->series[s].labels);
    }
    arrfree(chart->series);
    *chart = (Chart){0};
}

bool chart_has(ChartPoint point)
{
    /* Beyond this, high - low could be infinite. NaN fails every comparison. */
    const double most = 1e300;
    return fabs(point.x) <= most && fabs(point.y) <= most;
}

bool chart_is_level(const ChartSeries *series)
{
    return series->identity == CHART_NOBODY;
}

bool chart_has_sound(const Chart *chart)
{
    for (size_t s = 0; s < arrlenu(chart->series); s++) {
        const ChartSeries *series = &chart->series[s];
        for (size_t i = 0; i < arrlenu(series->points); i++)
            if (!chart_is_level(series) && !series->diverged && chart_has(series->points[i]))
                return true;
    }
    return false;
}

/* --- thinning --- */

/* Marks what one interval of a curve needs. */
static void keep_extremes(bool *kept, const ChartPoint *points, size_t first, size_t end)
{
    size_t low = end, high = end, gap = end;
    for (size_t i = first; i < end; i++) {
        if (!chart_has(points[i])) {
            gap = i;
            continue;
        }
        low = low < end && points[low].y <= points[i].y ? low : i;
        high = high < end && points[high].y >= points[i].y ? high : i;
    }
    const size_t needed[] = {low, high, gap};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i] < end)
            kept[needed[i]] = true;
}

/* Intervals have the same length in x, so that where points have been left out before they are
 * no longer than elsewhere. Points without a place belong to the interval before them. */
static void keep_intervals(bool *kept, const ChartPoint *points, size_t count, double intervals)
{
    double low = INFINITY, high = -INFINITY, current = 0;
    for (size_t i = 0; i < count; i++)
        if (chart_has(points[i])) {
            low = fmin(low, points[i].x);
            high = fmax(high, points[i].x);
        }
    size_t first = 0;
    for (size_t i = 0; i < count; i++) {
        double place = floor((points[i].x - low) / (high - low) * intervals);
        if (!chart_has(points[i]) || !(high > low) || place == current)
            continue;
        keep_extremes(kept, points, first, i);
        first = i;
        current = place;
    }
    keep_extremes(kept, points, first, count);
}

size_t *chart_thin(const ChartPoint *points, size_t count, size_t most)
{
    enum { ENDS = 2, FROM_AN_INTERVAL = 3 };
    size_t *indexes = NULL;
    bool *kept = memory_new(count + 1, sizeof *kept, "the curves");
    if (count > most) {
        keep_intervals(kept, points, count, (double)((most - ENDS) / FROM_AN_INTERVAL));
        kept[0] = kept[count - 1] = true;
    }
    for (size_t i = 0; i < count; i++)
        if (count <= most || kept[i])
            arrput(indexes, i);
    free(kept);
    return indexes;
}
