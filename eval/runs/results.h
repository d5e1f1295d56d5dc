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
 * for the losses to reach (also an stb_ds array); for Markdown, with confidence intervals; for
 * a page, with all digits and, if asked for, the best values marked. */
Table results_for_terminal(const RunGroup *groups, const ResultsReach *reach);
Table results_for_markdown(const RunGroup *groups);
Table results_for_page(const RunGroup *groups, bool mark_best);

/* Sentences about the numbers; NULL: nothing to say. The caller's. Why bits per byte compare
 * these groups, and whom unknown words favour; what the mark ~ means. */
char *results_bits_text(const RunGroup *groups);
char *results_part_text(const RunGroup *groups);
/* Which runs started from the weights of others, and which were extended; holds names. */
char *results_history_text(const RunGroup *groups);

/* Four or so digits and a unit, such as "12.3k"; the caller's. */
char *results_amount(double amount);

#endif
