#include "eval/show/names.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdlib.h>

enum {
    LETTER = 10, /* the width of a letter in wide fonts */
    BOLD_LETTER = 11,
    NAME_COLUMNS = 60,
    END_COLUMNS = 22, /* of a name at the end of its line */
    MOST_ENDS = PLANE_HEIGHT / PLANE_LINE
};

static int compare_ends(const void *a, const void *b)
{
    double of_a = ((const Name *)a)->end, of_b = ((const Name *)b)->end;
    return (of_a > of_b) - (of_a < of_b);
}

Name *names_in_order(const Plane *plane, const Chart *chart)
{
    Name *names = NULL;
    for (size_t s = 0; s < chart->series_count; s++) {
        ChartPoint end;
        Name name = {.series = s, .x = PLANE_LEFT, .end = plane->top + PLANE_HEIGHT};
        if (!chart->series[s].name || chart_is_level(chart, s))
            continue;
        if (plane_last(plane, &chart->series[s], &end)) {
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

static void print_name(FILE *out, const Chart *chart, size_t series, const char *class,
                       double x, double y, size_t columns)
{
    char *safe = terminal_safe_name(chart->series[series].name, columns, true);
    fprintf(out, "<text class=\"%s ink c%zu\" x=\"%.1f\" y=\"%.1f\">", class,
            palette_index(chart_look(chart, series).identity), x, y);
    markup_print(out, safe);
    fprintf(out, "</text>\n");
    free(safe);
}

bool names_fit(const Name *names)
{
    return arrlenu(names) <= MOST_ENDS;
}

void names_print_ends(FILE *out, const Plane *plane, const Chart *chart, Name *names)
{
    const double near = 7, gap = 10, below_middle = 5.5;
    spread_names(plane, names);
    for (size_t i = 0; i < arrlenu(names); i++) {
        const Name *name = &names[i];
        if (fabs(name->y - name->end) > near || name->x + near < plane->right)
            fprintf(out, "<path class=\"line leader c%zu\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                    palette_index(chart_look(chart, name->series).identity), name->x, name->end,
                    plane->right + gap - 2, name->y);
        print_name(out, chart, name->series, "end", plane->right + gap, name->y + below_middle,
                   END_COLUMNS);
    }
}

void names_print_levels(FILE *out, const Plane *plane, const Chart *chart)
{
    for (size_t s = 0; s < chart->series_count; s++) {
        ChartPoint end;
        if (chart->series[s].name && chart_is_level(chart, s) &&
            !plane_leaves_out(plane, chart, s) && plane_last(plane, &chart->series[s], &end))
            print_name(out, chart, s, "level", PLANE_LEFT + 8,
                       plane_y(plane, end.y) + PLANE_LINE - 3, NAME_COLUMNS);
    }
}

int names_print_legend(FILE *out, const Chart *chart, const Name *names, int y)
{
    const int swatch = 24, gap = 16;
    double x = PLANE_LEFT;
    for (size_t i = 0; i < arrlenu(names); i++) {
        size_t s = names[i].series;
        ChartLook look = chart_look(chart, s);
        char *safe = terminal_safe_name(chart->series[s].name, NAME_COLUMNS, true);
        double width = swatch + 6 + gap + LETTER * (double)text_columns(safe);
        free(safe);
        if (x > PLANE_LEFT && x + width > PLANE_WIDTH) {
            x = PLANE_LEFT;
            y += PLANE_LINE;
        }
        if (out) {
            fprintf(out,
                    "<path class=\"line%s c%zu\" stroke-dasharray=\"%s\" d=\"M%.1f %dh%d\"/>",
                    look.faint ? " faint" : "", palette_index(look.identity),
                    palette_dashes(look.identity), x, y - 5, swatch);
            print_name(out, chart, s, "name", x + swatch + 6, y, NAME_COLUMNS);
        }
        x += width;
    }
    return y;
}

int names_width(const Chart *chart, const Name *names)
{
    size_t widest = 0;
    for (size_t i = 0; i < arrlenu(names); i++) {
        char *safe = terminal_safe_name(chart->series[names[i].series].name, END_COLUMNS, true);
        size_t columns = text_columns(safe);
        widest = columns > widest ? columns : widest;
        free(safe);
    }
    return 14 + BOLD_LETTER * (int)widest;
}
