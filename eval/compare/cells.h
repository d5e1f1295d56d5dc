/* What tables of compared runs tell: a column for each figure, a cell for each group of runs.
 *
 * Of groups they show means, but of memory the peak. What is not known is "-", and a column of
 * which nothing is known is left out, if it is one that many runs lack. */
#ifndef LINNET_COMPARE_CELLS_H
#define LINNET_COMPARE_CELLS_H

#include "eval/compare/groups.h"

/* A loss, of which a table tells the epoch that reached it. */
typedef struct CompareReach {
    char title[32]; /* of its column */
    double loss;
} CompareReach;

typedef struct CellColumn {
    const char *title;
    char **cells; /* one for each group */
    size_t width; /* of the title or the widest of them, in columns of a terminal */
    int worth;    /* those of the least worth go first where there is no room */
    bool left;    /* flush left */
} CellColumn;

enum { CELL_ALWAYS = 100 }; /* the worth of what stays in any case */

/* Arrays of stb_ds of all columns but the names, for groups that are an array of stb_ds: those
 * for a terminal, with columns for the losses to reach (another array of stb_ds), and those for
 * a report, which tell how certain the figures are. */
CellColumn *cells_for_terminal(const RunGroup *groups, const CompareReach *reach);
CellColumn *cells_for_report(const RunGroup *groups);
void cells_free_column(CellColumn *column, size_t groups);
void cells_free(CellColumn *columns, size_t groups);

#endif
