#include "eval/chart.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- axes --- */

typedef struct Axis {
    double low, high;    /* what the first and the last dot stand for; low < high */
    double step;         /* between ticks, which are its multiples: 1, 2 or 5 times 10^k */
    double first, count; /* ticks from first * step on; small whole numbers */
    double unit;         /* labels count in these */
    const char *suffix;
    int decimals;
    bool scientific;
} Axis;

enum { TICK_LABEL = 32 };

static bool is_drawn(ChartPoint point)
{
    /* Beyond this, high - low could be infinite. NaN fails every comparison. */
    const double most = 1e300;
    return fabs(point.x) <= most && fabs(point.y) <= most;
}

static Axis axis_range(const Chart *chart, bool vertical)
{
    Axis axis = {.low = INFINITY, .high = -INFINITY};
    for (size_t s = 0; s < chart->series_count; s++)
        for (size_t i = 0; i < chart->series[s].count; i++) {
            ChartPoint point = chart->series[s].points[i];
            double value = vertical ? point.y : point.x;
            if (!is_drawn(point))
                continue;
            axis.low = fmin(axis.low, value);
            axis.high = fmax(axis.high, value);
        }
    if (axis.low > axis.high)
        return (Axis){.low = 0, .high = 1};
    /* Values that agree in seven digits get a range around them, in which labels of seven
     * digits can still differ. */
    const double tiny = 1e-300, same = 1e-7, around = 0.1;
    double largest = fmax(fabs(axis.low), fabs(axis.high));
    if (axis.high - axis.low <= fmax(largest * same, tiny)) {
        double middle = axis.low;
        double half = largest > tiny / around ? largest * around : 1;
        axis.low = middle - half;
        axis.high = middle + half;
    }
    return axis;
}

/* The smallest of 1, 2, 5 times a power of ten that is no smaller than least. */
static double round_step(double least)
{
    double power = pow(10, floor(log10(least)));
    if (power > least) /* log10 was rounded up */
        power /= 10;
    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}

static void axis_choose_unit(Axis *axis)
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

/* Chooses about so many ticks, and at least two. */
static Axis axis_make(const Chart *chart, bool vertical, size_t ticks)
{
    const double rounding = 1e-9, to_next_smaller = 2.6; /* a little more than from 5 to 2 */
    Axis axis = axis_range(chart, vertical);
    axis.step = (axis.high - axis.low) / (ticks > 1 ? (double)ticks : 1) * to_next_smaller;
    do {
        axis.step = round_step(axis.step / to_next_smaller);
        axis.first = ceil(axis.low / axis.step - rounding);
        axis.count = floor(axis.high / axis.step + rounding) - axis.first + 1;
    } while (axis.count < 2);
    axis_choose_unit(&axis);
    return axis;
}

static double axis_tick(const Axis *axis, double i)
{
    double tick = axis->first + i;
    return tick == 0 ? 0 : tick * axis->step; /* never -0 */
}

static void axis_label(const Axis *axis, double value, char label[TICK_LABEL])
{
    if (value == 0)
        snprintf(label, TICK_LABEL, "0");
    else if (axis->scientific)
        snprintf(label, TICK_LABEL, "%.*e", axis->decimals, value);
    else
        snprintf(label, TICK_LABEL, "%.*f%s", axis->decimals, value / axis->unit, axis->suffix);
}

/* Which of count places, side by side along the axis, the value falls on. */
static size_t axis_place(const Axis *axis, double value, size_t count)
{
    double place = (value - axis->low) / (axis->high - axis->low) * (double)(count - 1) + 0.5;
    return place < 0 ? 0 : place >= (double)count ? count - 1 : (size_t)place;
}

/* --- the canvas --- */

typedef struct Cell {
    uint64_t owners;     /* one bit for each series that passes */
    unsigned char dots;  /* in the order of braille's code points */
    unsigned char owner; /* the last of them, whose colour shows */
} Cell;

typedef struct Canvas {
    Cell *cells;
    size_t columns, rows;
    size_t across, down; /* dots in a cell: 2 by 4, or 1 by 1 */
} Canvas;

static const char marks[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
static const unsigned char colours[] = {214, 74, 36, 175, 166, 227, 25};
enum { MARK_COUNT = sizeof marks - 1, COLOUR_COUNT = sizeof colours };

/* Braille tells series apart by colour alone. */
static bool uses_braille(const Chart *chart)
{
    return chart->utf8 && chart->series_count <= (chart->colour ? COLOUR_COUNT : 1);
}

/* Dots count from the lower left corner. */
static void canvas_dot(Canvas *canvas, long x, long y, size_t series)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || (size_t)x >= canvas->columns * canvas->across ||
        (size_t)y >= canvas->rows * canvas->down)
        return;
    size_t row = canvas->rows * canvas->down - 1 - (size_t)y;
    Cell *cell =
        &canvas->cells[row / canvas->down * canvas->columns + (size_t)x / canvas->across];
    cell->owner = (unsigned char)(series % MARK_COUNT);
    cell->owners |= (uint64_t)1 << cell->owner;
    cell->dots |= bits[row % canvas->down][(size_t)x % canvas->across];
}

/* Bresenham's line, both ends included. */
static void canvas_line(Canvas *canvas, long x, long y, long to_x, long to_y, size_t series)
{
    long dx = labs(to_x - x), dy = -labs(to_y - y), error = dx + dy;
    while (x != to_x || y != to_y) {
        canvas_dot(canvas, x, y, series);
        long twice = 2 * error;
        if (twice >= dy) {
            error += dy;
            x += x < to_x ? 1 : -1;
        }
        if (twice <= dx) {
            error += dx;
            y += y < to_y ? 1 : -1;
        }
    }
    canvas_dot(canvas, x, y, series);
}

/* A point without neighbours: in braille a small cross, since a single dot is easily missed. */
static void canvas_lone_point(Canvas *canvas, long x, long y, size_t series)
{
    long arm = canvas->across > 1;
    canvas_line(canvas, x - arm, y, x + arm, y, series);
    canvas_line(canvas, x, y - arm, x, y + arm, series);
}

static void canvas_series(Canvas *canvas, const ChartSeries *series, size_t index,
                          const Axis *x_axis, const Axis *y_axis)
{
    bool connected = false;
    long last_x = 0, last_y = 0;
    for (size_t i = 0; i < series->count; i++) {
        ChartPoint point = series->points[i];
        if (!is_drawn(point)) {
            connected = false;
            continue;
        }
        long x = (long)axis_place(x_axis, point.x, canvas->columns * canvas->across);
        long y = (long)axis_place(y_axis, point.y, canvas->rows * canvas->down);
        bool alone = !connected && (i + 1 == series->count || !is_drawn(series->points[i + 1]));
        if (alone)
            canvas_lone_point(canvas, x, y, index);
        else
            canvas_line(canvas, connected ? last_x : x, connected ? last_y : y, x, y, index);
        connected = true;
        last_x = x;
        last_y = y;
    }
}

/* Of the series in a cell, the one whose turn it is in this column. */
static size_t owner_in_turn(uint64_t owners, size_t column)
{
    size_t turn = column % (size_t)__builtin_popcountll(owners);
    for (; turn > 0; turn--)
        owners &= owners - 1;
    return (size_t)__builtin_ctzll(owners);
}

/* --- putting it together --- */

static void append_colour(char **text, const Chart *chart, size_t series)
{
    if (chart->colour)
        text_append(text, "\x1b[38;5;%dm", colours[series % MARK_COUNT % COLOUR_COUNT]);
}

static void append_colour_end(char **text, const Chart *chart)
{
    if (chart->colour)
        text_append(text, "\x1b[0m");
}

static void append_cell(char **line, const Chart *chart, const Cell *cell, size_t owner)
{
    if (!cell->owners)
        text_append(line, " ");
    else if (uses_braille(chart)) /* U+2800 + dots */
        text_append(line, "\xe2%c%c", 0xa0 | cell->dots >> 6, 0x80 | (cell->dots & 0x3f));
    else
        text_append(line, "%c", marks[owner]);
}

static void append_plot_row(char **text, const Chart *chart, const Cell *cells, size_t columns,
                            const char *label, size_t label_width)
{
    const char *tick = chart->utf8 ? "┤" : "+", *side = chart->utf8 ? "│" : "|";
    char *line = text_format("%*s%s", (int)label_width, label, *label ? tick : side);
    size_t colour_of = SIZE_MAX;
    while (columns > 0 && !cells[columns - 1].owners)
        columns--; /* no blanks at the ends of lines */
    for (size_t i = 0; i < columns; i++) {
        size_t owner = uses_braille(chart) || !cells[i].owners
                           ? cells[i].owner
                           : owner_in_turn(cells[i].owners, i);
        if (cells[i].owners && owner != colour_of) {
            append_colour(&line, chart, owner);
            colour_of = owner;
        }
        append_cell(&line, chart, &cells[i], owner);
    }
    if (columns > 0)
        append_colour_end(&line, chart);
    text_append(text, "%s\n", line);
    free(line);
}

/* The line under the plot, and under it the tick values that do not run into each other. */
static void append_x_axis(char **text, const Chart *chart, const Axis *axis, size_t columns,
                          size_t label_width)
{
    size_t width = label_width + 1 + columns, free_from = 0;
    char *ticks = memory_take(columns, 1, "a chart"),
         *labels = memory_take(width + 1, 1, "a chart");
    memset(labels, ' ', width);
    for (double i = 0; i < axis->count; i++) {
        char label[TICK_LABEL];
        double value = axis_tick(axis, i);
        axis_label(axis, value, label);
        size_t place = axis_place(axis, value, columns), length = strlen(label);
        size_t middle = label_width + 1 + place,
               at = middle > length / 2 ? middle - length / 2 : 0;
        ticks[place] = 1;
        if (at + length > width)
            at = width - length;
        if (at < free_from)
            continue;
        memcpy(labels + at, label, length);
        free_from = at + length + 1;
    }
    text_append(text, "%*s%s", (int)label_width, "", chart->utf8 ? "└" : "+");
    for (size_t i = 0; i < columns; i++)
        text_append(text, "%s", ticks[i] ? (chart->utf8 ? "┬" : "+") : chart->utf8 ? "─" : "-");
    text_append(text, "\n%.*s\n", (int)(free_from ? free_from - 1 : 0), labels);
    free(ticks);
    free(labels);
}

static void append_label(char **text, const Chart *chart, const char *label, size_t indent,
                         bool centred)
{
    size_t room = chart->columns - indent;
    char *safe = terminal_safe_name(label ? label : "", room, chart->utf8);
    size_t shift = centred ? indent + (room - text_columns(safe)) / 2 : indent;
    text_append(text, "%*s%s\n", *safe ? (int)shift : 0, "", safe);
    free(safe);
}

static void append_legend_entry(char **line, const Chart *chart, size_t series,
                                const char *name)
{
    append_colour(line, chart, series);
    if (uses_braille(chart))
        text_append(line, "──");
    else
        text_append(line, " %c", marks[series % MARK_COUNT]);
    append_colour_end(line, chart);
    text_append(line, " %s", name);
}

/* The legend's lines, an array of stb_ds of texts that the caller owns; at most `most`. When
 * not all names fit, the last line counts the rest. */
static char **legend_lines(const Chart *chart, size_t most)
{
    enum { GAP = 3, MARK = 3 };
    char **lines = NULL;
    size_t used = 0, first_on_line = 0;
    for (size_t i = 0; i < chart->series_count; i++) {
        char *name = terminal_safe_name(chart->series[i].name, chart->columns - MARK,
                                        chart->utf8);
        size_t width = text_columns(name) + MARK;
        bool fits = lines && used + GAP + width <= chart->columns;
        if (!fits && arrlenu(lines) == most) {
            free(name);
            free(arrlast(lines));
            arrlast(lines) = text_format("and %zu more", chart->series_count - first_on_line);
            break;
        }
        if (!fits) {
            arrput(lines, NULL);
            used = 0;
            first_on_line = i;
        }
        size_t gap = fits ? GAP : 0;
        text_append(&arrlast(lines), "%*s", (int)gap, "");
        append_legend_entry(&arrlast(lines), chart, i, name);
        used += gap + width;
        free(name);
    }
    return lines;
}

static void append_plot(char **text, const Chart *chart, size_t rows)
{
    enum { ROWS_PER_TICK = 2, COLUMNS_PER_TICK = 8 }; /* or more */
    Axis y_axis = axis_make(chart, true, rows / ROWS_PER_TICK);
    char(*labels)[TICK_LABEL] = memory_take(rows, sizeof *labels, "a chart");
    size_t label_width = 0;
    for (double i = 0; i < y_axis.count; i++) {
        double value = axis_tick(&y_axis, i);
        char *label = labels[rows - 1 - axis_place(&y_axis, value, rows)];
        axis_label(&y_axis, value, label);
        if (strlen(label) > label_width)
            label_width = strlen(label);
    }
    bool braille = uses_braille(chart);
    Canvas canvas = {.columns = chart->columns - label_width - 1, .rows = rows};
    canvas.across = braille ? 2 : 1;
    canvas.down = braille ? 4 : 1;
    canvas.cells = memory_take(memory_product(canvas.columns, rows, "a chart"),
                               sizeof *canvas.cells, "a chart");
    Axis x_axis = axis_make(chart, false, canvas.columns / COLUMNS_PER_TICK);
    for (size_t s = 0; s < chart->series_count; s++)
        canvas_series(&canvas, &chart->series[s], s, &x_axis, &y_axis);
    for (size_t row = 0; row < rows; row++)
        append_plot_row(text, chart, canvas.cells + row * canvas.columns, canvas.columns,
                        labels[row], label_width);
    append_x_axis(text, chart, &x_axis, canvas.columns, label_width);
    append_label(text, chart, chart->x_label, label_width + 1, true);
    free(canvas.cells);
    free(labels);
}

void chart_append(char **text, const Chart *asked)
{
    enum { LINES_AROUND = 4, PLOT_ROWS_LEAST = 3 }; /* two labels, the x axis and its ticks */
    Chart chart = *asked;
    if (chart.columns < CHART_COLUMNS_LEAST)
        chart.columns = CHART_COLUMNS_LEAST;
    if (chart.rows < CHART_ROWS_LEAST)
        chart.rows = CHART_ROWS_LEAST;
    char **legend = legend_lines(&chart, chart.rows - LINES_AROUND - PLOT_ROWS_LEAST);
    append_label(text, &chart, chart.y_label, 0, false);
    append_plot(text, &chart, chart.rows - LINES_AROUND - arrlenu(legend));
    for (size_t i = 0; i < arrlenu(legend); i++) {
        text_append(text, "%s\n", legend[i]);
        free(legend[i]);
    }
    arrfree(legend);
}
