/* Forest plots: estimates with intervals, one a row, under headings, with columns of text
 * beside them. A vertical line stands at 0; filled dots are estimates that differ from it. */
#ifndef LINNET_FOREST_H
#define LINNET_FOREST_H

#include "eval/show/table.h"
#include "src/base/error.h"

typedef struct ForestMark {
    char *heading;              /* above the row; NULL: none; owned */
    double estimate, low, high; /* NaN: unknown */
    bool filled;
} ForestMark;

typedef struct Forest {
    Table table;       /* a row an estimate: its name, then the columns at the right */
    ForestMark *marks; /* (rows of the table) an array of stb_ds */
    char *x_label;     /* of the estimates; owned, as are the others */
    char *title;
    char *note; /* below the picture */
} Forest;

void forest_free(Forest *forest);

/* Prints it as a table of this width, with the picture as a column, in UTF-8 or ASCII. */
void forest_print(FILE *stream, const Forest *forest, size_t width, bool utf8);
/* Prints it as SVG. */
void forest_print_svg(FILE *out, const Forest *forest, const char *title);
/* Writes it to a file as SVG, whole or not at all. */
bool forest_write_svg(const char *path, const Forest *forest, const char *title, Error *error);

#endif
