/* The tables of compared runs: a row for each group of runs, with the means over its seeds and
 * the peak of their memory. */
#ifndef LINNET_RESULTS_H
#define LINNET_RESULTS_H

#include "eval/runs/groups.h"
#include "eval/show/table.h"

/* A loss of --reach; its column shows the epoch that reached it. */
typedef struct ResultsReach {
    char title[32]; /* of its column */
    double loss;
} ResultsReach;

/* The tables of an stb_ds array of groups; table_free frees them. For a terminal, with columns
 * for the losses to reach (also an stb_ds array); for Markdown, with confidence intervals; what
 * stands beside the picture of a forest plot. */
Table results_for_terminal(const RunGroup *groups, const ResultsReach *reach);
Table results_for_markdown(const RunGroup *groups);
Table results_for_forest(const RunGroup *groups);

/* The table of a page, in all digits: under a heading for each of several corpora the groups,
 * those with the lowest loss first, with the best values marked; under a group of several runs
 * a row for each of them. The classes of rows are "group" and "run". */
Table results_for_page(const Comparison *all);

/* The tokens that the runs of a group have seen, their mean; and its parameters. NaN: unknown.
 */
double results_tokens(const RunGroup *group);
double results_parameters(const RunGroup *group);

/* Four or so digits and a unit, such as "12.3k"; the caller's. */
char *results_amount(double amount);

#endif
