/* The chart of compared runs: their validation curves, and what else is asked for. A run
 * looks as its identity says, and a group as its first run. */
#ifndef LINNET_COMPARE_CHART_H
#define LINNET_COMPARE_CHART_H

#include "eval/draw/chart.h"
#include "eval/compare/groups.h"

typedef struct CompareAxes {
    size_t x, y; /* of those that compare_x_name and compare_y_name list */
    bool train;  /* the losses on the training text as well */
} CompareAxes;

/* For option rows; NULL after the last. */
const char *compare_x_name(size_t index);
const char *compare_y_name(size_t index);

/* Makes the series and the labels of a chart, under the names given; a chart without series has
 * no point to draw. The entropy of the corpus is a level line unless it is NaN. The size and
 * the looks are the caller's to set, compare_chart_free frees. */
Chart compare_chart_make(const RunData *runs, size_t count, char *const *names, double entropy,
                         const CompareAxes *axes);
/* The same of groups: a group of several runs is its mean with the band from its lowest to its
 * highest; perplexity is the exponential of the mean loss. Training losses are of every run. */
Chart compare_chart_groups(const RunGroup *groups, char *const *names, double entropy,
                           const CompareAxes *axes);
/* "Validation loss on ptb.txt: softmax and linear"; the caller's. */
char *compare_chart_title(const RunGroup *groups, const CompareAxes *axes);
void compare_chart_free(Chart *chart);

#endif
