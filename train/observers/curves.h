/* The run's losses so far as a chart, and the observer that keeps it in curves.svg, in the
 * run's folder: drawn anew at each validation. */
#ifndef LINNET_CURVES_H
#define LINNET_CURVES_H

#include "eval/draw/chart.h"
#include "train/folder.h"
#include "train/observers/observer.h"

typedef struct Curves {
    const Trainer *trainer;
    char *log, *picture; /* paths, owned */
    char *name;          /* of the run; owned */
    RunLogRow *rows; /* an array of stb_ds: what the curves need of the log, from before this
                      * session too */
} Curves;

void curves_init(Curves *curves, const Trainer *trainer, const RunFolder *folder);
void curves_free(Curves *curves);
extern const ObserverCalls curves_calls;

/* The chart, of at most so many points a curve; its size and whether it has colour are the
 * caller's to set, compare_chart_free frees it. */
Chart curves_chart(const Curves *curves, size_t points);

#endif
