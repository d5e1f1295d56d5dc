/* Error handling.
 *
 * A programming error is an assert. A function that parses input or does I/O fills an Error
 * with one line (what is wrong, where, what to do) and returns false. It never exits, so tests
 * can feed it malformed input. A program that cannot continue calls die (exit status 1), or
 * die_usage (exit status 2) if its command line is wrong: a value, options that contradict one
 * another, or an option that the run, text or task named beside it rules out. */
#ifndef LINNET_ERROR_H
#define LINNET_ERROR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Error {
    char text[1024];
    bool usage; /* the command line is wrong */
} Error;

/* The program name for messages, and the command as typed, for commands that users may repeat.
 * main sets both from argv[0]. */
extern const char *program_name, *program_command;
void program_name_set(const char *argv0);

/* Fill the error and return false, so that callers can `return error_set(...)`; error_usage if
 * the command line is wrong. */
bool error_set(Error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool error_usage(Error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "program: text" on stderr. Control characters, such as escape sequences in a file
 * name, are printed as \xNN. */
void print_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a line of output: to stdout, without the program. */
void print_output(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whichever of the two the error asks for. */
_Noreturn void error_die(const Error *error);

/* Length in bytes of the control character (C0, DEL, or C1 in UTF-8) at c; 0: there is none. */
size_t control_length(const char *c);

/* Calls work(context, error) and returns its result. If it calls die, on this thread or in a
 * tile of its team, returns false with the message instead: a library must not end its caller's
 * program. What the work had taken by then and the context does not name is lost. */
bool error_catch(bool (*work)(void *context, Error *error), void *context, Error *error);

#endif
