/* Charts as SVG. */
#include "eval/show/svg.h"
#include "eval/show/axis.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "eval/show/terminal.h"
#include "src/base/file.h"
#include "src/base/containers.h"
#include "src/base/text.h"

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
    LETTER = 10,        /* the width of a letter in wide fonts */
    BOLD_LETTER = 11,
    NAME_COLUMNS = 60,
    LABEL_COLUMNS = 100, /* of an axis, which has a line to itself */
    END_COLUMNS = 22,    /* of a name at the end of its line */
    MOST_ENDS = PLANE_HEIGHT / PLANE_LINE
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
    ".label{font-size:12px}"
    ".band{stroke:none;fill-opacity:.2}"
    ".paper,.hollow{fill:#fff}";
static const char dark_style[] = "text{fill:#ccc}.title{fill:#eee}.paper,.hollow{fill:#15181c}";

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

void svg_print_escaped(FILE *out, const char *text, size_t columns)
{
    char *name = terminal_safe_name(text, columns, true);
    markup_print(out, name);
    free(name);
}

int svg_print_title(FILE *out, const char *title)
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

void svg_print_head(FILE *out, const char *title, int width, int height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>",
            width, height, width, height);
    svg_print_escaped(out, title, NAME_COLUMNS);
    fprintf(out, "</title>\n");
    print_style(out);
    fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", width, height);
    svg_print_title(out, title);
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
    svg_print_escaped(out, chart->x_label, LABEL_COLUMNS);
    fprintf(out, "</text>\n<text x=\"%d\" y=\"%d\">", 8, plane->head);
    svg_print_escaped(out, chart->y_label, LABEL_COLUMNS);
    fprintf(out, "</text>\n");
}

/* --- the series --- */

static void print_line(FILE *out, const Plane *plane, const ChartSeries *series)
{
    fprintf(out, "<path class=\"line%s c%zu\" stroke-dasharray=\"%s\" d=\"",
            series->faint ? " faint" : "", palette_index(series->identity),
            palette_dashes(series->identity));
    size_t *kept = chart_thin(series->points, arrlenu(series->points), MOST_POINTS);
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
static void print_band(FILE *out, const Plane *plane, const ChartSeries *series)
{
    size_t *kept = chart_thin(series->points, arrlenu(series->points), MOST_POINTS);
    fprintf(out, "<path class=\"band ink c%zu\" d=\"", palette_index(series->identity));
    for (size_t first = 0, end; first < arrlenu(kept); first = end + 1) {
        for (end = first; end < arrlenu(kept) && plane_has(plane, series->points[kept[end]]);
             end++)
            fprintf(out, "%c%.1f %.1f", end == first ? 'M' : 'L',
                    plane_x(plane, series->points[kept[end]].x),
                    plane_y(plane, series->band[kept[end]].high));
        for (size_t k = end; k > first; k--)
            fprintf(out, "L%.1f %.1f", plane_x(plane, series->points[kept[k - 1]].x),
                    plane_y(plane, series->band[kept[k - 1]].low));
        if (end > first)
            fprintf(out, "Z");
    }
    fprintf(out, "\"/>\n");
    arrfree(kept);
}

static void print_dots(FILE *out, const Plane *plane, const ChartSeries *series)
{
    for (size_t i = 0; i < arrlenu(series->points) && arrlenu(series->points) <= MOST_DOTS;
         i++) {
        ChartPoint point = series->points[i];
        if (!plane_has(plane, point))
            continue;
        fprintf(out, "<circle class=\"ink c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
                palette_index(series->identity), plane_x(plane, point.x),
                plane_y(plane, point.y));
        svg_print_escaped(out, series->name ? series->name : "", NAME_COLUMNS);
        fprintf(out, ": %.6g at %.6g", point.y, point.x);
        if (series->band)
            fprintf(out, ", from %.6g to %.6g", series->band[i].low, series->band[i].high);
        fprintf(out, "</title></circle>\n");
    }
}

/* A number above its point, in small type. */
static void print_labels(FILE *out, const Plane *plane, const ChartSeries *series)
{
    const double above = 9;
    for (size_t i = 0; i < arrlenu(series->labels); i++)
        if (plane_has(plane, series->points[i]))
            fprintf(out,
                    "<text class=\"label ink c%zu\" x=\"%.1f\" y=\"%.1f\" "
                    "text-anchor=\"middle\">%g</text>\n",
                    palette_index(series->identity), plane_x(plane, series->points[i].x),
                    plane_y(plane, series->points[i].y) - above, series->labels[i]);
}

/* Bands under lines under dots. What is looked at second, and levels, have no dots. */
static void print_series(FILE *out, const Plane *plane, const Chart *chart)
{
    const ChartSeries *first = chart->series, *end = first + arrlenu(first);
    for (const ChartSeries *series = first; series < end; series++)
        if (series->band)
            print_band(out, plane, series);
    for (const ChartSeries *series = first; series < end; series++)
        if (!plane_leaves_out(plane, series))
            print_line(out, plane, series);
    for (const ChartSeries *series = first; series < end; series++)
        if (!series->faint && !chart_is_level(series))
            print_dots(out, plane, series);
    for (const ChartSeries *series = first; series < end; series++)
        print_labels(out, plane, series);
}

/* --- the names: at the ends of the lines, or in a legend if they are too many --- */

/* The name of a curve: where its line ends, and where the name stands. */
typedef struct Name {
    const ChartSeries *series;
    double x, end, y; /* y is `end` or close to it */
} Name;

static int compare_ends(const void *a, const void *b)
{
    double of_a = ((const Name *)a)->end, of_b = ((const Name *)b)->end;
    return (of_a > of_b) - (of_a < of_b);
}

/* An array of stb_ds of the names of the curves, in the order of their ends from top to bottom.
 * A curve without points ends at the bottom. */
static Name *names_in_order(const Plane *plane, const Chart *chart)
{
    Name *names = NULL;
    for (size_t s = 0; s < arrlenu(chart->series); s++) {
        ChartPoint end;
        Name name = {&chart->series[s], .x = PLANE_LEFT, .end = plane->top + PLANE_HEIGHT};
        if (!name.series->name || chart_is_level(name.series))
            continue;
        if (plane_last(plane, name.series, &end)) {
            name.x = plane_x(plane, end.x);
            name.end = plane_y(plane, end.y);
        }
        arrput(names, name);
    }
    if (names)
        qsort(names, arrlenu(names), sizeof *names, compare_ends);
    return names;
}

/* Moves the names apart so that each has a line of its own, as close to the ends as possible:
 * neighbours that are too close form a block around the mean of their ends. */
static void spread_names(const Plane *plane, Name *names)
{
    const size_t count = arrlenu(names);
    double sums[MOST_ENDS], sizes[MOST_ENDS];
    size_t blocks = 0;
    for (size_t i = 0; i < count; i++, blocks++) {
        sums[blocks] = names[i].end - PLANE_LINE * (double)i;
        sizes[blocks] = 1;
        while (blocks > 0 &&
               sums[blocks - 1] / sizes[blocks - 1] >= sums[blocks] / sizes[blocks]) {
            blocks--;
            sums[blocks] += sums[blocks + 1];
            sizes[blocks] += sizes[blocks + 1];
        }
    }
    const double lowest = plane->top + PLANE_HEIGHT - PLANE_LINE * ((double)count - 1);
    for (size_t block = 0, i = 0; block < blocks; block++) {
        double place = fmin(fmax(sums[block] / sizes[block], plane->top), lowest);
        for (size_t end = i + (size_t)sizes[block]; i < end; i++)
            names[i].y = place + PLANE_LINE * (double)i;
    }
}

static void print_name(FILE *out, const ChartSeries *series, const char *class, double x,
                       double y, size_t columns)
{
    fprintf(out, "<text class=\"%s ink c%zu\" x=\"%.1f\" y=\"%.1f\">", class,
            palette_index(series->identity), x, y);
    svg_print_escaped(out, series->name, columns);
    fprintf(out, "</text>\n");
}

/* Prints them at the ends of the lines; a thin line leads to a name that is not beside its
 * end. */
static void print_ends(FILE *out, const Plane *plane, Name *names)
{
    const double near = 7, gap = 10, below_middle = 5.5;
    spread_names(plane, names);
    for (size_t i = 0; i < arrlenu(names); i++) {
        const Name *name = &names[i];
        if (fabs(name->y - name->end) > near || name->x + near < plane->right)
            fprintf(out, "<path class=\"line leader c%zu\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                    palette_index(name->series->identity), name->x, name->end,
                    plane->right + gap - 2, name->y);
        print_name(out, name->series, "end", plane->right + gap, name->y + below_middle,
                   END_COLUMNS);
    }
}

/* Prints the name of each level below its line, where no curve comes. */
static void print_levels(FILE *out, const Plane *plane, const Chart *chart)
{
    for (size_t s = 0; s < arrlenu(chart->series); s++) {
        const ChartSeries *series = &chart->series[s];
        ChartPoint end;
        if (series->name && chart_is_level(series) && !plane_leaves_out(plane, series) &&
            plane_last(plane, series, &end))
            print_name(out, series, "level", PLANE_LEFT + 8,
                       plane_y(plane, end.y) + PLANE_LINE - 3, NAME_COLUMNS);
    }
}

/* The letters of a name that is shortened to fit. */
static size_t letters_of(const ChartSeries *series, size_t most)
{
    char *safe = terminal_safe_name(series->name, most, true);
    size_t columns = text_columns(safe);
    free(safe);
    return columns;
}

/* Prints swatches and names, in as many lines as they need; returns the baseline of the last.
 * Without a stream it only measures. */
static int print_legend(FILE *out, const Name *names, int y)
{
    const int swatch = 24, gap = 16;
    double x = PLANE_LEFT;
    for (size_t i = 0; i < arrlenu(names); i++) {
        const ChartSeries *series = names[i].series;
        double width = swatch + 6 + gap + LETTER * (double)letters_of(series, NAME_COLUMNS);
        if (x > PLANE_LEFT && x + width > PLANE_WIDTH) {
            x = PLANE_LEFT;
            y += PLANE_LINE;
        }
        if (out) {
            fprintf(out,
                    "<path class=\"line%s c%zu\" stroke-dasharray=\"%s\" d=\"M%.1f %dh%d\"/>",
                    series->faint ? " faint" : "", palette_index(series->identity),
                    palette_dashes(series->identity), x, y - 5, swatch);
            print_name(out, series, "name", x + swatch + 6, y, NAME_COLUMNS);
        }
        x += width;
    }
    return y;
}

/* Whether names that are shortened to stand at the ends of their lines differ. */
static bool ends_differ(const Name *names)
{
    const char **texts = NULL;
    for (size_t i = 0; i < arrlenu(names); i++)
        arrput(texts, names[i].series->name);
    bool differ = terminal_distinct_columns(texts, arrlenu(texts), END_COLUMNS) == END_COLUMNS;
    arrfree(texts);
    return differ;
}

/* The width of the room to the right of the plot that names at the ends need. */
static int ends_width(const Name *names)
{
    size_t widest = 0;
    for (size_t i = 0; i < arrlenu(names); i++) {
        size_t letters = letters_of(names[i].series, END_COLUMNS);
        widest = letters > widest ? letters : widest;
    }
    return 14 + BOLD_LETTER * (int)widest;
}

/* --- the document --- */

/* Sets where the parts of the picture stand. Names that have no room at the ends of the lines
 * make a legend above the plot. */
static void lay_out(Plane *plane, const Chart *chart, const char *title)
{
    Name *names = names_in_order(plane, chart);
    bool legend = arrlenu(names) > MOST_ENDS || !ends_differ(names);
    plane->right = PLANE_WIDTH - (legend || !names ? RIGHT : ends_width(names));
    plane->head = svg_print_title(NULL, title) + TITLE_LINE;
    if (legend)
        plane->legend = plane->head + TITLE_LINE;
    plane->top = (legend ? print_legend(NULL, names, plane->legend) : plane->head) + 14;
    arrfree(names);
}

void svg_print(FILE *out, const Chart *chart, const char *title)
{
    Plane plane = plane_of(chart);
    lay_out(&plane, chart, title);
    svg_print_head(out, title, PLANE_WIDTH, plane.top + PLANE_HEIGHT + BOTTOM);
    print_axes(out, &plane, chart);
    print_series(out, &plane, chart);
    Name *names = names_in_order(&plane, chart);
    if (plane.legend)
        print_legend(out, names, plane.legend);
    else
        print_ends(out, &plane, names);
    print_levels(out, &plane, chart);
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
