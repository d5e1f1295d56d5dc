/* The canvas of a terminal chart: character cells, each of several dots or of one.
 *
 *  A cell remembers all series that pass through it, so that where curves meet, the chart can
 * alternate between them. */
#ifndef LINNET_CANVAS_H
#define LINNET_CANVAS_H

#include <stddef.h>
#include <stdint.h>

enum { CANVAS_OWNERS = 64 }; /* the most series */

typedef struct CanvasCell {
    uint64_t owners;     /* one bit per series */
    unsigned char dots;  /* as bits of the braille code point */
    unsigned char owner; /* the last series drawn, for the colour */
} CanvasCell;

typedef struct Canvas {
    CanvasCell *cells; /* (rows, columns) */
    size_t columns, rows;
    size_t across, down; /* dots in a cell: 2 by 4, or 1 by 1 */
} Canvas;

/* canvas_free frees it. */
Canvas canvas_make(size_t columns, size_t rows, size_t across, size_t down);
void canvas_free(Canvas *canvas);

/* Dots count from the lower left corner. Owners count from 0, below CANVAS_OWNERS. */
void canvas_line(Canvas *canvas, long x, long y, long to_x, long to_y, size_t owner);
/* A point without neighbours. */
void canvas_lone_point(Canvas *canvas, long x, long y, size_t owner);

/* The series to show in this column, among those in the cell. */
size_t canvas_owner_in_turn(const CanvasCell *cell, size_t column);

#endif
