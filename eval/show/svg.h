/* The charts of chart.h as SVG, for browsers, papers and READMEs.
 *
 * Written without a plotting library: the picture stays readable as text, and the same chart
 * gives the same bytes. Names stand at the ends of the lines, or in a legend where they are too
 * many. Lines and text follow the reader's light or dark theme; points show their values when
 * the mouse rests on them. */
#ifndef LINNET_SVG_H
#define LINNET_SVG_H

#include "eval/show/chart.h"
#include "src/base/error.h"

#include <stdio.h>

/* Prints a whole document; the chart's columns, rows, utf8 and colour do not matter. */
void svg_print(FILE *stream, const Chart *chart, const char *title);
/* Writes it to a file, whole or not at all. */
bool svg_write(const char *path, const Chart *chart, const char *title, Error *error);

#endif
