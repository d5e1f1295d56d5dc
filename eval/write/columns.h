/* Texts in columns: broken into lines of a given width, at blanks where there are any, and
 * printed side by side.
 *
 * Texts may hold colours, as \x1b[...m; these take no room, and each piece of a line that was
 * broken has them anew. One column is counted for each character. */
#ifndef LINNET_COLUMNS_H
#define LINNET_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The lines of a text, each to be freed, as is the stb_ds array that holds them. */
char **columns_wrap(const char *text, size_t width);
void columns_free(char **lines);

/* Prints texts beside each other, each under its number, of which the first is given; as many
 * as have room in the width, and the others below. */
void columns_print(FILE *stream, char *const *texts, size_t count, size_t first_number,
                   size_t width, bool utf8);

#endif
