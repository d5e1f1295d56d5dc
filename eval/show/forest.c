/* Forest plots: on a terminal as a column of a table, and as SVG. Both stand on the same rows
 * and the same axis. */
#include "eval/show/forest.h"
#include "eval/show/axis.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "eval/show/svg.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>

void forest_free(Forest *forest)
{
    for (size_t r = 0; r < arrlenu(forest->marks); r++)
        free(forest->marks[r].heading);
    arrfree(forest->marks);
    table_free(&forest->table);
    free(forest->x_label);
    free(forest->title);
    free(forest->note);
    *forest = (Forest){0};
}

/* Over 0 and all estimates with their intervals. */
static Axis axis_of(const Forest *forest, size_t ticks)
{
    double low = 0, high = 0;
    for (size_t r = 0; r < arrlenu(forest->marks); r++) {
        const ForestMark *mark = &forest->marks[r];
        low = fmin(low, fmin(mark->estimate, mark->low)); /* which pass NaN over */
        high = fmax(high, fmax(mark->estimate, mark->high));
    }
    return axis_make(low, high, ticks);
}

/* --- for terminals --- */

/* The picture of a row, of this many columns. The caller's. */
static char *strip_of(const ForestMark *mark, const Axis *axis, size_t width, bool utf8)
{
    static const char *const signs[][2] = {
        {" ", " "}, {"|", "│"}, {"-", "─"}, {"o", "○"}, {"*", "●"}};
    char *strip = NULL;
    const bool has_interval = !isnan(mark->low), has_dot = !isnan(mark->estimate);
    for (size_t i = 0; i < width; i++) {
        bool dot = has_dot && i == axis_place(axis, mark->estimate, width);
        bool line = has_interval && i >= axis_place(axis, mark->low, width) &&
                    i <= axis_place(axis, mark->high, width);
        size_t sign = dot                               ? 3 + mark->filled
                      : line                            ? 2
                      : i == axis_place(axis, 0, width) ? 1
                                                        : 0;
        text_append(&strip, "%s", signs[sign][utf8]);
    }
    return strip;
}

/* The labels of the ticks, as far as they do not touch. The caller's. */
static char *scale_of(const Axis *axis, size_t width)
{
    char *scale = text_format("%*s", (int)width, "");
    size_t end = 0; /* of the last label, with a blank behind it */
    for (double i = 0; i < axis->count; i++) {
        char label[AXIS_LABEL];
        axis_label(axis, axis_tick(axis, i), label);
        size_t length = strlen(label), place = axis_place(axis, axis_tick(axis, i), width),
               first = place > length / 2 ? place - length / 2 : 0;
        if (first + length > width)
            first = width > length ? width - length : 0;
        if (first < end || length > width)
            continue;
        memcpy(scale + first, label, length);
        end = first + length + 1;
    }
    scale[end > 0 ? end - 1 : 0] = '\0'; /* no blanks at the end of a line */
    return scale;
}

/* Adds a row of a name and a picture, whose texts it takes over, before so many empty cells. */
static void add_row(Table *table, TableRow row, char *name, char *picture, size_t cells)
{
    table_add_row(table, row);
    table_add(table, name);
    table_add(table, picture);
    for (size_t i = 0; i < cells; i++)
        table_add(table, memory_copy_text(""));
}

void forest_print(FILE *stream, const Forest *forest, size_t width, bool utf8)
{
    enum { NARROWEST = 16, WIDEST = 60, TICKS = 6 };
    const size_t part = width * 2 / 5, cells = arrlenu(forest->table.columns) - 1;
    const size_t strip = part < NARROWEST ? NARROWEST : part > WIDEST ? WIDEST : part;
    const Axis axis = axis_of(forest, TICKS);
    Table table = {0};
    for (size_t c = 0; c <= cells; c++) {
        table_add_column(&table, forest->table.columns[c]);
        if (c == 0)
            table_add_column(&table, (TableColumn){.title = forest->x_label,
                                                   .worth = TABLE_ALWAYS,
                                                   .most = strip,
                                                   .left = true});
    }
    for (size_t r = 0; r < arrlenu(forest->marks); r++) {
        const ForestMark *mark = &forest->marks[r];
        if (mark->heading)
            add_row(&table, (TableRow){.heading = true}, memory_copy_text(mark->heading),
                    memory_copy_text(""), cells);
        table_add_row(&table, (TableRow){0});
        table_add(&table, text_format("  %s", table_cell(&forest->table, r, 0)->text));
        table_add(&table, strip_of(mark, &axis, strip, utf8));
        for (size_t c = 1; c <= cells; c++) {
            const char *text = table_cell(&forest->table, r, c)->text;
            table_add(&table, text ? memory_copy_text(text) : NULL);
        }
    }
    add_row(&table, (TableRow){0}, memory_copy_text(""), scale_of(&axis, strip), cells);
    table_print(stream, &table, TABLE_TERMINAL, width);
    table_free(&table);
}

/* --- as SVG --- */

enum {
    LEFT = 290,  /* of the plot */
    RIGHT = 500, /* of the plot */
    GAP = 16,
    LETTER = 9, /* the width of one in a column of text at its right */
    ROW = 24,
    NAME_COLUMNS = 28,
    CELL_COLUMNS = 14,
    DOT = 5
};

static double place_of(const Axis *axis, double value)
{
    return LEFT + axis_share(axis, value) * (RIGHT - LEFT);
}

static void print_text(FILE *out, const char *attributes, double x, double y, const char *text,
                       size_t columns)
{
    fprintf(out, "<text %s x=\"%.1f\" y=\"%.1f\">", attributes, x, y);
    svg_print_escaped(out, text, columns);
    fprintf(out, "</text>\n");
}

/* The width of a column of text with the gap before it; 0: it is rare, and empty. */
static size_t cell_width(const Forest *forest, size_t column)
{
    size_t widest = text_columns(forest->table.columns[column].title);
    bool shown = !forest->table.columns[column].rare;
    for (size_t r = 0; r < arrlenu(forest->marks); r++) {
        const char *text = table_cell(&forest->table, r, column)->text;
        const size_t width = text ? text_columns(text) : 0;
        widest = width > widest ? width : widest;
        shown |= text != NULL;
    }
    return shown ? LETTER * (widest < CELL_COLUMNS ? widest : CELL_COLUMNS) + GAP : 0;
}

static size_t cells_width(const Forest *forest)
{
    size_t width = 0;
    for (size_t c = 1; c < arrlenu(forest->table.columns); c++)
        width += cell_width(forest, c);
    return width;
}

/* The texts of a row, or the titles, in their columns. */
static void print_cells(FILE *out, const Forest *forest, size_t row, bool titles, double y)
{
    double x = RIGHT + GAP;
    for (size_t c = 1; c < arrlenu(forest->table.columns); c++) {
        const TableColumn *column = &forest->table.columns[c];
        const char *text = titles ? column->title : table_cell(&forest->table, row, c)->text;
        const size_t width = cell_width(forest, c);
        x += (double)width;
        if (width > 0)
            print_text(out, column->left ? "" : "text-anchor=\"end\"",
                       column->left ? x - (double)width + GAP : x, y, text ? text : "–",
                       CELL_COLUMNS);
    }
}

static void print_mark(FILE *out, const Forest *forest, size_t row, const Axis *axis, double y)
{
    const ForestMark *mark = &forest->marks[row];
    const size_t colour = palette_index(forest->table.rows[row].identity);
    if (isnan(mark->estimate))
        return;
    if (!isnan(mark->low))
        fprintf(out, "<path class=\"line c%zu\" d=\"M%.1f %.1fH%.1f\"/>", colour,
                place_of(axis, mark->low), y, place_of(axis, mark->high));
    fprintf(out, "<circle class=\"line %s c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>",
            mark->filled ? "ink" : "hollow", colour, place_of(axis, mark->estimate), y, DOT);
    svg_print_escaped(out, table_cell(&forest->table, row, 0)->text, NAME_COLUMNS);
    fprintf(out, ": %.4g", mark->estimate);
    if (!isnan(mark->low))
        fprintf(out, ", from %.4g to %.4g", mark->low, mark->high);
    fprintf(out, "</title></circle>\n");
}

/* The vertical lines at the ticks, of which 0 is darker, with their labels below. */
static void print_axis(FILE *out, const Axis *axis, double top, double foot)
{
    char label[AXIS_LABEL];
    for (double i = 0; i < axis->count; i++) {
        const double value = axis_tick(axis, i), x = place_of(axis, value);
        axis_label(axis, value, label);
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>", value == 0 ? "axis" : "grid",
                x, top, foot);
        print_text(out, "text-anchor=\"middle\"", x, foot + PLANE_LINE, label, AXIS_LABEL);
    }
}

void forest_print_svg(FILE *out, const Forest *forest, const char *title)
{
    enum { TICKS = 6, NOTE_COLUMNS = 80 };
    const int width = RIGHT + 2 * GAP + (int)cells_width(forest);
    const Axis axis = axis_of(forest, TICKS);
    const double text = 5.5; /* from the middle of a line to its baseline */
    char **notes = text_wrap(forest->note, NOTE_COLUMNS);
    size_t lines = arrlenu(forest->marks);
    for (size_t r = 0; r < arrlenu(forest->marks); r++)
        lines += forest->marks[r].heading != NULL;
    const double head = svg_print_title(NULL, title) + 1.4 * ROW, top = head + 8,
                 foot = top + (double)(ROW * lines) + 4;
    svg_print_head(out, title, width, (int)foot + PLANE_LINE * (3 + (int)arrlenu(notes)));
    print_cells(out, forest, 0, true, head);
    print_axis(out, &axis, top, foot);
    double y = top - ROW / 2.0 + 2;
    for (size_t r = 0; r < arrlenu(forest->marks); r++) {
        if (forest->marks[r].heading)
            print_text(out, "class=\"end\"", 8, (y += ROW) + text, forest->marks[r].heading,
                       2 * NAME_COLUMNS);
        y += ROW;
        print_text(out, "", 20, y + text, table_cell(&forest->table, r, 0)->text, NAME_COLUMNS);
        print_cells(out, forest, r, false, y + text);
        print_mark(out, forest, r, &axis, y);
    }
    print_text(out, "text-anchor=\"middle\"", (LEFT + RIGHT) / 2.0, foot + 2.2 * PLANE_LINE,
               forest->x_label, 2 * NAME_COLUMNS);
    for (size_t i = 0; i < arrlenu(notes); i++)
        print_text(out, "", 8, foot + PLANE_LINE * (3.4 + (double)i), notes[i], NOTE_COLUMNS);
    text_lines_free(notes);
    fprintf(out, "</svg>\n");
}

typedef struct Titled {
    const Forest *forest;
    const char *title;
} Titled;

static void print_titled(FILE *out, const void *content)
{
    const Titled *titled = content;
    forest_print_svg(out, titled->forest, titled->title);
}

bool forest_write_svg(const char *path, const Forest *forest, const char *title, Error *error)
{
    return file_replace_printed(path, print_titled, &(Titled){forest, title}, error);
}
