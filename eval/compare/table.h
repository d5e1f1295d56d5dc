/* The table of compared runs: one row for each group of runs, as wide as its contents and the
 * terminal allow. */
#ifndef LINNET_COMPARE_TABLE_H
#define LINNET_COMPARE_TABLE_H

#include "eval/compare/groups.h"

/* A loss, of which the table tells the epoch that reached it. */
typedef struct CompareReach {
    char title[32]; /* of its column */
    double loss;
} CompareReach;

typedef struct CompareTable {
    const RunGroup *groups;    /* an array of stb_ds */
    char *const *names;        /* of the groups, safe to print */
    const CompareReach *reach; /* an array of stb_ds */
    const RunScore *test;      /* the protocol of the test perplexities; NULL: not shown */
    size_t width;              /* columns to fit into */
    bool utf8;
} CompareTable;

/* Prints it. Of groups it shows means, but of memory the peak. What is not known is "-", and a
 * column of which nothing is known is left out, if it is one that many runs lack. Where there
 * is not enough room the less telling columns go, and then the middles of names. */
void compare_print_table(const CompareTable *table);

#endif
