/* Line charts for terminals.
 *
 * With one series, or with colours to tell several apart, curves are drawn in braille: 2 by 4
 * dots in every cell, consecutive points connected. Otherwise every series is drawn with a
 * letter of its own, and where curves meet the letters take turns along the row, so that none
 * hides another. Axes, round tick values, labels and the legend fit into the size asked for. */
#ifndef LINNET_CHART_H
#define LINNET_CHART_H

#include <stdbool.h>
#include <stddef.h>

/* A point with a coordinate that is not finite (or beyond 1e300) is a gap in its line. */
typedef struct ChartPoint {
    double x, y;
} ChartPoint;

typedef struct ChartSeries {
    const char *name; /* shown in the legend, made safe for terminals; any text will do */
    const ChartPoint *points;
    size_t count;
} ChartSeries;

/* Borrows all that it points to. */
typedef struct Chart {
    const ChartSeries *series;
    size_t series_count;
    const char *x_label, *y_label;
    size_t columns, rows; /* of everything; at least CHART_COLUMNS_LEAST by CHART_ROWS_LEAST */
    bool utf8;            /* else only ASCII */
    bool colour;          /* colour-blind-safe ones (Okabe and Ito's), of the 256 */
} Chart;

enum { CHART_COLUMNS_LEAST = 24, CHART_ROWS_LEAST = 8 };

/* Appends the chart, every line with its line end. The same chart gives the same bytes. */
void chart_append(char **text, const Chart *chart);

#endif
