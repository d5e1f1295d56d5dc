#include "eval/draw/svg.h"
#include "eval/draw/axis.h"
#include "eval/draw/markup.h"
#include "eval/draw/palette.h"
#include "eval/terminal.h"
#include "src/file.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <string.h>

/* In the units of the picture. */
enum {
    WIDTH = 800,
    PLANE = 332, /* the height of the plane */
    LEFT = 64,
    RIGHT = 24,
    HEAD = 76, /* above the legend */
    BOTTOM = 52,
    LINE = 20,
    TICKS = 7,
    MOST_DOTS = 100,    /* more points than this are drawn as a line only */
    MOST_POINTS = 2000, /* lines of more lose those that would not be seen */
    NAME_COLUMNS = 60
};

static const char style[] =
    "<style>"
    "text{font:14px system-ui,sans-serif;fill:#222}"
    ".title{font-size:17px;font-weight:600}"
    ".grid{stroke:#8884;stroke-width:1}"
    ".axis{stroke:#888;stroke-width:1;fill:none}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".faint{stroke-width:1.5;stroke-opacity:.45}"
    ".band{stroke:none;fill-opacity:.2}"
    ".paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#15181c}}"
    "</style>\n";

/* Text of people's choosing, of a length that there is room for. */
static void print_escaped(FILE *out, const char *text)
{
    char *name = terminal_safe_name(text, NAME_COLUMNS, true);
    markup_print(out, name);
    free(name);
}

/* --- the plane --- */

typedef struct Plane {
    Axis x, y;
    bool logarithmic;
    int top; /* below the legend */
} Plane;

static bool is_drawn(const Plane *plane, ChartPoint point)
{
    const double most = 1e300;
    bool above = !plane->logarithmic || (point.x > 1 / most && point.y > 1 / most);
    return above && fabs(point.x) <= most && fabs(point.y) <= most;
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

static Plane plane_of(const Chart *chart)
{
    Plane plane = {.logarithmic = chart->logarithmic};
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    for (size_t s = 0; s < chart->series_count; s++) {
        const ChartBand *band = chart_look(chart, s).band;
        for (size_t i = 0; i < chart->series[s].count; i++) {
            ChartPoint point = chart->series[s].points[i];
            if (!is_drawn(&plane, point))
                continue;
            include(x, point.x);
            include(y, point.y);
            if (band) {
                include(y, band[i].low);
                include(y, band[i].high);
            }
        }
    }
    plane.x = make_axis(&plane, x);
    plane.y = make_axis(&plane, y);
    return plane;
}

static double place_x(const Plane *plane, double x)
{
    return LEFT + axis_share(&plane->x, x) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const Plane *plane, double y)
{
    return plane->top + PLANE - axis_share(&plane->y, y) * PLANE;
}

static void print_axes(FILE *out, const Plane *plane, const Chart *chart)
{
    char label[AXIS_LABEL];
    const int foot = plane->top + PLANE;
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
                x, foot, x, foot + LINE, label);
    }
    fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, plane->top, foot,
            WIDTH - RIGHT);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
            foot + BOTTOM - 8);
    print_escaped(out, chart->x_label);
    fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\">", 8, HEAD - 24);
    print_escaped(out, chart->y_label);
    fprintf(out, "</text>\n");
}

/* --- the series --- */

/* Adds the points from first up to end that a line has to pass: the first, the lowest, the
 * highest and the last, in the order of the series. */
static void keep(size_t **kept, const ChartSeries *series, size_t first, size_t end)
{
    size_t low = first, high = first;
    for (size_t i = first; i < end; i++) {
        if (series->points[i].y < series->points[low].y)
            low = i;
        if (series->points[i].y > series->points[high].y)
            high = i;
    }
    const size_t marks[] = {first, low < high ? low : high, low < high ? high : low, end - 1};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (i == 0 || marks[i] != marks[i - 1])
            arrput(*kept, marks[i]);
}

/* The points that are drawn, an array of stb_ds: all of them unless they are many, and then
 * those that can be told apart. Gaps stay gaps. */
static size_t *points_to_draw(const Plane *plane, const ChartSeries *series)
{
    const double half_units = 2;
    size_t *kept = NULL;
    for (size_t first = 0, end; first < series->count; first = end) {
        const ChartPoint *points = series->points;
        double place = floor(place_x(plane, points[first].x) * half_units);
        end = first + 1;
        while (series->count > MOST_POINTS && end < series->count &&
               is_drawn(plane, points[first]) && is_drawn(plane, points[end]) &&
               floor(place_x(plane, points[end].x) * half_units) == place)
            end++;
        keep(&kept, series, first, end);
    }
    return kept;
}

static void print_line(FILE *out, const Plane *plane, const ChartSeries *series, ChartLook look)
{
    fprintf(out, "<path class=\"line%s\" stroke=\"%s\" stroke-dasharray=\"%s\" d=\"",
            look.faint ? " faint" : "", palette_hex(look.identity),
            palette_dashes(look.identity));
    size_t *kept = points_to_draw(plane, series);
    bool connected = false;
    for (size_t k = 0; k < arrlenu(kept); k++) {
        ChartPoint point = series->points[kept[k]];
        bool drawn = is_drawn(plane, point);
        if (drawn)
            fprintf(out, "%c%.1f %.1f", connected ? 'L' : 'M', place_x(plane, point.x),
                    place_y(plane, point.y));
        connected = drawn;
    }
    fprintf(out, "\"/>\n");
    arrfree(kept);
}

/* There along the upper edge of the band, and back along the lower one, between gaps. */
static void print_band(FILE *out, const Plane *plane, const ChartSeries *series, ChartLook look)
{
    size_t *kept = points_to_draw(plane, series);
    fprintf(out, "<path class=\"band\" fill=\"%s\" d=\"", palette_hex(look.identity));
    for (size_t first = 0, end; first < arrlenu(kept); first = end + 1) {
        for (end = first; end < arrlenu(kept) && is_drawn(plane, series->points[kept[end]]);
             end++)
            fprintf(out, "%c%.1f %.1f", end == first ? 'M' : 'L',
                    place_x(plane, series->points[kept[end]].x),
                    place_y(plane, look.band[kept[end]].high));
        for (size_t k = end; k > first; k--)
            fprintf(out, "L%.1f %.1f", place_x(plane, series->points[kept[k - 1]].x),
                    place_y(plane, look.band[kept[k - 1]].low));
        if (end > first)
            fprintf(out, "Z");
    }
    fprintf(out, "\"/>\n");
    arrfree(kept);
}

static void print_dots(FILE *out, const Plane *plane, const ChartSeries *series, ChartLook look)
{
    for (size_t i = 0; i < series->count && series->count <= MOST_DOTS; i++) {
        ChartPoint point = series->points[i];
        if (!is_drawn(plane, point))
            continue;
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>",
                place_x(plane, point.x), place_y(plane, point.y), palette_hex(look.identity));
        print_escaped(out, series->name ? series->name : "");
        fprintf(out, ": %.6g at %.6g", point.y, point.x);
        if (look.band)
            fprintf(out, ", from %.6g to %.6g", look.band[i].low, look.band[i].high);
        fprintf(out, "</title></circle>\n");
    }
}

static void print_legend_entry(FILE *out, const char *name, ChartLook look, double x, int y)
{
    fprintf(out,
            "<path class=\"line%s\" stroke=\"%s\" stroke-dasharray=\"%s\" "
            "d=\"M%.1f %dh20\"/><text x=\"%.1f\" y=\"%d\">",
            look.faint ? " faint" : "", palette_hex(look.identity),
            palette_dashes(look.identity), x, y - 5, x + 26, y);
    print_escaped(out, name);
    fprintf(out, "</text>\n");
}

/* Swatches and names, in as many lines as they need; returns the baseline of the last. Without
 * a stream it is only measured. */
static int print_legend(FILE *out, const Chart *chart)
{
    const double letter = 7.6, gap = 44; /* an average letter; a swatch and its margins */
    double x = LEFT;
    int y = HEAD;
    for (size_t s = 0; s < chart->series_count; s++) {
        if (!chart->series[s].name)
            continue;
        char *safe = terminal_safe_name(chart->series[s].name, NAME_COLUMNS, true);
        double width = gap + letter * (double)text_columns(safe);
        if (x > LEFT && x + width > WIDTH) {
            x = LEFT;
            y += LINE;
        }
        if (out)
            print_legend_entry(out, safe, chart_look(chart, s), x, y);
        x += width;
        free(safe);
    }
    return y;
}

/* Bands under lines under dots. What is looked at second, and levels, have no dots. */
static void print_series(FILE *out, const Plane *plane, const Chart *chart)
{
    for (size_t s = 0; s < chart->series_count; s++)
        if (chart_look(chart, s).band)
            print_band(out, plane, &chart->series[s], chart_look(chart, s));
    for (size_t s = 0; s < chart->series_count; s++)
        print_line(out, plane, &chart->series[s], chart_look(chart, s));
    for (size_t s = 0; s < chart->series_count; s++) {
        ChartLook look = chart_look(chart, s);
        if (!look.faint && look.identity != CHART_NOBODY)
            print_dots(out, plane, &chart->series[s], look);
    }
}

void svg_print(FILE *out, const Chart *chart, const char *title)
{
    Plane plane = plane_of(chart);
    plane.top = print_legend(NULL, chart) + LINE;
    int height = plane.top + PLANE + BOTTOM;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>",
            WIDTH, height, WIDTH, height);
    print_escaped(out, title);
    fprintf(out, "</title>\n%s<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", style,
            WIDTH, height);
    fprintf(out, "<text class=\"title\" x=\"8\" y=\"28\">");
    print_escaped(out, title);
    fprintf(out, "</text>\n");
    print_axes(out, &plane, chart);
    print_legend(out, chart);
    print_series(out, &plane, chart);
    fprintf(out, "</svg>\n");
}

typedef struct Titled {
    const Chart *chart;
    const char *title;
} Titled;

static void print_titled(FILE *stream, const void *content)
{
    const Titled *titled = content;
    svg_print(stream, titled->chart, titled->title);
}

bool svg_write(const char *path, const Chart *chart, const char *title, Error *error)
{
    return file_replace_printed(path, print_titled, &(Titled){chart, title}, error);
}
