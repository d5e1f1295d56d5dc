/* Wraps texts and prints them side by side.
 *
 * Texts may contain colours, as \x1b[...m, which take no room and are repeated on wrapped
 * lines. Each character counts as one column. */
#ifndef LINNET_COLUMNS_H
#define LINNET_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The lines of a text, an stb_ds array; the caller frees it and each line. */
char **columns_wrap(const char *text, size_t width);
void columns_free(char **lines);

/* Prints as many texts side by side as fit into the width, the others below, each under its
 * number; numbers start at `first`. */
void columns_print(FILE *stream, char *const *texts, size_t count, size_t first_number,
                   size_t width, bool utf8);

#endif
