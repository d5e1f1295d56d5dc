/* The charts of chart.h as SVG: text that browsers, papers and READMEs draw.
 *
 * The picture is written by hand, not by a plotting library: it needs nothing at run time,
 * stays readable as text, and the same chart gives the same bytes. Colours are Okabe and Ito's,
 * which colour-blind people can tell apart; lines and text follow the reader's light or dark
 * theme. Points name their values when the mouse rests on them. */
#ifndef LINNET_SVG_H
#define LINNET_SVG_H

#include "eval/draw/chart.h"
#include "src/error.h"

#include <stdio.h>

/* Prints a whole document; of the chart's fields, columns, rows, utf8 and colour do not count.
 */
void svg_print(FILE *stream, const Chart *chart, const char *title);
/* The same into a file, whole or not at all. */
bool svg_write(const char *path, const Chart *chart, const char *title, Error *error);

#endif
