#include "eval/compare/table.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <stdint.h>
#include <stdio.h>

enum { GAP = 2 };

/* The column to drop next: the last of those with the least worth. */
static size_t least_worth(const CellColumn *columns)
{
    size_t least = 0;
    for (size_t i = 1; i < arrlenu(columns); i++)
        if (columns[i].worth <= columns[least].worth)
            least = i;
    return least;
}

static size_t width_of(const CellColumn *columns)
{
    size_t width = 0;
    for (size_t i = 0; i < arrlenu(columns); i++)
        width += GAP + columns[i].width;
    return width;
}

/* Drops columns that do not fit beside the names; returns the width of the names. */
static size_t fit_columns(CellColumn **columns, const CompareTable *table)
{
    enum { NAME_LEAST = 8, NAME_MOST = 16 }; /* shorter names are unrecognisable */
    size_t longest = NAME_LEAST;
    for (size_t g = 0; g < arrlenu(table->groups); g++) {
        size_t width = text_columns(table->names[g]);
        longest = width > longest ? width : longest;
    }
    size_t wanted = longest < NAME_MOST ? longest : NAME_MOST;
    for (size_t i; arrlenu(*columns) > 0 && wanted + width_of(*columns) > table->width &&
                   (*columns)[i = least_worth(*columns)].worth < CELL_ALWAYS;) {
        cells_free_column(&(*columns)[i], arrlenu(table->groups));
        arrdel(*columns, i);
    }
    size_t others = width_of(*columns);
    size_t room = table->width > others + NAME_LEAST ? table->width - others : NAME_LEAST;
    return longest < room ? longest : room;
}

/* --- printing --- */

/* The row of a group; SIZE_MAX: the titles. */
static void print_row(const char *name, size_t name_width, const CellColumn *columns,
                      size_t group)
{
    char *line = text_format("%s%*s", name, (int)(name_width - text_columns(name)), "");
    for (size_t i = 0; i < arrlenu(columns); i++) {
        const char *text = group == SIZE_MAX ? columns[i].title : columns[i].cells[group];
        int blanks = (int)(columns[i].width - text_columns(text));
        text_append(&line, "%*s%s%*s", GAP + (columns[i].left ? 0 : blanks), "", text,
                    columns[i].left ? blanks : 0, "");
    }
    printf("%s\n", line);
    free(line);
}

void compare_print_table(const CompareTable *table)
{
    CellColumn *columns = cells_for_terminal(table->groups, table->reach);
    size_t width = fit_columns(&columns, table);
    print_row("run", width, columns, SIZE_MAX);
    for (size_t g = 0; g < arrlenu(table->groups); g++) {
        char *name = terminal_safe_name(table->names[g], width, table->utf8);
        print_row(name, width, columns, g);
        free(name);
    }
    cells_free(columns, arrlenu(table->groups));
}
