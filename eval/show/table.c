#include "eval/show/table.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdint.h>
#include <string.h>

#define TITLES SIZE_MAX /* the number of the row of titles; adding 1 leads to the first row */

void table_add_column(Table *table, TableColumn column)
{
    arrput(table->columns, column);
}

void table_add_row(Table *table, TableRow row)
{
    arrput(table->rows, row);
}

void table_add(Table *table, char *text)
{
    arrput(table->cells, ((TableCell){.text = text}));
}

static void forget_rows(Table *table)
{
    for (size_t i = 0; i < arrlenu(table->cells); i++)
        free(table->cells[i].text);
    arrsetlen(table->cells, 0);
    arrsetlen(table->rows, 0);
}

void table_free(Table *table)
{
    forget_rows(table);
    arrfree(table->columns);
    arrfree(table->rows);
    arrfree(table->cells);
    *table = (Table){0};
}

TableCell *table_cell(const Table *table, size_t row, size_t column)
{
    return &table->cells[row * arrlenu(table->columns) + column];
}

static const char *text_at(const Table *table, size_t row, size_t column, const char *unknown)
{
    const char *text = row == TITLES ? table->columns[column].title
                                     : table_cell(table, row, column)->text;
    return text ? text : unknown;
}

/* Which columns are printed, of which the caller frees the array. */
static bool *columns_to_show(const Table *table)
{
    bool *shown = memory_new(arrlenu(table->columns) + 1, sizeof *shown, "a table");
    for (size_t column = 0; column < arrlenu(table->columns); column++) {
        shown[column] = !table->columns[column].rare;
        for (size_t row = 0; row < arrlenu(table->rows) && !shown[column]; row++)
            shown[column] = table_cell(table, row, column)->text != NULL;
    }
    return shown;
}

/* --- for terminals --- */

enum { GAP = 2 };

/* The text of a cell, of which the middle may have to go; that of the first column, the names,
 * gets this width. */
static char *terminal_text(const Table *table, size_t row, size_t column, size_t names)
{
    size_t most = table->columns[column].most ? table->columns[column].most : SIZE_MAX;
    return terminal_safe_name(text_at(table, row, column, "-"), column ? most : names,
                              terminal_is_utf8());
}

static bool is_heading(const Table *table, size_t row)
{
    return row != TITLES && table->rows[row].heading;
}

static size_t width_of(const Table *table, size_t column)
{
    size_t widest = 0;
    for (size_t row = TITLES; row + 1 <= arrlenu(table->rows); row++) {
        char *text = terminal_text(table, row, column, SIZE_MAX);
        size_t width = is_heading(table, row) ? 0 : text_columns(text);
        widest = width > widest ? width : widest;
        free(text);
    }
    return widest;
}

/* The column to leave out next, the last of those with the least worth; 0: none. */
static size_t least_worth(const Table *table, const bool *shown)
{
    size_t least = 0;
    int worth = TABLE_ALWAYS - 1;
    for (size_t column = 1; column < arrlenu(table->columns); column++)
        if (shown[column] && table->columns[column].worth <= worth) {
            least = column;
            worth = table->columns[column].worth;
        }
    return least;
}

/* The columns that the names need so that they differ, at least this many. */
static size_t distinct_names(const Table *table, size_t least)
{
    const char **names = NULL;
    for (size_t row = 0; row < arrlenu(table->rows); row++)
        if (!is_heading(table, row) && table_cell(table, row, 0)->text)
            arrput(names, table_cell(table, row, 0)->text);
    size_t columns = terminal_distinct_columns(names, arrlenu(names), least);
    arrfree(names);
    return columns;
}

/* Sets the widths of the columns, leaving out those that do not fit beside the names. */
static void fit(const Table *table, bool *shown, size_t *widths, size_t width)
{
    enum { NAME_LEAST = 8, NAME_MOST = 16 }; /* shorter names are unrecognisable */
    size_t others = 0, names = width_of(table, 0);
    names = names > NAME_LEAST ? names : NAME_LEAST;
    for (size_t column = 1; column < arrlenu(table->columns); column++) {
        widths[column] = width_of(table, column);
        others += shown[column] ? GAP + widths[column] : 0;
    }
    size_t for_names = names < NAME_MOST ? names : distinct_names(table, NAME_MOST),
           least = least_worth(table, shown);
    while (for_names + others > width && least > 0) {
        shown[least] = false;
        others -= GAP + widths[least];
        least = least_worth(table, shown);
    }
    size_t room = width > others + NAME_LEAST ? width - others : NAME_LEAST;
    widths[0] = names < room ? names : room;
}

static void print_terminal_row(FILE *stream, const Table *table, const bool *shown,
                               const size_t *widths /* (columns) */, size_t row)
{
    int blanks = 0; /* not printed until something follows */
    for (size_t column = 0; column < arrlenu(table->columns); column++) {
        if (!shown[column])
            continue;
        char *text = terminal_text(table, row, column,
                                   is_heading(table, row) ? SIZE_MAX : widths[0]);
        const int width = (int)text_columns(text), rest = (int)widths[column] - width;
        bool left = column == 0 || table->columns[column].left;
        if (width > 0)
            fprintf(stream, "%*s%s", blanks + (left ? 0 : rest), "", text);
        blanks = GAP + (width == 0 ? blanks + rest : left ? rest : 0);
        free(text);
        if (is_heading(table, row))
            break;
    }
    fputc('\n', stream);
}

/* Names the columns that were to be shown but had no room. */
static void print_left_out(FILE *stream, const Table *table, const bool *asked,
                           const bool *shown, size_t width)
{
    enum { LEAST = 24 };
    char *names = NULL, *text = NULL;
    for (size_t column = 1; column < arrlenu(table->columns); column++)
        if (asked[column] && !shown[column]) {
            char *title = terminal_text(table, TITLES, column, SIZE_MAX);
            text_append(&names, "%s%s", names ? ", " : "Left out at this width: ", title);
            free(title);
        }
    if (names)
        text_append_wrapped(&text, names, width < LEAST ? LEAST : width, 0);
    fputs(text ? text : "", stream);
    free(names);
    free(text);
}

static void print_for_terminal(FILE *stream, const Table *table, const bool *asked,
                               size_t width)
{
    const size_t count = arrlenu(table->columns);
    size_t *widths = memory_new(count, sizeof *widths, "a table");
    bool *shown = memory_new(count, sizeof *shown, "a table");
    memcpy(shown, asked, count * sizeof *shown);
    fit(table, shown, widths, width);
    for (size_t row = TITLES; row + 1 <= arrlenu(table->rows); row++)
        print_terminal_row(stream, table, shown, widths, row);
    print_left_out(stream, table, asked, shown, width);
    free(shown);
    free(widths);
}

/* --- Markdown --- */

/* Whether Markdown gives the character a meaning. Points and colons make addresses, which
 * become links, but not in numbers or at the end of a word. */
static bool is_mark(const char *text, size_t at)
{
    bool after_digit = at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9';
    bool last = text[at + 1] == ' ' || text[at + 1] == '\0';
    return strchr("\\`*_[]~|$", text[at]) || (strchr(".:", text[at]) && !after_digit && !last);
}

void table_append_markdown(char **line, const char *text)
{
    char *safe = terminal_safe_name(text, SIZE_MAX, true);
    for (size_t at = 0; safe[at]; at++)
        if (safe[at] == '<')
            text_append(line, "&lt;");
        else if (safe[at] == '>')
            text_append(line, "&gt;");
        else if (safe[at] == '&')
            text_append(line, "&amp;");
        else
            text_append(line, "%s%c", is_mark(safe, at) ? "\\" : "", safe[at]);
    free(safe);
}

static void print_markdown(FILE *stream, const Table *table, const bool *shown)
{
    const size_t count = arrlenu(table->columns);
    for (size_t row = TITLES; row + 1 <= arrlenu(table->rows); row++) {
        char *line = memory_copy_text("|");
        for (size_t column = 0; column < count; column++)
            if (shown[column]) {
                text_append(&line, " ");
                table_append_markdown(&line, text_at(table, row, column, "-"));
                text_append(&line, " |");
            }
        fprintf(stream, "%s\n", line);
        free(line);
        for (size_t column = 0; row == TITLES && column < count; column++)
            if (shown[column])
                fprintf(stream, "%s%s", column ? "" : "|",
                        column == 0 || table->columns[column].left ? "---|" : "---:|");
        fputs(row == TITLES ? "\n" : "", stream);
    }
}

/* --- HTML --- */

static void print_html_cell(FILE *stream, const Table *table, size_t row, size_t column)
{
    const TableColumn *of = &table->columns[column];
    const bool head = row == TITLES || column == 0;
    const bool number = column > 0 && !of->left;
    const bool strong = row != TITLES && table_cell(table, row, column)->strong;
    fprintf(stream, "<%s", head ? "th scope=" : "td");
    if (head)
        fprintf(stream, "\"%s\"", row == TITLES ? "col" : "row");
    if (number || strong)
        fprintf(stream, " class=\"%s%s%s\"", number ? "number" : "",
                number && strong ? " " : "", strong ? "best" : "");
    fputc('>', stream);
    if (row == TITLES && of->coloured)
        palette_print_swatch(stream, of->identity);
    if (row != TITLES && column == 0 && table->rows[row].coloured)
        palette_print_swatch(stream, table->rows[row].identity);
    markup_print(stream, text_at(table, row, column, "\u2013"));
    fputs(head ? "</th>" : "</td>", stream);
}

static void print_html_heading(FILE *stream, const Table *table, const bool *shown, size_t row)
{
    size_t columns = 0;
    for (size_t column = 0; column < arrlenu(table->columns); column++)
        columns += shown[column];
    fprintf(stream, "<tr class=\"heading\"><th scope=\"rowgroup\" colspan=\"%zu\">", columns);
    markup_print(stream, text_at(table, row, 0, ""));
    fputs("</th></tr>", stream);
}

static void print_html_row(FILE *stream, const Table *table, const bool *shown, size_t row)
{
    if (is_heading(table, row)) {
        print_html_heading(stream, table, shown, row);
        return;
    }
    const char *class = row == TITLES ? NULL : table->rows[row].class;
    if (class)
        fprintf(stream, "<tr class=\"%s\">", class);
    else
        fputs("<tr>", stream);
    for (size_t column = 0; column < arrlenu(table->columns); column++)
        if (shown[column])
            print_html_cell(stream, table, row, column);
    fputs("</tr>", stream);
}

static void print_html(FILE *stream, const Table *table, const bool *shown)
{
    fputs("<thead>", stream);
    print_html_row(stream, table, shown, TITLES);
    fputs("</thead>\n<tbody>\n", stream);
    for (size_t row = 0; row < arrlenu(table->rows); row++) {
        print_html_row(stream, table, shown, row);
        fputc('\n', stream);
    }
    fputs("</tbody>", stream);
}

/* --- CSV --- */

/* In quotes where it has to be. Most cells are numbers, and a log has millions of them. */
static void print_csv_cell(FILE *stream, const char *text)
{
    if (!text[strspn(text, "0123456789.+-e")]) {
        fputs(text, stream);
        return;
    }
    char *safe = terminal_safe_name(text, SIZE_MAX, true), *rest = safe;
    if (!strpbrk(safe, ",\"")) {
        fputs(safe, stream);
    } else {
        const char *between = "\"";
        for (char *part; (part = strsep(&rest, "\"")); between = "\"\"")
            fprintf(stream, "%s%s", between, part);
        fputc('"', stream);
    }
    free(safe);
}

static void print_csv(FILE *stream, const Table *table, const bool *shown)
{
    for (size_t row = table->begun ? 0 : TITLES; row + 1 <= arrlenu(table->rows); row++) {
        for (size_t column = 0; column < arrlenu(table->columns); column++)
            if (shown[column]) {
                fputs(column ? "," : "", stream);
                print_csv_cell(stream, text_at(table, row, column, ""));
            }
        fputc('\n', stream);
    }
}

void table_print(FILE *stream, Table *table, TableForm form, size_t width)
{
    bool *shown = columns_to_show(table);
    switch (form) {
    case TABLE_TERMINAL:
        print_for_terminal(stream, table, shown, width);
        break;
    case TABLE_MARKDOWN:
        print_markdown(stream, table, shown);
        break;
    case TABLE_HTML:
        print_html(stream, table, shown);
        break;
    case TABLE_CSV:
        print_csv(stream, table, shown);
        break;
    }
    free(shown);
    forget_rows(table);
    table->begun = true;
}
