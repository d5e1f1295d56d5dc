/* Charts for terminals, in braille or in letters. */
#include "eval/show/axis.h"
#include "eval/show/palette.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the canvas: character cells, each of several dots or of one --- */

/* A cell remembers all series that pass through it, so that where curves meet, the chart can
 * alternate between them. */
typedef struct CanvasCell {
    uint64_t owners;     /* one bit per series */
    unsigned char dots;  /* as bits of the braille code point */
    unsigned char owner; /* the last series drawn, for the colour */
} CanvasCell;

typedef struct Canvas {
    CanvasCell *cells; /* (rows, columns) */
    size_t columns, rows;
    size_t dots_x, dots_y; /* dots in a cell: 2 by 4, or 1 by 1 */
} Canvas;

static Canvas make_canvas(size_t columns, size_t rows, size_t dots_x, size_t dots_y)
{
    Canvas canvas = {.columns = columns, .rows = rows, .dots_x = dots_x, .dots_y = dots_y};
    size_t count = memory_product(columns, rows, "a chart");
    canvas.cells = memory_new(count, sizeof *canvas.cells, "a chart");
    return canvas;
}

/* Dots count from the lower left corner. Owners are below MARK_COUNT. */
static void draw_dot(Canvas *canvas, long x, long y, size_t owner)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || (size_t)x >= canvas->columns * canvas->dots_x ||
        (size_t)y >= canvas->rows * canvas->dots_y)
        return;
    size_t row = canvas->rows * canvas->dots_y - 1 - (size_t)y, column = (size_t)x;
    CanvasCell *cell =
        &canvas->cells[row / canvas->dots_y * canvas->columns + column / canvas->dots_x];
    cell->owner = (unsigned char)owner;
    cell->owners |= (uint64_t)1 << owner;
    cell->dots |= bits[row % canvas->dots_y][column % canvas->dots_x];
}

/* Bresenham's line, both ends included. */
static void draw_line(Canvas *canvas, long x, long y, long to_x, long to_y, size_t owner)
{
    long dx = labs(to_x - x), dy = -labs(to_y - y), error = dx + dy;
    while (x != to_x || y != to_y) {
        draw_dot(canvas, x, y, owner);
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
    draw_dot(canvas, x, y, owner);
}

/* A point without neighbours: in braille a small cross, since a single dot is easy to miss. */
static void draw_lone_point(Canvas *canvas, long x, long y, size_t owner)
{
    long arm = canvas->dots_x > 1;
    draw_line(canvas, x - arm, y, x + arm, y, owner);
    draw_line(canvas, x, y - arm, x, y + arm, owner);
}

/* The series to show in this column, among those in the cell. */
static size_t owner_in_turn(const CanvasCell *cell, size_t column)
{
    uint64_t owners = cell->owners;
    size_t turn = column % (size_t)__builtin_popcountll(owners);
    for (; turn > 0; turn--)
        owners &= owners - 1;
    return (size_t)__builtin_ctzll(owners);
}

/* --- how series look --- */

static const char marks[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
enum { MARK_COUNT = sizeof marks - 1 };
_Static_assert(MARK_COUNT <= 64, "a cell tells apart what the marks do");

static bool look_alike(const ChartSeries *a, const ChartSeries *b)
{
    return palette_terminal(a->identity) == palette_terminal(b->identity) &&
           a->faint == b->faint;
}

/* Braille tells series apart by colour alone, and whether they are faint. Those without a name
 * need not be told from others. */
static bool uses_braille(const Chart *chart)
{
    if (!chart->utf8 || !chart->colour)
        return chart->utf8 && arrlenu(chart->series) <= 1;
    for (size_t i = 0; i < arrlenu(chart->series); i++)
        for (size_t j = 0; chart->series[i].name && j < i; j++)
            if (chart->series[j].name && look_alike(&chart->series[i], &chart->series[j]))
                return false;
    return true;
}

/* --- curves --- */

static bool has_place(bool logarithmic_x, ChartPoint point)
{
    const double least = 1e-300; /* of which there are logarithms */
    return chart_has(point) && (!logarithmic_x || point.x > least);
}

static Axis make_axis(const Chart *chart, bool vertical, size_t ticks)
{
    double low = INFINITY, high = -INFINITY;
    bool leave_out = vertical && chart_has_sound(chart); /* diverged runs */
    for (size_t s = 0; s < arrlenu(chart->series); s++)
        for (size_t i = 0; i < arrlenu(chart->series[s].points); i++) {
            ChartPoint point = chart->series[s].points[i];
            double value = vertical ? point.y : point.x;
            if (!has_place(chart->logarithmic_x, point) ||
                (leave_out && chart->series[s].diverged))
                continue;
            low = fmin(low, value);
            high = fmax(high, value);
        }
    return chart->logarithmic_x && !vertical ? axis_make_logarithmic(low, high)
                                             : axis_make(low, high, ticks);
}

static void draw_series(Canvas *canvas, const ChartSeries *series, size_t owner,
                        const Axis *x_axis, const Axis *y_axis)
{
    bool connected = false, logarithmic = x_axis->per_decade > 0;
    long last_x = 0, last_y = 0;
    for (size_t i = 0; i < arrlenu(series->points); i++) {
        ChartPoint point = series->points[i];
        if (!has_place(logarithmic, point)) {
            connected = false;
            continue;
        }
        long x = (long)axis_place(x_axis, point.x, canvas->columns * canvas->dots_x);
        long y = (long)axis_place(y_axis, point.y, canvas->rows * canvas->dots_y);
        bool alone = !connected && (i + 1 == arrlenu(series->points) ||
                                    !has_place(logarithmic, series->points[i + 1]));
        if (alone)
            draw_lone_point(canvas, x, y, owner);
        else
            draw_line(canvas, connected ? last_x : x, connected ? last_y : y, x, y, owner);
        connected = true;
        last_x = x;
        last_y = y;
    }
}

/* --- lines of text --- */

static void append_colour(char **text, const Chart *chart, size_t series)
{
    if (!chart->colour)
        return;
    const ChartSeries *of = &chart->series[series];
    text_append(text, "\x1b[%s38;5;%dm", of->faint ? "2;" : "", palette_terminal(of->identity));
}

static void append_colour_end(char **text, const Chart *chart)
{
    if (chart->colour)
        text_append(text, "\x1b[0m");
}

static void append_cell(char **line, const Chart *chart, const CanvasCell *cell, size_t owner)
{
    if (!cell->owners)
        text_append(line, " ");
    else if (uses_braille(chart)) /* U+2800 + dots */
        text_append(line, "\xe2%c%c", 0xa0 | cell->dots >> 6, 0x80 | (cell->dots & 0x3f));
    else
        text_append(line, "%c", marks[owner]);
}

static void append_plot_row(char **text, const Chart *chart, const CanvasCell *cells,
                            size_t columns, const char *label, size_t label_width)
{
    const char *tick = chart->utf8 ? "┤" : "+", *side = chart->utf8 ? "│" : "|";
    char *line = text_format("%*s%s", (int)label_width, label, *label ? tick : side);
    size_t colour_of = SIZE_MAX;
    while (columns > 0 && !cells[columns - 1].owners)
        columns--; /* no blanks at the ends of lines */
    for (size_t i = 0; i < columns; i++) {
        size_t owner = uses_braille(chart) || !cells[i].owners ? cells[i].owner
                                                               : owner_in_turn(&cells[i], i);
        if (cells[i].owners && owner != colour_of) {
            if (colour_of != SIZE_MAX && chart->series[colour_of].faint)
                append_colour_end(&line, chart);
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
    char *ticks = memory_new(columns, 1, "a chart"),
         *labels = memory_new(width + 1, 1, "a chart");
    memset(labels, ' ', width);
    for (double i = 0; i < axis->count; i++) {
        char label[AXIS_LABEL];
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

static size_t names_from(const Chart *chart, size_t series)
{
    size_t count = 0;
    for (; series < arrlenu(chart->series); series++)
        count += chart->series[series].name != NULL;
    return count;
}

/* The legend's lines, an array of stb_ds of texts that the caller owns; at most `most`. When
 * not all names fit, the last line counts the rest. */
static char **legend_lines(const Chart *chart, size_t most)
{
    enum { GAP = 3, MARK = 3 };
    char **lines = NULL;
    size_t used = 0, first_on_line = 0;
    for (size_t i = 0; i < arrlenu(chart->series); i++) {
        if (!chart->series[i].name)
            continue;
        char *name = terminal_safe_name(chart->series[i].name, chart->columns - MARK,
                                        chart->utf8);
        size_t width = text_columns(name) + MARK;
        bool fits = lines && used + GAP + width <= chart->columns;
        if (!fits && arrlenu(lines) == most) {
            free(name);
            free(arrlast(lines));
            arrlast(lines) = text_format("and %zu more", names_from(chart, first_on_line));
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
    Axis y_axis = make_axis(chart, true, rows / ROWS_PER_TICK);
    char(*labels)[AXIS_LABEL] = memory_new(rows, sizeof *labels, "a chart");
    size_t label_width = 0;
    for (double i = 0; i < y_axis.count; i++) {
        double value = axis_tick(&y_axis, i);
        char *label = labels[rows - 1 - axis_place(&y_axis, value, rows)];
        axis_label(&y_axis, value, label);
        if (strlen(label) > label_width)
            label_width = strlen(label);
    }
    bool braille = uses_braille(chart);
    Canvas canvas = make_canvas(chart->columns - label_width - 1, rows, braille ? 2 : 1,
                                braille ? 4 : 1);
    Axis x_axis = make_axis(chart, false, canvas.columns / COLUMNS_PER_TICK);
    for (size_t s = 0; s < arrlenu(chart->series); s++)
        draw_series(&canvas, &chart->series[s], s % MARK_COUNT, &x_axis, &y_axis);
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
    enum { LINES_AROUND = 4 }; /* two labels, the x axis and its ticks */
    enum { SHARE = 3 };        /* of the rest, the legend gets one in so many */
    Chart chart = *asked;
    if (chart.columns < CHART_COLUMNS_LEAST)
        chart.columns = CHART_COLUMNS_LEAST;
    if (chart.rows < CHART_ROWS_LEAST)
        chart.rows = CHART_ROWS_LEAST;
    char **legend = legend_lines(&chart, (chart.rows - LINES_AROUND) / SHARE);
    append_label(text, &chart, chart.y_label, 0, false);
    append_plot(text, &chart, chart.rows - LINES_AROUND - arrlenu(legend));
    for (size_t i = 0; i < arrlenu(legend); i++) {
        text_append(text, "%s\n", legend[i]);
        free(legend[i]);
    }
    arrfree(legend);
}
