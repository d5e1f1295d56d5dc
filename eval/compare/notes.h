/* Warnings on compared runs. */
#ifndef LINNET_COMPARE_NOTES_H
#define LINNET_COMPARE_NOTES_H

#include "eval/runs/groups.h"

/* Warns of runs without a loss, diverged runs, and test scores that are left out. */
void notes_print_on_runs(const RunData *runs, size_t count, char *const *names);

/* Warns of groups whose runs have reached different steps; names are those of the groups. */
void notes_print_on_groups(const RunGroup *groups, char *const *names);

#endif
