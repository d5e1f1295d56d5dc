/* What a stream's terminal can show: size, colours, UTF-8; and printing untrusted text.
 *
 * The locale is read from the environment variables only: setlocale would change how the
 * programs write and read numbers. */
#ifndef LINNET_TERMINAL_H
#define LINNET_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The size of the terminal, else $COLUMNS and $LINES, else 80 by 24. */
size_t terminal_width(int fd);
size_t terminal_height(int fd);

bool terminal_is_interactive(int fd);
/* A terminal that can go back in a line and clear it: not TERM=dumb. */
bool terminal_can_redraw(int fd);
/* A terminal like this, and NO_COLOR is not set. */
bool terminal_has_colour(int fd);
bool terminal_is_utf8(void);

/* Shows on standard error what a program is doing: on a terminal one line that the next one
 * replaces and NULL erases; elsewhere one plain line per process. The text may be untrusted. */
void terminal_notice(const char *what);

/* Prints untrusted text. Control characters except line ends, characters that change the
 * writing direction, and invalid UTF-8 are printed as escapes, like \x1b or \u202e. */
void terminal_print_safe(FILE *stream, const char *text);
/* The same for bytes of any kind, zeros included; in ASCII unless utf8. */
void terminal_print_bytes(FILE *stream, const char *bytes, size_t size, bool utf8);

/* Escapes a name for a table or a legend: one line of at most this many columns (longer names
 * lose their middle), in ASCII unless utf8. Each character counts as one column. The caller
 * frees. */
char *terminal_safe_name(const char *name, size_t columns, bool utf8);
/* The same for bytes of any kind, zeros included, without a limit. */
char *terminal_safe_bytes(const char *bytes, size_t size, bool utf8);
/* The least number of columns, from `least` on, in which these names differ wherever the whole
 * ones do. */
size_t terminal_distinct_columns(const char *const *names /* (count) */, size_t count,
                                 size_t least);

#endif
