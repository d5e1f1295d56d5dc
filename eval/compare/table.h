/* The table of compared runs for terminals, with a row for each group of runs. */
#ifndef LINNET_COMPARE_TABLE_H
#define LINNET_COMPARE_TABLE_H

#include "eval/compare/cells.h"

typedef struct CompareTable {
    const RunGroup *groups;    /* an array of stb_ds */
    char *const *names;        /* of the groups, safe to print */
    const CompareReach *reach; /* an array of stb_ds */
    size_t width;              /* columns to fit into */
    bool utf8;
} CompareTable;

/* Prints it. If it is too wide, drops the columns of least worth, then the middles of names. */
void compare_print_table(const CompareTable *table);

#endif
