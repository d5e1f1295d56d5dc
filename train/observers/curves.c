#include "train/observers/observers.h"
#include "eval/runs/runchart.h"
#include "src/base/containers.h"
#include "src/base/file.h"

#include <math.h>
#include <string.h>

Chart curves_chart(const Curves *curves, const RunView *run, size_t points)
{
    const RunChartAxes axes = {.train = true}; /* loss over epochs */
    double floor = run->corpus->entropy_floor;
    RunData drawn = {.name = curves->name,
                     .part_tokens = run->part_tokens,
                     .rows = runchart_thin(curves->rows, points)};
    RunGroup *groups = groups_make(&drawn, 1, false);
    Chart chart = runchart_make(groups, floor > 0 ? floor : (double)NAN, &axes);
    groups_free(groups);
    arrfree(drawn.rows);
    return chart;
}

enum { POINTS = 1000 };

/* Thins the rows as the log grows, row by row, so that a resumed run keeps the same ones. */
static void keep(Curves *curves, const RunLogRow *row)
{
    enum { MOST = 4 * POINTS };
    arrput(curves->rows, *row);
    if (arrlenu(curves->rows) < MOST)
        return;
    RunLogRow *fewer = runchart_thin(curves->rows, POINTS);
    arrfree(curves->rows);
    curves->rows = fewer;
}

static bool started(void *self, const RunView *run, Error *error)
{
    Curves *curves = self;
    const char *slash = strrchr(run->folder, '/');
    char *log = file_join(run->folder, RUN_LOG);
    RunLogRow *rows;
    curves->picture = file_join(run->folder, "curves.svg");
    curves->name = memory_copy_text(slash && slash[1] ? slash + 1 : run->folder);
    bool good = runlog_read(log, &rows, error);
    for (size_t i = 0; good && i < arrlenu(rows); i++)
        keep(curves, &rows[i]);
    arrfree(rows);
    free(log);
    return good;
}

static bool logged(void *self, const RunView *run, Error *error)
{
    Curves *curves = self;
    keep(curves, &run->row);
    if (!run->row.has_val_loss)
        return true;
    Chart chart = curves_chart(curves, run, POINTS);
    bool good = svg_write(curves->picture, &chart, curves->name, error);
    chart_free(&chart);
    return good;
}

static void free_curves(void *self)
{
    Curves *curves = self;
    free(curves->picture);
    free(curves->name);
    arrfree(curves->rows);
    *curves = (Curves){0};
}

const ObserverCalls curves_calls = {.at = {[RUN_STARTED] = started, [RUN_LOGGED] = logged},
                                    .free = free_curves};
