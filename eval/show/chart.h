/* Line charts for terminals.
 *
 * With one series, or with colours, curves are drawn in braille: 2 by 4 dots per cell, points
 * connected. Otherwise each series has a letter, and where curves meet the letters alternate.
 * Bands appear only in SVG. Curves of diverged runs do not widen the vertical range, because
 * they would flatten all others: they are clipped at its edges. Axes, ticks, labels and the
 * legend fit into the given size. */
#ifndef LINNET_CHART_H
#define LINNET_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A coordinate that is not finite (or beyond 1e300) makes a gap in the line. */
typedef struct ChartPoint {
    double x, y;
} ChartPoint;

typedef struct ChartSeries {
    const char *name; /* in the legend, where it is escaped; NULL: not listed */
    const ChartPoint *points;
    size_t count;
} ChartSeries;

typedef struct ChartBand {
    double low, high;
} ChartBand;

/* How a series looks. Each identity has its colour in all charts. */
typedef struct ChartLook {
    size_t identity;       /* counted from 0, or CHART_NOBODY */
    bool faint;            /* in the background */
    bool diverged;         /* its curve does not widen the vertical range */
    const ChartBand *band; /* around every point, in pictures; NULL: none */
} ChartLook;

/* The identity of lines that belong to no run, such as a level: grey. */
#define CHART_NOBODY SIZE_MAX

/* Borrows all that it points to. */
typedef struct Chart {
    const ChartSeries *series;
    size_t series_count;
    const ChartLook *looks; /* of the series; NULL: each is an identity of its own */
    const char *x_label, *y_label;
    bool logarithmic;     /* both sides, in pictures; 0 and below are gaps */
    size_t columns, rows; /* of everything; at least CHART_COLUMNS_LEAST by CHART_ROWS_LEAST */
    bool utf8;            /* else only ASCII */
    bool colour;          /* those of eval/show/palette.h */
} Chart;

enum { CHART_COLUMNS_LEAST = 24, CHART_ROWS_LEAST = 8 };

/* Whether a point can be drawn. */
bool chart_has(ChartPoint point);
/* How the i-th series looks. */
ChartLook chart_look(const Chart *chart, size_t i);
/* Whether a series is a level: a constant such as the entropy of the corpus, not a curve. */
bool chart_is_level(const Chart *chart, size_t i);
/* Whether there are curves that did not diverge, and which give the vertical range. */
bool chart_has_sound(const Chart *chart);

/* Appends the chart, every line with its line end. The same chart gives the same bytes. */
void chart_append(char **text, const Chart *chart);

#endif
