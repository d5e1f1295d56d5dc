/* Thins curves for drawing.
 *
 * A curve of a hundred thousand points has hundreds in every column of a screen. Each interval
 * of x keeps its lowest and its highest point, so that no peak is lost, and one point that
 * cannot be drawn, so that gaps stay. The first and the last point stay as well. */
#ifndef LINNET_THIN_H
#define LINNET_THIN_H

#include "eval/show/chart.h"

/* The indexes of the points to draw, an array of stb_ds: about `most` (5 or more), or all if
 * there are no more than that. */
size_t *thin_points(const ChartPoint *points, size_t count, size_t most);

#endif
