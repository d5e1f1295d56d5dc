/* The chart of compared runs: validation curves, and training curves on request or for runs
 * with fewer than two validations. A run's identity gives its colour; a group has its first
 * run's. */
#ifndef LINNET_COMPARE_CHART_H
#define LINNET_COMPARE_CHART_H

#include "eval/draw/chart.h"
#include "eval/compare/groups.h"

typedef struct CompareAxes {
    size_t x, y; /* indexes of compare_x_name and compare_y_name */
    bool train;  /* also the training losses */
} CompareAxes;

/* For option rows; NULL after the last. */
const char *compare_x_name(size_t index);
const char *compare_y_name(size_t index);

/* Makes the series and the labels of a chart; without any point it has no series. The entropy
 * of the corpus is a level line unless it is NaN. The caller sets the size and frees the chart
 * with compare_chart_free. */
Chart compare_chart_make(const RunData *runs, size_t count, char *const *names, double entropy,
                         const CompareAxes *axes);
/* A chart of groups: several seeds are drawn as their mean with a band from lowest to highest.
 * Perplexity is the exponential of the mean loss. Training losses are drawn for every run. */
Chart compare_chart_groups(const RunGroup *groups, char *const *names, double entropy,
                           const CompareAxes *axes);
/* "Validation loss on ptb.txt: softmax and linear"; the caller's. */
char *compare_chart_title(const RunGroup *groups, const CompareAxes *axes);
void compare_chart_free(Chart *chart);

#endif
