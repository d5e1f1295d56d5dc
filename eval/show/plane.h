/* The plot of an SVG chart: where values lie in the picture, in its units. */
#ifndef LINNET_PLANE_H
#define LINNET_PLANE_H

#include "eval/show/axis.h"
#include "eval/show/chart.h"

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
    bool logarithmic;
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
bool plane_leaves_out(const Plane *plane, const Chart *chart, size_t series);

#endif
