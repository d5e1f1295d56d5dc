/* The chart of compared runs: validation curves, and training curves on request or for runs
 * with fewer than two validations. A run's identity gives its colour; a group has its first
 * run's. */
#ifndef LINNET_RUNCHART_H
#define LINNET_RUNCHART_H

#include "eval/show/chart.h"
#include "eval/show/forest.h"
#include "eval/runs/groups.h"

/* Indexes of runchart_x_name and runchart_y_name. Curves have no time per token, which is for
 * results by a setting. */
typedef enum RunChartX {
    RUNCHART_EPOCH,
    RUNCHART_STEP,
    RUNCHART_TOKENS,
    RUNCHART_SECONDS,
    RUNCHART_TIME_PER_TOKEN
} RunChartX;
typedef enum RunChartY {
    RUNCHART_AUTO,
    RUNCHART_LOSS,
    RUNCHART_PERPLEXITY,
    RUNCHART_BITS
} RunChartY;

typedef struct RunChartAxes {
    size_t x, y; /* a RunChartX and a RunChartY; RUNCHART_AUTO: the loss, or bits per byte where
                  * the groups compare by them */
    bool train;  /* also the training losses */
} RunChartAxes;

/* For option rows; NULL after the last. */
const char *runchart_x_name(size_t index);
const char *runchart_y_name(size_t index);

/* Makes the series and the labels of a chart; without any point it has no series. Several seeds
 * are drawn as their mean with a band from lowest to highest; perplexity is the exponential of
 * the mean loss. Training losses are drawn for every run. A vertical line is drawn where a
 * run's matching of attention outputs ended. The entropy of the corpus is a level line unless
 * it is NaN. The caller sets the size and frees the chart. */
Chart runchart_make(const RunGroup *groups, double entropy, const RunChartAxes *axes);
/* The differences of all groups from the control, which is the first, in per cent; grouped by
 * the idea of the attention kind, in the order of `--attn help`, and sorted by the estimate.
 * Dots of groups that Holm's correction tells apart are filled. forest_free frees it. */
Forest runchart_forest(const RunGroup *groups);
/* Whether it shows any difference. */
bool runchart_has_forest(const RunGroup *groups);
/* The number of the idea of a run's attention kind, in the order of `--attn help`, and the
 * first words of the idea, "Linear attention"; the caller's. */
size_t runchart_idea(const RunData *run, char **heading);
/* Whether these axes show losses per token of different tokenizers, which do not compare. */
bool runchart_mixes_tokens(const RunGroup *groups, const RunChartAxes *axes);
/* "Validation loss on ptb.txt: softmax and linear"; the caller's. */
char *runchart_title(const RunGroup *groups, const RunChartAxes *axes);

/* A new stb_ds array of the rows to draw the training loss, validation loss and speed with
 * about this many points each (5 or more): see chart_thin. */
RunLogRow *runchart_thin(const RunLogRow *rows, size_t most);

#endif
