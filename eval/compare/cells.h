/* The columns of the tables of compared runs, with a cell for each group of runs.
 *
 * Cells show means over seeds, or the peak for memory. Unknown values are "-"; optional columns
 * without any value are left out. */
#ifndef LINNET_COMPARE_CELLS_H
#define LINNET_COMPARE_CELLS_H

#include "eval/runs/groups.h"

/* A loss of --reach; its column shows the epoch that reached it. */
typedef struct CompareReach {
    char title[32]; /* of its column */
    double loss;
} CompareReach;

typedef struct CellColumn {
    const char *title;
    char **cells; /* one for each group */
    size_t width; /* of the title or the widest of them, in columns of a terminal */
    int worth;    /* where there is no room, the column of least worth goes first */
    bool left;    /* flush left */
} CellColumn;

enum { CELL_ALWAYS = 100 }; /* the worth of columns that always stay */

/* stb_ds arrays of all columns but the names, for an stb_ds array of groups: for a terminal,
 * with columns for the losses to reach (also an stb_ds array), and for a report, with
 * confidence intervals. */
CellColumn *cells_for_terminal(const RunGroup *groups, const CompareReach *reach);
CellColumn *cells_for_report(const RunGroup *groups);
void cells_free_column(CellColumn *column, size_t groups);
void cells_free(CellColumn *columns, size_t groups);

#endif
