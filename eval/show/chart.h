/* Line charts: for terminals, and as SVG for browsers, papers and READMEs.
 *
 * On a terminal: with one series, or with colours, curves are drawn in braille: 2 by 4 dots per
 * cell, points connected. Otherwise each series has a letter, and where curves meet the letters
 * alternate. Axes, ticks, labels and the legend fit into the given size.
 *
 * SVG is written without a plotting library: the picture stays readable as text. Names stand at
 * the ends of the lines, or in a legend where they are too many. Lines and text follow the
 * reader's light or dark theme; points show their values when the mouse rests on them. Bands
 * appear only here.
 *
 * Curves of diverged runs do not widen the vertical range, because they would flatten all
 * others: they are clipped at its edges. The same chart gives the same bytes. */
#ifndef LINNET_CHART_H
#define LINNET_CHART_H

#include "src/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A coordinate that is not finite (or beyond 1e300) makes a gap in the line. */
typedef struct ChartPoint {
    double x, y;
} ChartPoint;

/* A band around a point. */
typedef struct ChartBand {
    double low, high;
} ChartBand;

/* A line, and how it looks. Each identity has its colour in all charts. */
typedef struct ChartSeries {
    char *name;         /* in the legend, where it is escaped; NULL: not listed */
    ChartPoint *points; /* an array of stb_ds */
    ChartBand *band;    /* the same, around every point; NULL: none */
    double *labels;     /* the same, numbers that stand at the points of pictures; NULL: none */
    size_t identity;    /* counted from 0, or CHART_NOBODY */
    bool faint;         /* in the background */
    bool diverged;      /* its curve does not widen the vertical range */
} ChartSeries;

/* The identity of lines that belong to no run, such as a level: grey. */
#define CHART_NOBODY SIZE_MAX

typedef struct Chart {
    ChartSeries *series; /* an array of stb_ds; owned, with all that is in it */
    const char *x_label, *y_label;
    bool logarithmic;     /* both sides, in pictures; 0 and below are gaps */
    bool logarithmic_x;   /* the x axis, also on terminals */
    size_t columns, rows; /* of everything; at least CHART_COLUMNS_LEAST by CHART_ROWS_LEAST */
    bool utf8;            /* else only ASCII */
    bool colour;          /* those of eval/show/palette.h */
} Chart;

/* Adds a series with a copy of the name and of the points, which may be none yet. Its identity
 * is its number. The caller sets its look before the next one is added. */
ChartSeries *chart_add(Chart *chart, const char *name, const ChartPoint *points, size_t count);
void chart_free(Chart *chart);

enum { CHART_COLUMNS_LEAST = 24, CHART_ROWS_LEAST = 8 };

/* Whether a point can be drawn. */
bool chart_has(ChartPoint point);
/* Whether a series is a level: a constant such as the entropy of the corpus, not a curve. */
bool chart_is_level(const ChartSeries *series);
/* Whether there are curves that did not diverge, and which give the vertical range. */
bool chart_has_sound(const Chart *chart);

/* Thins a curve for drawing. One of a hundred thousand points has hundreds in every column of a
 * screen. Each interval of x keeps its lowest and its highest point, so that no peak is lost,
 * and one point that cannot be drawn, so that gaps stay. The first and the last point stay as
 * well. Returns the indexes of the points to draw, an array of stb_ds: about `most` (5 or
 * more), or all if there are no more than that. */
size_t *chart_thin(const ChartPoint *points, size_t count, size_t most);

/* Appends the chart for a terminal, every line with its line end. */
void chart_append(char **text, const Chart *chart);

/* Prints a whole SVG document; the chart's columns, rows, utf8 and colour do not matter. */
void svg_print(FILE *stream, const Chart *chart, const char *title);
/* Writes it to a file, whole or not at all. */
bool svg_write(const char *path, const Chart *chart, const char *title, Error *error);

#endif
