#include "eval/show/svg.h"
#include "eval/show/markup.h"
#include "eval/show/names.h"
#include "eval/show/palette.h"
#include "eval/show/terminal.h"
#include "src/file.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    RIGHT = 20,
    TITLE_LINE = 27,
    TITLE_COLUMNS = 50,
    BOTTOM = 56,
    MOST_DOTS = 100,    /* series with more points are drawn without dots */
    MOST_POINTS = 2000, /* series with more points are thinned */
    NAME_COLUMNS = 60
};

static const char style[] =
    "text{font:16px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#333}"
    ".title{font-size:20px;font-weight:600;fill:#111}"
    ".grid{stroke:#8884;stroke-width:1}"
    ".axis{stroke:#888;stroke-width:1;fill:none}"
    ".line{fill:none;stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}"
    ".faint{stroke-width:1.5;stroke-opacity:.5}"
    ".leader{stroke-width:1;stroke-opacity:.6}"
    ".end{font-weight:600}"
    ".band{stroke:none;fill-opacity:.2}"
    ".paper{fill:#fff}";
static const char dark_style[] = "text{fill:#ccc}.title{fill:#eee}.paper{fill:#15181c}";

static void print_colours(FILE *out, bool dark)
{
    for (size_t i = 0; i <= PALETTE_COLOURS; i++) {
        const char *hex = palette_hex(i < PALETTE_COLOURS ? i : CHART_NOBODY, dark);
        fprintf(out, ".line.c%zu{stroke:%s}.ink.c%zu{fill:%s}", i, hex, i, hex);
    }
}

static void print_style(FILE *out)
{
    fprintf(out, "<style>%s", style);
    print_colours(out, false);
    fprintf(out, "@media(prefers-color-scheme:dark){%s", dark_style);
    print_colours(out, true);
    fprintf(out, "}</style>\n");
}

/* Prints text from users escaped, and shortened to fit. */
static void print_escaped(FILE *out, const char *text)
{
    char *name = terminal_safe_name(text, NAME_COLUMNS, true);
    markup_print(out, name);
    free(name);
}

/* --- axes --- */

static void print_axes(FILE *out, const Plane *plane, const Chart *chart)
{
    char label[AXIS_LABEL];
    const int foot = plane->top + PLANE_HEIGHT;
    for (double i = 0; i < plane->y.count; i++) {
        double value = axis_tick(&plane->y, i), y = plane_y(plane, value);
        axis_label(&plane->y, value, label);
        fprintf(out,
                "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                PLANE_LEFT, y, plane->right, PLANE_LEFT - 8, y + 5.5, label);
    }
    for (double i = 0; i < plane->x.count; i++) {
        double value = axis_tick(&plane->x, i), x = plane_x(plane, value);
        axis_label(&plane->x, value, label);
        fprintf(out,
                "<path class=\"axis\" d=\"M%.1f %dv5\"/>"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                x, foot, x, foot + PLANE_LINE, label);
    }
    fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", PLANE_LEFT, plane->top, foot,
            plane->right);
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">",
            (PLANE_LEFT + plane->right) / 2, foot + BOTTOM - 10);
    print_escaped(out, chart->x_label);
    fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\">", 8, plane->head);
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
        double place = floor(plane_x(plane, points[first].x) * half_units);
        end = first + 1;
        while (series->count > MOST_POINTS && end < series->count &&
               plane_has(plane, points[first]) && plane_has(plane, points[end]) &&
               floor(plane_x(plane, points[end].x) * half_units) == place)
            end++;
        keep(&kept, series, first, end);
    }
    return kept;
}

static void print_line(FILE *out, const Plane *plane, const ChartSeries *series, ChartLook look)
{
    fprintf(out, "<path class=\"line%s c%zu\" stroke-dasharray=\"%s\" d=\"",
            look.faint ? " faint" : "", palette_index(look.identity),
            palette_dashes(look.identity));
    size_t *kept = points_to_draw(plane, series);
    bool connected = false;
    for (size_t k = 0; k < arrlenu(kept); k++) {
        ChartPoint point = series->points[kept[k]];
        bool drawn = plane_has(plane, point);
        if (drawn)
            fprintf(out, "%c%.1f %.1f", connected ? 'L' : 'M', plane_x(plane, point.x),
                    plane_y(plane, point.y));
        connected = drawn;
    }
    fprintf(out, "\"/>\n");
    arrfree(kept);
}

/* There along the upper edge of the band, and back along the lower one, between gaps. */
static void print_band(FILE *out, const Plane *plane, const ChartSeries *series, ChartLook look)
{
    size_t *kept = points_to_draw(plane, series);
    fprintf(out, "<path class=\"band ink c%zu\" d=\"", palette_index(look.identity));
    for (size_t first = 0, end; first < arrlenu(kept); first = end + 1) {
        for (end = first; end < arrlenu(kept) && plane_has(plane, series->points[kept[end]]);
             end++)
            fprintf(out, "%c%.1f %.1f", end == first ? 'M' : 'L',
                    plane_x(plane, series->points[kept[end]].x),
                    plane_y(plane, look.band[kept[end]].high));
        for (size_t k = end; k > first; k--)
            fprintf(out, "L%.1f %.1f", plane_x(plane, series->points[kept[k - 1]].x),
                    plane_y(plane, look.band[kept[k - 1]].low));
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
        if (!plane_has(plane, point))
            continue;
        fprintf(out, "<circle class=\"ink c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                palette_index(look.identity), plane_x(plane, point.x), plane_y(plane, point.y));
        print_escaped(out, series->name ? series->name : "");
        fprintf(out, ": %.6g at %.6g", point.y, point.x);
        if (look.band)
            fprintf(out, ", from %.6g to %.6g", look.band[i].low, look.band[i].high);
        fprintf(out, "</title></circle>\n");
    }
}

/* Bands under lines under dots. What is looked at second, and levels, have no dots. */
static void print_series(FILE *out, const Plane *plane, const Chart *chart)
{
    for (size_t s = 0; s < chart->series_count; s++)
        if (chart_look(chart, s).band)
            print_band(out, plane, &chart->series[s], chart_look(chart, s));
    for (size_t s = 0; s < chart->series_count; s++)
        if (!plane_leaves_out(plane, chart, s))
            print_line(out, plane, &chart->series[s], chart_look(chart, s));
    for (size_t s = 0; s < chart->series_count; s++) {
        ChartLook look = chart_look(chart, s);
        if (!look.faint && !chart_is_level(chart, s))
            print_dots(out, plane, &chart->series[s], look);
    }
}

/* Prints the title, broken into lines; returns the baseline of the last. */
static int print_title(FILE *out, const char *title)
{
    char *safe = terminal_safe_name(title, SIZE_MAX, true);
    char **lines = text_wrap(safe, TITLE_COLUMNS);
    int y = 3;
    for (size_t i = 0; i < arrlenu(lines); i++) {
        y += TITLE_LINE;
        if (!out)
            continue;
        fprintf(out, "<text class=\"title\" x=\"8\" y=\"%d\">", y);
        markup_print(out, lines[i]);
        fprintf(out, "</text>\n");
    }
    text_lines_free(lines);
    free(safe);
    return y;
}

/* Sets where the parts of the picture stand. Names that have no room at the ends of the lines
 * make a legend above the plot. */
static void lay_out(Plane *plane, const Chart *chart, const char *title)
{
    Name *names = names_in_order(plane, chart);
    bool legend = !names_fit(names);
    plane->right = PLANE_WIDTH - (legend || !names ? RIGHT : names_width(chart, names));
    plane->head = print_title(NULL, title) + TITLE_LINE;
    if (legend)
        plane->legend = plane->head + TITLE_LINE;
    plane->top =
        (legend ? names_print_legend(NULL, chart, names, plane->legend) : plane->head) + 14;
    arrfree(names);
}

void svg_print(FILE *out, const Chart *chart, const char *title)
{
    Plane plane = plane_of(chart);
    lay_out(&plane, chart, title);
    int height = plane.top + PLANE_HEIGHT + BOTTOM;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>",
            PLANE_WIDTH, height, PLANE_WIDTH, height);
    print_escaped(out, title);
    fprintf(out, "</title>\n");
    print_style(out);
    fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", PLANE_WIDTH, height);
    print_title(out, title);
    print_axes(out, &plane, chart);
    print_series(out, &plane, chart);
    Name *names = names_in_order(&plane, chart);
    if (plane.legend)
        names_print_legend(out, chart, names, plane.legend);
    else
        names_print_ends(out, &plane, chart, names);
    names_print_levels(out, &plane, chart);
    arrfree(names);
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
