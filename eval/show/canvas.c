#include "eval/show/canvas.h"
#include "src/memory.h"

#include <assert.h>
#include <stdlib.h>

Canvas canvas_make(size_t columns, size_t rows, size_t across, size_t down)
{
    Canvas canvas = {.columns = columns, .rows = rows, .across = across, .down = down};
    size_t count = memory_product(columns, rows, "a chart");
    canvas.cells = memory_take(count, sizeof *canvas.cells, "a chart");
    return canvas;
}

void canvas_free(Canvas *canvas)
{
    free(canvas->cells);
    *canvas = (Canvas){0};
}

static void draw_dot(Canvas *canvas, long x, long y, size_t owner)
{
    static const unsigned char bits[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || (size_t)x >= canvas->columns * canvas->across ||
        (size_t)y >= canvas->rows * canvas->down)
        return;
    size_t row = canvas->rows * canvas->down - 1 - (size_t)y, column = (size_t)x;
    CanvasCell *cell =
        &canvas->cells[row / canvas->down * canvas->columns + column / canvas->across];
    cell->owner = (unsigned char)owner;
    cell->owners |= (uint64_t)1 << owner;
    cell->dots |= bits[row % canvas->down][column % canvas->across];
}

/* Bresenham's line, both ends included. */
void canvas_line(Canvas *canvas, long x, long y, long to_x, long to_y, size_t owner)
{
    assert(owner < CANVAS_OWNERS);
    long dx = labs(to_x - x), dy = -labs(to_y - y), error = dx + dy;
    while (x != to_x || y != to_y) {
        draw_dot(canvas, x, y, owner);
        long twice = 2 * error;
        if (twice >= dy) {
            error += dy;
            x += x < to_x ? 1 : -1;
        }
        if (twice <= dx) {
            error += dx;
            y += y < to_y ? 1 : -1;
        }
    }
    draw_dot(canvas, x, y, owner);
}

/* In braille a small cross, since a single dot is easy to miss. */
void canvas_lone_point(Canvas *canvas, long x, long y, size_t owner)
{
    long arm = canvas->across > 1;
    canvas_line(canvas, x - arm, y, x + arm, y, owner);
    canvas_line(canvas, x, y - arm, x, y + arm, owner);
}

size_t canvas_owner_in_turn(const CanvasCell *cell, size_t column)
{
    uint64_t owners = cell->owners;
    size_t turn = column % (size_t)__builtin_popcountll(owners);
    for (; turn > 0; turn--)
        owners &= owners - 1;
    return (size_t)__builtin_ctzll(owners);
}
