/* The names of a chart's series: at the ends of the lines, or in a legend above the plot if
 * there are too many. */
#ifndef LINNET_NAMES_H
#define LINNET_NAMES_H

#include "eval/show/plane.h"

#include <stdio.h>

/* The name of a curve: where its line ends, and where the name stands. */
typedef struct Name {
    size_t series;
    double x, end, y; /* y is `end` or close to it */
} Name;

/* An array of stb_ds of the names of the curves, in the order of their ends from top to bottom.
 * A curve without points ends at the bottom. */
Name *names_in_order(const Plane *plane, const Chart *chart);
/* Whether there is room for them at the ends of the lines. */
bool names_fit(const Name *names);
/* The width of the room to the right of the plot that they need there. */
int names_width(const Chart *chart, const Name *names);

/* Prints them at the ends of the lines; a thin line leads to a name that is not beside its end.
 */
void names_print_ends(FILE *out, const Plane *plane, const Chart *chart, Name *names);
/* Prints swatches and names, in as many lines as they need; returns the baseline of the last.
 * Without a stream it only measures. */
int names_print_legend(FILE *out, const Chart *chart, const Name *names, int y);
/* Prints the name of each level below its line, where no curve comes. */
void names_print_levels(FILE *out, const Plane *plane, const Chart *chart);

#endif
