/* The table of compared runs in GitHub's Markdown: one row for each group of runs, with 95 %
 * confidence intervals over seeds. */
#ifndef LINNET_COMPARE_MARKDOWN_H
#define LINNET_COMPARE_MARKDOWN_H

#include "eval/runs/groups.h"

#include <stdio.h>

/* The groups are an stb_ds array, with names that are safe to print; text is escaped, so that
 * it is not read as Markdown or HTML. */
/* A heading, escaped like the names. */
void compare_print_markdown_heading(FILE *stream, const char *heading);
void compare_print_markdown(FILE *stream, const RunGroup *groups, char *const *names);

#endif
