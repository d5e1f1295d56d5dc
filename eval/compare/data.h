/* Compared runs for other programs, in full precision. */
#ifndef LINNET_COMPARE_DATA_H
#define LINNET_COMPARE_DATA_H

#include "eval/runs/groups.h"
#include "src/base/json.h"

#include <stdio.h>

/* A run: its results, settings and scores, and a point for every validation. Unknown values and
 * values that are not finite are null; text is escaped as for terminals, so it is UTF-8. */
json_t *compare_run_json(const RunData *run);

/* One object: the runs, the groups, which refer to runs by index, and the differences between
 * groups of one corpus. */
void compare_print_json(FILE *stream, const Comparison *all);

/* A line for every row of every log. Unknown values are empty. */
void compare_print_csv(FILE *stream, const Comparison *all);

#endif
