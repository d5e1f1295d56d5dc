/* Warnings and notes on compared runs. */
#ifndef LINNET_COMPARE_NOTES_H
#define LINNET_COMPARE_NOTES_H

#include "eval/runs/groups.h"

/* Warns of runs without a loss, diverged runs, and test scores that are left out. */
void compare_print_notes(const RunData *runs, size_t count, char *const *names);

/* Warns of groups whose runs have reached different steps; names are those of the groups. */
void compare_print_group_notes(const RunGroup *groups, char *const *names);

/* Appends a sentence, wrapped at this width, after the indent, which doubles from the second
 * line on. */
void compare_append_sentence(char **text, const char *sentence, const char *indent,
                             size_t width);

/* Appends how the test perplexities of the table were measured; nothing for NULL. */
void compare_append_protocol(char **text, const RunScore *test, size_t width);

#endif
