#include "eval/show/plane.h"

#include <math.h>
#include <string.h>

enum { TICKS = 6 };

bool plane_has(const Plane *plane, ChartPoint point)
{
    const double least = 1e-300; /* of which there are logarithms */
    return chart_has(point) && (!plane->logarithmic || (point.x > least && point.y > least));
}

/* Widens a range by a value that can be drawn. */
static void include(double range[2], double value)
{
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
}

static Axis make_axis(const Plane *plane, const double range[2])
{
    return plane->logarithmic ? axis_make_logarithmic(range[0], range[1])
                              : axis_make(range[0], range[1], TICKS);
}

/* Widens the ranges by all points of the series that are levels, or of those that are not. */
static void include_series(const Plane *plane, const Chart *chart, bool levels, double x[2],
                           double y[2])
{
    bool leave_out = chart_has_sound(chart); /* diverged runs, from the range of y */
    for (size_t s = 0; s < chart->series_count; s++) {
        if (chart_is_level(chart, s) != levels)
            continue;
        ChartLook look = chart_look(chart, s);
        for (size_t i = 0; i < chart->series[s].count; i++) {
            ChartPoint point = chart->series[s].points[i];
            if (!plane_has(plane, point))
                continue;
            include(x, point.x);
            if (look.diverged && leave_out)
                continue;
            include(y, point.y);
            if (look.band) {
                include(y, look.band[i].low);
                include(y, look.band[i].high);
            }
        }
    }
}

/* Levels widen the range of the curves only as long as the curves keep most of the plot. */
Plane plane_of(const Chart *chart)
{
    const double most_for_levels = 0.3, label_share = (double)PLANE_LINE / PLANE_HEIGHT;
    Plane plane = {.logarithmic = chart->logarithmic};
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    include_series(&plane, chart, false, x, y);
    double with_x[2] = {x[0], x[1]}, with_y[2] = {y[0], y[1]};
    include_series(&plane, chart, true, with_x, with_y);
    bool widened = with_y[0] < y[0] || with_y[1] > y[1];
    if (!(y[1] - y[0] < (1 - most_for_levels) * (with_y[1] - with_y[0]))) {
        memcpy(x, with_x, sizeof x);
        memcpy(y, with_y, sizeof y);
        if (widened && !plane.logarithmic) /* room for the name below the line */
            y[0] -= label_share * 1.3 * (y[1] - y[0]);
    }
    plane.x = make_axis(&plane, x);
    plane.y = make_axis(&plane, y);
    return plane;
}

double plane_x(const Plane *plane, double x)
{
    return PLANE_LEFT + axis_share(&plane->x, x) * (plane->right - PLANE_LEFT);
}

double plane_y(const Plane *plane, double y)
{
    double share = fmin(fmax(axis_share(&plane->y, y), 0), 1);
    return plane->top + PLANE_HEIGHT - share * PLANE_HEIGHT;
}

bool plane_last(const Plane *plane, const ChartSeries *series, ChartPoint *end)
{
    for (size_t i = series->count; i > 0; i--)
        if (plane_has(plane, series->points[i - 1])) {
            *end = series->points[i - 1];
            return true;
        }
    return false;
}

bool plane_leaves_out(const Plane *plane, const Chart *chart, size_t series)
{
    ChartPoint end;
    return chart_is_level(chart, series) && plane_last(plane, &chart->series[series], &end) &&
           !(end.y >= plane->y.low && end.y <= plane->y.high);
}
