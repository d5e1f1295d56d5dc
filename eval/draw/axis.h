/* The scale of a chart along one side: what range it shows, where its ticks stand and what is
 * written at them. Ticks are multiples of 1, 2 or 5 times a power of ten, and their labels
 * carry as many digits as tell them apart, counted in thousands or millions where that is
 * shorter. */
#ifndef LINNET_AXIS_H
#define LINNET_AXIS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Axis {
    double low, high;    /* what the first and the last dot stand for; low < high */
    double step;         /* between ticks, which are its multiples: 1, 2 or 5 times 10^k */
    double first, count; /* ticks from first * step on; small whole numbers */
    double unit;         /* labels count in these */
    const char *suffix;
    int decimals;
    bool scientific;
} Axis;

enum { AXIS_LABEL = 32 };

/* An axis over the values from low to high, with about so many ticks, and at least two. Without
 * values, which is low > high, it goes from 0 to 1. */
Axis axis_make(double low, double high, size_t ticks);

/* The value at the i-th tick. */
double axis_tick(const Axis *axis, double i);
void axis_label(const Axis *axis, double value, char label[AXIS_LABEL]);

/* Which of count places, side by side along the axis, the value falls on. */
size_t axis_place(const Axis *axis, double value, size_t count);

#endif
