/* How things go wrong, in three ways.
 *
 * A programmer's mistake is an assert. A function that parses or touches the outside world
 * fills an Error with one line that says what, where and what to do, returns false, and never
 * exits, so that tests can feed it rubbish. A program that cannot go on says so with die (exit
 * status 1) or, when it was called wrongly, die_usage (exit status 2). */
#ifndef LINNET_ERROR_H
#define LINNET_ERROR_H

#include <stdbool.h>

typedef struct Error {
    char text[1024];
} Error;

/* The name that messages begin with, and the program as it was called, for commands that people
 * may repeat; main sets them once from argv[0]. */
extern const char *program_name, *program_command;
void program_name_set(const char *argv0);

/* Fills the error and returns false, so that a failing function can `return error_set(...)`. */
bool error_set(Error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "program: text" on stderr. Bytes of the text that a terminal would obey, such as
 * escape sequences out of a file's name, are shown as \xNN. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
