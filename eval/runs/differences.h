/* Differences between groups of runs with 95 % confidence intervals over seeds. */
#ifndef LINNET_DIFFERENCES_H
#define LINNET_DIFFERENCES_H

#include "eval/runs/groups.h"

/* Appends a sentence, which may hold untrusted names, for the terminal: wrapped at the width,
 * after the indent, which doubles from the second line on. */
void differences_append_sentence(char **text, const char *sentence, const char *indent,
                                 size_t width);

/* Appends sentences about how the groups (an array of stb_ds) differ from the first one,
 * wrapped at this width; nothing if fewer than two have a loss. */
void differences_append(char **text, const RunGroup *groups, size_t width);

/* Sentences that name the best group, how far the second best is behind, with the 95 %
 * confidence interval if the seeds allow one, and the groups that diverged, which are neither;
 * NULL if there is nothing to say. The caller's. */
char *differences_verdict(const RunGroup *groups);

#endif
