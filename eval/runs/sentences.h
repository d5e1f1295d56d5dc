/* Sentences about compared runs: differences between groups with 95 % confidence intervals over
 * seeds, and what the numbers mean. */
#ifndef LINNET_SENTENCES_H
#define LINNET_SENTENCES_H

#include "eval/runs/groups.h"

/* Appends a sentence, which may hold untrusted names, for the terminal: wrapped at the width,
 * after the indent, which doubles from the second line on. */
void sentences_append(char **text, const char *sentence, const char *indent, size_t width);

/* Prints such a sentence on standard output, wrapped at the width of its terminal; all lines
 * but the first are indented. Takes over the sentence. */
void sentences_print(char *sentence);

/* Appends sentences about how the groups (an array of stb_ds) differ from the first one,
 * wrapped at this width; nothing if fewer than two have a loss. */
void sentences_differences(char **text, const RunGroup *groups, size_t width);

/* Sentences that name the best group, how far the second best is behind, with the 95 %
 * confidence interval if the seeds allow one, the order of the others and how sure it is, and
 * the groups that diverged, which are in no order; NULL if there is nothing to say. The
 * caller's. */
char *sentences_verdict(const RunGroup *groups);

/* In what groups of one text differ so that their losses are of more than the model: tokens
 * seen and parameters, by more than one per cent, tokenizer, recipe, precision, machine;
 * besides this setting (NULL: none). Holds names; the caller's; NULL: in nothing. */
char *sentences_unequal(const RunGroup *groups, const char *besides);

/* Which steps the runs of a group have reached, if they differ; the caller's; NULL: the same.
 */
char *sentences_steps(const RunGroup *group);

/* Sentences about the numbers; NULL: nothing to say. The caller's. Why bits per byte compare
 * these groups, and whom unknown words favour; what the mark ~ means. */
char *sentences_bits(const RunGroup *groups);
char *sentences_part(const RunGroup *groups);
/* The protocols of a run's test losses. */
char *sentences_test(const RunData *run);
/* Which runs started from the weights of others, and which were extended; holds names. */
char *sentences_history(const RunGroup *groups);

#endif
