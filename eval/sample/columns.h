/* Texts side by side, for a terminal. */
#ifndef LINNET_COLUMNS_H
#define LINNET_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prints as many texts side by side as fit into the width, the others below, each under its
 * number. */
void columns_print(FILE *stream, char *const *texts, size_t count, size_t first_number,
                   size_t width, bool utf8);

#endif
