/* Differences between groups of runs with 95 % confidence intervals over seeds. */
#ifndef LINNET_DIFFERENCES_H
#define LINNET_DIFFERENCES_H

#include "eval/runs/groups.h"

#include <stdio.h>

/* Appends sentences about how the groups (an array of stb_ds, with names that are safe to
 * print) differ from the first one, wrapped at this width; nothing if fewer than two have a
 * loss. */
void differences_append(char **text, const RunGroup *groups, char *const *names, size_t width);

/* A sentence that names the best group and how far the second best is behind, with the 95 %
 * confidence interval if the seeds allow one; NULL if no group has a loss. The caller's. */
char *differences_verdict(const RunGroup *groups);

/* Prints the differences as a JSON array, each against the first group with the same corpus. */
void differences_print_json(FILE *stream, const RunGroup *groups);

#endif
