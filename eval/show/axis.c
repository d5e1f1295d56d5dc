#include "eval/show/axis.h"
#include "src/base/containers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Values that agree in seven digits get a range around them, in which labels of seven digits
 * can still differ. */
static Axis make_range(double low, double high)
{
    const double tiny = 1e-300, same = 1e-7, around = 0.1;
    if (low > high)
        return (Axis){.low = 0, .high = 1};
    double largest = fmax(fabs(low), fabs(high));
    if (high - low > fmax(largest * same, tiny))
        return (Axis){.low = low, .high = high};
    double half = largest > tiny / around ? largest * around : 1;
    return (Axis){.low = low - half, .high = low + half};
}

/* The smallest of 1, 2, 5 times a power of ten that is no smaller than least. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least)));
    if (power > least) /* log10 was rounded up */
        power /= 10;
    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}

static void choose_unit(Axis *axis)
{
    static const struct {
        double from, unit;
        const char *suffix;
    } units[] = {
        {1e12, 1e12, "T"}, {1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}, {0, 1, ""}};
    const double largest = fmax(fabs(axis->low), fabs(axis->high)), rounding = 1e-9;
    size_t i = 0;
    while (largest < units[i].from)
        i++;
    axis->unit = units[i].unit;
    axis->suffix = units[i].suffix;
    axis->scientific = largest >= 1e15 || largest < 1e-3;
    double digits = axis->scientific
                        ? floor(log10(largest)) - floor(log10(axis->step) + rounding)
                        : -floor(log10(axis->step / axis->unit) + rounding);
    axis->decimals = digits > 0 ? (int)digits : 0;
}

Axis axis_make(double low, double high, size_t ticks)
{
    const double rounding = 1e-9, to_next_smaller = 2.6; /* a little more than from 5 to 2 */
    Axis axis = make_range(low, high);
    axis.step = (axis.high - axis.low) / (ticks > 1 ? (double)ticks : 1) * to_next_smaller;
    do {
        axis.step = round_step(axis.step / to_next_smaller);
        axis.first = ceil(axis.low / axis.step - rounding);
        axis.count = floor(axis.high / axis.step + rounding) - axis.first + 1;
    } while (axis.count < 2);
    choose_unit(&axis);
    return axis;
}

/* --- logarithmic --- */

/* The n-th tick; the 0th is 1. */
static double logarithmic_tick(const Axis *axis, double n)
{
    static const double mantissas[] = {1, 2, 5};
    if (axis->octaves)
        return exp2(n * axis->octaves);
    double decade = floor(n / axis->per_decade);
    return pow(10, decade) * mantissas[(int)(n - decade * axis->per_decade)];
}

static bool is_power_of_two(double value)
{
    int exponent;
    return value >= 1 && frexp(value, &exponent) == 0.5;
}

Axis axis_make_logarithmic(double low, double high)
{
    const double rounding = 1 + 1e-9, few = 2.5; /* decades */
    enum { MOST_OCTAVES = 7 };                   /* more ticks than this are too many */
    if (!(low > 0 && low <= high))
        low = high = 1;
    Axis axis = {.low = low, .high = high, .per_decade = log10(high / low) < few ? 3 : 1};
    if (low < high && is_power_of_two(low) && is_power_of_two(high)) {
        int from = ilogb(low), octaves = ilogb(high) - from;
        axis.octaves = 1 + octaves / MOST_OCTAVES;
        while (from % axis.octaves || octaves % axis.octaves)
            axis.octaves--;
        axis.first = from / axis.octaves;
        axis.count = octaves / axis.octaves + 1;
        return axis;
    }
    axis.first = floor(log10(low)) * axis.per_decade;
    while (logarithmic_tick(&axis, axis.first) * rounding < low)
        axis.first++;
    while (logarithmic_tick(&axis, axis.first + axis.count) <= high * rounding)
        axis.count++;
    if (axis.count >= 2)
        return axis;
    /* Too narrow: from the tick below to the tick above. */
    while (logarithmic_tick(&axis, axis.first) > low * rounding)
        axis.first--;
    axis.count = 2;
    while (logarithmic_tick(&axis, axis.first + axis.count - 1) * rounding < high)
        axis.count++;
    axis.low = axis_tick(&axis, 0);
    axis.high = axis_tick(&axis, axis.count - 1);
    return axis;
}

/* --- either --- */

double axis_share(const Axis *axis, double value)
{
    return axis->per_decade ? log(value / axis->low) / log(axis->high / axis->low)
                            : (value - axis->low) / (axis->high - axis->low);
}

double axis_tick(const Axis *axis, double i)
{
    double tick = axis->first + i;
    if (axis->per_decade)
        return logarithmic_tick(axis, tick);
    return tick == 0 ? 0 : tick * axis->step; /* never -0 */
}

void axis_label(const Axis *axis, double value, char label[AXIS_LABEL])
{
    if (value == 0)
        snprintf(label, AXIS_LABEL, "0");
    else if (axis->per_decade)
        snprintf(label, AXIS_LABEL, "%g", value);
    else if (axis->scientific)
        snprintf(label, AXIS_LABEL, "%.*e", axis->decimals, value);
    else
        snprintf(label, AXIS_LABEL, "%.*f%s", axis->decimals, value / axis->unit, axis->suffix);
}

size_t axis_place(const Axis *axis, double value, size_t count)
{
    double place = axis_share(axis, value) * (double)(count - 1) + 0.5;
    return place < 0 ? 0 : place >= (double)count ? count - 1 : (size_t)place;
}

/* --- the plot of a picture --- */

bool plane_has(const Plane *plane, ChartPoint point)
{
    const double least = 1e-300; /* of which there are logarithms */
    return chart_has(point) && (!plane->logarithmic_x || point.x > least) &&
           (!plane->logarithmic_y || point.y > least);
}

/* Widens a range by a value that can be drawn. */
static void include(double range[2], double value)
{
    range[0] = fmin(range[0], value);
    range[1] = fmax(range[1], value);
}

/* Widens the ranges by all points of the series that are levels, or of those that are not. */
static void include_series(const Plane *plane, const Chart *chart, bool levels, double x[2],
                           double y[2])
{
    bool leave_out = chart_has_sound(chart); /* diverged runs, from the range of y */
    for (size_t s = 0; s < arrlenu(chart->series); s++) {
        const ChartSeries *series = &chart->series[s];
        for (size_t i = 0; i < arrlenu(series->points); i++) {
            ChartPoint point = series->points[i];
            if (chart_is_level(series) != levels || !plane_has(plane, point))
                continue;
            include(x, point.x);
            if (series->diverged && leave_out)
                continue;
            include(y, point.y);
            if (series->band) {
                include(y, series->band[i].low);
                include(y, series->band[i].high);
            }
        }
    }
}

/* Levels widen the range of the curves only as long as the curves keep most of the plot. */
Plane plane_of(const Chart *chart)
{
    enum { TICKS = 6 };
    const double most_for_levels = 0.3, label_share = (double)PLANE_LINE / PLANE_HEIGHT;
    Plane plane = {.logarithmic_x = chart->logarithmic || chart->logarithmic_x,
                   .logarithmic_y = chart->logarithmic};
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    include_series(&plane, chart, false, x, y);
    double with_x[2] = {x[0], x[1]}, with_y[2] = {y[0], y[1]};
    include_series(&plane, chart, true, with_x, with_y);
    bool widened = with_y[0] < y[0] || with_y[1] > y[1];
    if (!(y[1] - y[0] < (1 - most_for_levels) * (with_y[1] - with_y[0]))) {
        memcpy(x, with_x, sizeof x);
        memcpy(y, with_y, sizeof y);
        if (widened && !plane.logarithmic_y) /* room for the name below the line */
            y[0] -= label_share * 1.3 * (y[1] - y[0]);
    }
    plane.x = plane.logarithmic_x ? axis_make_logarithmic(x[0], x[1])
                                  : axis_make(x[0], x[1], TICKS);
    plane.y = plane.logarithmic_y ? axis_make_logarithmic(y[0], y[1])
                                  : axis_make(y[0], y[1], TICKS);
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
    for (size_t i = arrlenu(series->points); i > 0; i--)
        if (plane_has(plane, series->points[i - 1])) {
            *end = series->points[i - 1];
            return true;
        }
    return false;
}

bool plane_leaves_out(const Plane *plane, const ChartSeries *series)
{
    ChartPoint end;
    return chart_is_level(series) && plane_last(plane, series, &end) &&
           !(end.y >= plane->y.low && end.y <= plane->y.high);
}
