/* The scale of a chart along one side: its range, its ticks and their labels.
 *
 * Ticks are multiples of 1, 2 or 5 times a power of ten, and their labels have just enough
 * digits to differ, counted in thousands or millions where that is shorter. On a logarithmic
 * scale, ticks are powers of ten and, if these are few, 2 and 5 times them; between two powers
 * of two, such as lengths from 128 to 4096, they are powers of two. */
#ifndef LINNET_AXIS_H
#define LINNET_AXIS_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
