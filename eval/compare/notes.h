/* What one has to know besides the numbers of compared runs. */
#ifndef LINNET_COMPARE_NOTES_H
#define LINNET_COMPARE_NOTES_H

#include "eval/compare/groups.h"

/* Warns of runs that have no loss, went wrong, or do not compare. */
void compare_print_notes(const RunData *runs, size_t count, char *const *names);

/* Warns of groups whose runs have not come equally far; names are those of the groups. */
void compare_print_group_notes(const RunGroup *groups, char *const *names);

/* Appends a sentence in lines of at most so many columns, after the indent, which is given
 * twice from the second line on. */
void compare_append_sentence(char **text, const char *sentence, const char *indent,
                             size_t width);

/* Appends how the test perplexities of the table were measured; NULL: there are none. */
void compare_append_protocol(char **text, const RunScore *test, size_t width);

#endif
