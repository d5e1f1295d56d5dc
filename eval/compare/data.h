/* Compared runs for other programs, in full precision. */
#ifndef LINNET_COMPARE_DATA_H
#define LINNET_COMPARE_DATA_H

#include "eval/runs/groups.h"

#include <stdio.h>

/* One object: the runs, the groups, which refer to runs by index, and the differences between
 * groups of one corpus. Unknown values and values that are not finite are null. */
void compare_print_json(FILE *stream, const RunData *runs, size_t count,
                        const RunGroup *groups);

/* A line for every row of every log. Unknown values are empty. */
void compare_print_csv(FILE *stream, const RunData *runs, size_t count, const RunGroup *groups);

#endif
