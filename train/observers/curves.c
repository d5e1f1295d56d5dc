#include "train/observers/curves.h"
#include "eval/runs/runchart.h"
#include "eval/show/svg.h"
#include "src/containers.h"
#include "src/file.h"

#include <math.h>
#include <string.h>

void curves_init(Curves *curves, const Trainer *trainer, const RunFolder *folder)
{
    const char *slash = strrchr(folder->path, '/');
    *curves = (Curves){.trainer = trainer,
                       .log = file_join(folder->path, RUN_LOG),
                       .picture = file_join(folder->path, "curves.svg"),
                       .name = memory_copy_text(slash && slash[1] ? slash + 1 : folder->path)};
}

void curves_free(Curves *curves)
{
    free(curves->log);
    free(curves->picture);
    free(curves->name);
    arrfree(curves->rows);
    *curves = (Curves){0};
}

Chart curves_chart(const Curves *curves, size_t points)
{
    const RunChartAxes axes = {.train = true}; /* loss over epochs */
    double floor = curves->trainer->corpus.entropy_floor;
    RunData run = {.name = curves->name, .rows = runlog_thin(curves->rows, points)};
    RunGroup *groups = groups_make(&run, 1, false);
    Chart chart = runchart_make(groups, floor > 0 ? floor : (double)NAN, &axes);
    groups_free(groups);
    arrfree(run.rows);
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
    RunLogRow *fewer = runlog_thin(curves->rows, POINTS);
    arrfree(curves->rows);
    curves->rows = fewer;
}

static bool started(void *self, Error *error)
{
    Curves *curves = self;
    RunLogRow *rows;
    if (!runlog_read(curves->log, &rows, error))
        return false;
    for (size_t i = 0; i < arrlenu(rows); i++)
        keep(curves, &rows[i]);
    arrfree(rows);
    return true;
}

static bool logged(void *self, const RunLogRow *row, Error *error)
{
    Curves *curves = self;
    keep(curves, row);
    if (!row->has_val_loss)
        return true;
    Chart chart = curves_chart(curves, POINTS);
    bool good = svg_write(curves->picture, &chart, curves->name, error);
    runchart_free(&chart);
    return good;
}

const ObserverCalls curves_calls = {.started = started, .logged = logged};
