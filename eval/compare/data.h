/* Compared runs for other programs, with every digit. */
#ifndef LINNET_COMPARE_DATA_H
#define LINNET_COMPARE_DATA_H

#include "eval/compare/groups.h"

#include <stdio.h>

/* One object: the runs, their groups, which name runs by their places, and the differences
 * between these, in the test losses too where groups_score found them. What is unknown or not
 * finite is null. */
void compare_print_json(FILE *stream, const RunData *runs, size_t count,
                        const RunGroup *groups);

/* A line for every row of every log. What is unknown or was not measured is empty. */
void compare_print_csv(FILE *stream, const RunData *runs, size_t count, const RunGroup *groups);

#endif
