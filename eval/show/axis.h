/* The scale of a chart along one side: its range, its ticks and their labels;
 * and the plot of a picture, which has two.
 *
 * Ticks are multiples of 1, 2 or 5 times a power of ten, and their labels have just enough
 * digits to differ, counted in thousands or millions where that is shorter. On a logarithmic
 * scale, ticks are powers of ten and, if these are few, 2 and 5 times them; between two powers
 * of two, such as lengths from 128 to 4096, they are powers of two. */
#ifndef LINNET_AXIS_H
#define LINNET_AXIS_H

#include "eval/show/chart.h"

typedef struct Axis {
    double low, high;    /* of the range; low < high */
    double first, count; /* of the ticks, in steps; small whole numbers */
    int per_decade;      /* ticks per power of ten, 1 or 3; 0: not logarithmic */
    int octaves;         /* on a logarithmic scale, from a tick to the next; 0: powers of ten */
    /* if not logarithmic: */
    double step; /* 1, 2 or 5 times 10^k */
    double unit; /* labels count in these */
    const char *suffix;
    int decimals;
    bool scientific;
} Axis;

enum { AXIS_LABEL = 32 };

/* An axis over the values from low to high, with about this many ticks, and at least two. With
 * low > high, for no values, it goes from 0 to 1. */
Axis axis_make(double low, double high, size_t ticks);

/* A logarithmic axis over positive values; without values it starts at 1. A range with fewer
 * than two ticks is widened to the ticks around it. */
Axis axis_make_logarithmic(double low, double high);

/* Where the value lies on the axis, from 0 to 1. */
double axis_share(const Axis *axis, double value);

/* The value at the i-th tick. */
double axis_tick(const Axis *axis, double i);
void axis_label(const Axis *axis, double value, char label[AXIS_LABEL]);

/* On which of count places along the axis the value falls. */
size_t axis_place(const Axis *axis, double value, size_t count);

/* --- the plot of an SVG chart: where values lie in the picture, in its units --- */

/* At 480 pixels wide, which a README gives to each of two charts side by side, text is 12
 * pixels high. */
enum {
    PLANE_WIDTH = 640,  /* of the picture */
    PLANE_HEIGHT = 300, /* of the plot */
    PLANE_LEFT = 60,    /* the left edge of the plot */
    PLANE_LINE = 20     /* the height of a line of text */
};

typedef struct Plane {
    Axis x, y;
    bool logarithmic_x, logarithmic_y;
    int head;   /* the baseline of the label of the y axis */
    int legend; /* the baseline of its first line; 0: names stand at the ends of lines */
    int top;    /* of the plot */
    int right;  /* of the plot; the labels at the ends of lines stand beyond it */
} Plane;

/* The ranges and ticks of a chart; the caller sets where the parts stand. */
Plane plane_of(const Chart *chart);

double plane_x(const Plane *plane, double x);
/* Values above or below the range lie at its edge. */
double plane_y(const Plane *plane, double y);
/* Whether the point can be drawn. */
bool plane_has(const Plane *plane, ChartPoint point);
/* The last point of a series that is drawn; false: there is none. */
bool plane_last(const Plane *plane, const ChartSeries *series, ChartPoint *last);
/* Whether the series is a level outside of the plot, whose range did not widen for it. */
bool plane_leaves_out(const Plane *plane, const ChartSeries *series);

#endif
