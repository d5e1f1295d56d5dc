/* The scale of a chart along one side: what range it shows, where its ticks stand and what is
 * written at them. Ticks are multiples of 1, 2 or 5 times a power of ten, and their labels
 * carry as many digits as tell them apart, counted in thousands or millions where that is
 * shorter. On a logarithmic scale, which begins and ends at ticks, they are the powers of ten
 * and, if these are few, 2 and 5 times them. */
#ifndef LINNET_AXIS_H
#define LINNET_AXIS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Axis {
    double low, high;    /* what the first and the last dot stand for; low < high */
    double first, count; /* of the ticks, in steps; small whole numbers */
    int per_decade;      /* steps from a power of ten to the next, 1 or 3; 0: not logarithmic */
    /* where it is not: */
    double step; /* 1, 2 or 5 times 10^k */
    double unit; /* labels count in these */
    const char *suffix;
    int decimals;
    bool scientific;
} Axis;

enum { AXIS_LABEL = 32 };

/* An axis over the values from low to high, with about so many ticks, and at least two. Without
 * values, which is low > high, it goes from 0 to 1. */
Axis axis_make(double low, double high, size_t ticks);

/* The same for values above 0, logarithmic; without values, from 1 on. */
Axis axis_make_logarithmic(double low, double high);

/* How far along the axis the value is, of 1. */
double axis_share(const Axis *axis, double value);

/* The value at the i-th tick. */
double axis_tick(const Axis *axis, double i);
void axis_label(const Axis *axis, double value, char label[AXIS_LABEL]);

/* Which of count places, side by side along the axis, the value falls on. */
size_t axis_place(const Axis *axis, double value, size_t count);

#endif
