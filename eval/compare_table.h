/* The table of compared runs: one row each, as wide as its contents and the terminal allow. */
#ifndef LINNET_COMPARE_TABLE_H
#define LINNET_COMPARE_TABLE_H

#include "eval/rundata.h"

/* Prints the runs under the given names, which are safe to print. Names lose their middles
 * where the table would become wider than so many columns; what is not known is shown as "-".
 */
void compare_print_table(const RunData *runs, size_t count, char *const *names, size_t width,
                         bool utf8);

#endif
