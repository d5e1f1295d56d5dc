/* A chart of the run's losses so far, and the observer that redraws it in curves.svg in the run
 * directory at each validation. */
#ifndef LINNET_CURVES_H
#define LINNET_CURVES_H

#include "eval/show/chart.h"
#include "train/loop/folder.h"
#include "train/loop/observer.h"

typedef struct Curves {
    const Trainer *trainer;
    char *log, *picture; /* paths, owned */
    char *name;          /* of the run; owned */
    RunLogRow *rows;     /* an array of stb_ds: log rows that the curves need, also from
                          * earlier sessions */
} Curves;

void curves_init(Curves *curves, const Trainer *trainer, const RunFolder *folder);
void curves_free(Curves *curves);
extern const ObserverCalls curves_calls;

/* The chart, with at most `points` points per curve. The caller sets its size and colour, and
 * frees it with runchart_free. */
Chart curves_chart(const Curves *curves, size_t points);

#endif
