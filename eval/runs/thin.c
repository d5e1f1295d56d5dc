#include "eval/runs/thin.h"
#include "src/containers.h"

#include <math.h>

/* One value of a row; false where the row has none, which is not the same as having a NaN. */
typedef bool Field(const RunLogRow *row, double *value);

static bool train_loss(const RunLogRow *row, double *value)
{
    *value = row->train_loss;
    return true;
}

static bool val_loss(const RunLogRow *row, double *value)
{
    *value = row->val_loss;
    return row->has_val_loss;
}

static bool speed(const RunLogRow *row, double *value)
{
    *value = row->tokens_per_second;
    return true;
}

typedef struct Point {
    size_t row;
    double value;
} Point;

/* Marks what one stretch of a curve needs. */
static void keep_extremes(bool *kept, const Point *points, size_t count)
{
    const Point *low = NULL, *high = NULL, *gap = NULL;
    for (const Point *point = points; point < points + count; point++)
        if (!isfinite(point->value)) {
            gap = gap ? gap : point;
        } else {
            low = low && low->value <= point->value ? low : point;
            high = high && high->value >= point->value ? high : point;
        }
    const Point *needed[] = {low, high, gap};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i])
            kept[needed[i]->row] = true;
}

/* Which of the stretches a row is in: they are of as many steps each, so that where rows have
 * been left out before they are no longer than elsewhere. A log may have any steps, hence the
 * doubles. */
static size_t stretch_of(const RunLogRow *row, size_t first, size_t last, size_t stretches)
{
    double share = (double)(row->step - first) / ((double)(last - first) + 1);
    return (size_t)(share * (double)stretches);
}

static void keep_stretches(bool *kept, const RunLogRow *rows, const Point *points,
                           size_t stretches)
{
    size_t count = arrlenu(points);
    size_t first = rows[points[0].row].step, last = rows[points[count - 1].row].step;
    for (size_t from = 0, to; from < count; from = to) {
        size_t stretch = stretch_of(&rows[points[from].row], first, last, stretches);
        to = from + 1;
        while (to < count &&
               stretch_of(&rows[points[to].row], first, last, stretches) == stretch)
            to++;
        keep_extremes(kept, points + from, to - from);
    }
}

static void keep_curve(bool *kept, const RunLogRow *rows, Field *field, size_t most)
{
    enum { ENDS = 2, FROM_A_STRETCH = 3 };
    Point *points = NULL;
    for (size_t i = 0; i < arrlenu(rows); i++) {
        Point point = {.row = i};
        if (field(&rows[i], &point.value))
            arrput(points, point);
    }
    size_t count = arrlenu(points);
    if (count <= most)
        for (size_t i = 0; i < count; i++)
            kept[points[i].row] = true;
    else
        keep_stretches(kept, rows, points, (most - ENDS) / FROM_A_STRETCH);
    if (count > 0)
        kept[points[0].row] = kept[points[count - 1].row] = true;
    arrfree(points);
}

RunLogRow *thin_rows(const RunLogRow *rows, size_t most)
{
    static Field *const fields[] = {train_loss, val_loss, speed};
    size_t count = arrlenu(rows);
    RunLogRow *left = NULL;
    bool *kept = memory_take(count + 1, sizeof *kept, "the curves");
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        keep_curve(kept, rows, fields[f], most);
    for (size_t i = 0; i < count; i++)
        if (kept[i])
            arrput(left, rows[i]);
    free(kept);
    return left;
}
