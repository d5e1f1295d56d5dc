/* Tables: described once, printed for a terminal, as Markdown, HTML or CSV.
 *
 * A table has columns, and rows of cells, which are texts that the caller has formatted. They
 * may be untrusted: every form escapes what it would take for more than text. */
#ifndef LINNET_TABLE_H
#define LINNET_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum TableForm { TABLE_TERMINAL, TABLE_MARKDOWN, TABLE_HTML, TABLE_CSV } TableForm;

typedef struct TableColumn {
    const char *title;
    int worth;       /* if a terminal has no room, the column of least worth goes first */
    size_t most;     /* columns of a terminal that its cells may take; 0: any number */
    bool left;       /* flush left: words; numbers are flush right */
    bool rare;       /* left out if all its cells are unknown */
    bool coloured;   /* in HTML: its title has a swatch */
    size_t identity; /* of the swatch; see palette.h */
} TableColumn;

enum { TABLE_ALWAYS = 100 }; /* the worth of columns that never go */

typedef struct TableCell {
    char *text;  /* NULL: unknown */
    bool strong; /* in HTML */
} TableCell;

typedef struct TableRow {
    const char *class; /* in HTML; NULL: none */
    bool coloured;     /* in HTML: its first cell has a swatch */
    size_t identity;
    bool heading; /* on terminals and in HTML its first cell takes a line of its own */
} TableRow;

typedef struct Table {
    TableColumn *columns; /* arrays of stb_ds; the first column names the rows */
    TableRow *rows;
    TableCell *cells; /* (rows, columns) */
    bool begun;       /* it has been printed before */
} Table;

void table_add_column(Table *table, TableColumn column);
void table_add_row(Table *table, TableRow row);
/* Adds the next cell of the last row and takes over its text; NULL: unknown. */
void table_add(Table *table, char *text);
TableCell *table_cell(const Table *table, size_t row, size_t column);

/* Prints the table and forgets its rows. A long CSV without rare columns can so be printed in
 * parts, of which the first has the titles. If a terminal has fewer columns than the table
 * needs, those of least worth are left out, and the first one loses the middles of its names;
 * other forms ignore the width. */
void table_print(FILE *stream, Table *table, TableForm form, size_t width);
void table_free(Table *table);

/* Appends text for Markdown, escaped. */
void table_append_markdown(char **line, const char *text);

#endif
