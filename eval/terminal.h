/* What the other end of a stream can show, asked of the stream and of the environment.
 *
 * The locale is read from the environment variables only: setlocale would change how numbers
 * are written and read in every file that the programs touch. */
#ifndef LINNET_TERMINAL_H
#define LINNET_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The size of the terminal, else $COLUMNS and $LINES, else 80 by 24. */
size_t terminal_width(int fd);
size_t terminal_height(int fd);

bool terminal_is_interactive(int fd);
/* A terminal that is not TERM=dumb: it can go back in a line and clear it. */
bool terminal_can_redraw(int fd);
/* The same, if the user has not set NO_COLOR. */
bool terminal_has_colour(int fd);
bool terminal_is_utf8(void);

/* Prints text that somebody else wrote. What a terminal would obey instead of showing comes out
 * as \x1b or \u202e: control characters except line ends, characters that turn the direction of
 * writing, and bytes that are not UTF-8. */
void terminal_print_safe(FILE *stream, const char *text);

/* The same for a name in a table or a legend: on one line, of at most so many columns (longer
 * ones lose their middle), and in ASCII unless utf8. One column is counted per character. The
 * caller owns the result. */
char *terminal_safe_name(const char *name, size_t columns, bool utf8);

#endif
