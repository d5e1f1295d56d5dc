/* What the seeds say about the differences between groups of runs, in words and in numbers. */
#ifndef LINNET_DIFFERENCES_H
#define LINNET_DIFFERENCES_H

#include "eval/compare/groups.h"

#include <stdio.h>

/* Appends sentences about how the groups (an array of stb_ds, under names that are safe to
 * print) differ from the first one, in lines of at most so many columns; nothing where fewer
 * than two have a loss. */
void differences_append(char **text, const RunGroup *groups, char *const *names, size_t width);

/* Prints the same as a JSON array. */
void differences_print_json(FILE *stream, const RunGroup *groups);

#endif
