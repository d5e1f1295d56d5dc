/* The table of compared runs for a README or a report, in the Markdown that GitHub reads: one
 * row for each group of runs, with what its seeds leave open. */
#ifndef LINNET_COMPARE_MARKDOWN_H
#define LINNET_COMPARE_MARKDOWN_H

#include "eval/compare/groups.h"

#include <stdio.h>

/* The groups are an array of stb_ds, under names that are safe to print; no text of theirs is
 * taken for Markdown or HTML. */
/* A heading, escaped like the names. */
void compare_print_markdown_heading(FILE *stream, const char *heading);
void compare_print_markdown(FILE *stream, const RunGroup *groups, char *const *names);

#endif
