#include "eval/svg.h"
#include "eval/axis.h"
#include "eval/terminal.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the units of the picture. */
enum {
    WIDTH = 800,
    HEIGHT = 480,
    LEFT = 64,
    RIGHT = 24,
    TOP = 96,
    BOTTOM = 52,
    LINE = 20,
    TICKS = 7,
    MOST_DOTS = 100, /* more points than this are drawn as a line only */
    NAME_COLUMNS = 60
};

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#999999"};
enum { COLOURS = sizeof colours / sizeof *colours };

static const char style[] =
    "<style>"
    "text{font:14px system-ui,sans-serif;fill:#222}"
    ".title{font-size:17px;font-weight:600}"
    ".grid{stroke:#8884;stroke-width:1}"
    ".axis{stroke:#888;stroke-width:1;fill:none}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#15181c}}"
    "</style>\n";

/* Text of people's choosing: without what is no character, and with XML's own ones escaped. */
static void print_escaped(FILE *out, const char *text)
{
    char *safe = terminal_safe_name(text, NAME_COLUMNS, true);
    for (const char *c = safe; *c; c++) {
        switch (*c) {
        case '&':
            fprintf(out, "&amp;");
            break;
        case '<':
            fprintf(out, "&lt;");
            break;
        case '>':
            fprintf(out, "&gt;");
            break;
        case '"':
            fprintf(out, "&quot;");
            break;
        default:
            fputc(*c, out);
        }
    }
    free(safe);
}

/* --- the plane --- */

typedef struct Plane {
    Axis x, y;
} Plane;

static bool is_drawn(ChartPoint point)
{
    const double most = 1e300;
    return fabs(point.x) <= most && fabs(point.y) <= most;
}

static Plane plane_of(const Chart *chart)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (size_t s = 0; s < chart->series_count; s++)
        for (size_t i = 0; i < chart->series[s].count; i++) {
            ChartPoint point = chart->series[s].points[i];
            if (!is_drawn(point))
                continue;
            low[0] = fmin(low[0], point.x);
            high[0] = fmax(high[0], point.x);
            low[1] = fmin(low[1], point.y);
            high[1] = fmax(high[1], point.y);
        }
    return (Plane){axis_make(low[0], high[0], TICKS), axis_make(low[1], high[1], TICKS)};
}

static double share(const Axis *axis, double value)
{
    return (value - axis->low) / (axis->high - axis->low);
}

static double place_x(const Plane *plane, double x)
{
    return LEFT + share(&plane->x, x) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const Plane *plane, double y)
{
    return HEIGHT - BOTTOM - share(&plane->y, y) * (HEIGHT - TOP - BOTTOM);
}

static void print_axes(FILE *out, const Plane *plane, const Chart *chart)
{
    char label[AXIS_LABEL];
    for (double i = 0; i < plane->y.count; i++) {
        double value = axis_tick(&plane->y, i), y = place_y(plane, value);
        axis_label(&plane->y, value, label);
        fprintf(out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 5, label);
    }
    for (double i = 0; i < plane->x.count; i++) {
        double value = axis_tick(&plane->x, i), x = place_x(plane, value);
        axis_label(&plane->x, value, label);
        fprintf(out,
                "<path class=\"axis\" d=\"M%.1f %dv5\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + LINE, label);
    }
    fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, HEIGHT - BOTTOM,
            WIDTH - RIGHT);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
            HEIGHT - 8);
    print_escaped(out, chart->x_label);
    fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\">", 8, TOP - 44);
    print_escaped(out, chart->y_label);
    fprintf(out, "</text>\n");
}

/* --- the series --- */

static void print_line(FILE *out, const Plane *plane, const ChartSeries *series,
                       const char *colour)
{
    fprintf(out, "<path class=\"line\" stroke=\"%s\" d=\"", colour);
    bool connected = false;
    for (size_t i = 0; i < series->count; i++) {
        ChartPoint point = series->points[i];
        bool drawn = is_drawn(point);
        if (drawn)
            fprintf(out, "%c%.1f %.1f", connected ? 'L' : 'M', place_x(plane, point.x),
                    place_y(plane, point.y));
        connected = drawn;
    }
    fprintf(out, "\"/>\n");
}

static void print_dots(FILE *out, const Plane *plane, const ChartSeries *series,
                       const char *colour)
{
    for (size_t i = 0; i < series->count && series->count <= MOST_DOTS; i++) {
        ChartPoint point = series->points[i];
        if (!is_drawn(point))
            continue;
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>",
                place_x(plane, point.x), place_y(plane, point.y), colour);
        print_escaped(out, series->name);
        fprintf(out, ": %.6g at %.6g</title></circle>\n", point.y, point.x);
    }
}

/* One line of swatches and names, above the plane. */
static void print_legend(FILE *out, const Chart *chart)
{
    const double letter = 7.6, gap = 44; /* an average letter; a swatch and its margins */
    double x = LEFT;
    for (size_t s = 0; s < chart->series_count; s++) {
        char *safe = terminal_safe_name(chart->series[s].name, NAME_COLUMNS, true);
        fprintf(out,
                "<path class=\"line\" stroke=\"%s\" d=\"M%.1f %dh20\"/>"
                "<text x=\"%.1f\" y=\"%d\">",
                colours[s % COLOURS], x, TOP - 19, x + 26, TOP - 14);
        print_escaped(out, chart->series[s].name);
        fprintf(out, "</text>\n");
        x += gap + letter * (double)text_columns(safe);
        free(safe);
    }
}

void svg_print(FILE *out, const Chart *chart, const char *title)
{
    Plane plane = plane_of(chart);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    print_escaped(out, title);
    fprintf(out, "</title>\n%s<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", style,
            WIDTH, HEIGHT);
    fprintf(out, "<text class=\"title\" x=\"8\" y=\"28\">");
    print_escaped(out, title);
    fprintf(out, "</text>\n");
    print_axes(out, &plane, chart);
    print_legend(out, chart);
    for (size_t s = 0; s < chart->series_count; s++)
        print_line(out, &plane, &chart->series[s], colours[s % COLOURS]);
    for (size_t s = 0; s < chart->series_count; s++)
        print_dots(out, &plane, &chart->series[s], colours[s % COLOURS]);
    fprintf(out, "</svg>\n");
}

bool svg_write(const char *path, const Chart *chart, const char *title, Error *error)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return error_set(error, "%s: out of memory for the picture", path);
    svg_print(stream, chart, title);
    bool good = fclose(stream) == 0
                    ? file_replace_text(path, text, error)
                    : error_set(error, "%s: out of memory for the picture", path);
    free(text);
    return good;
}
