#include "src/base/error.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *program_name = "linnet", *program_command = "linnet";

void program_name_set(const char *argv0)
{
    if (!argv0)
        return;
    program_command = argv0;
    const char *name = basename(argv0), *c = name;
    while (*c && !control_length(c))
        c++;
    if (!*c) /* or help and messages would print it */
        program_name = name;
}

static void set(Error *error, bool usage, const char *format, va_list args)
{
    vsnprintf(error->text, sizeof error->text, format, args);
    error->usage = usage;
}

bool error_set(Error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(error, false, format, args);
    va_end(args);
    return false;
}

bool error_usage(Error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(error, true, format, args);
    va_end(args);
    return false;
}

size_t control_length(const char *c)
{
    const unsigned char *byte = (const unsigned char *)c;
    if ((byte[0] && byte[0] < 0x20) || byte[0] == 0x7f)
        return 1;
    return byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0 ? 2 : 0;
}

/* "program: text" as one line in one write, so that lines of several processes do not mix. */
static void put_line(FILE *stream, const char *program, const char *format, va_list args)
{
    enum { ESCAPE = 4 };
    char text[2048 + PATH_MAX], line[ESCAPE * sizeof text];
    size_t size = program ? (size_t)snprintf(text, sizeof text, "%s: ", program) : 0;
    vsnprintf(text + size, sizeof text - size, format, args);
    size = 0;
    for (const char *c = text; *c;) {
        size_t escaped = control_length(c);
        if (!escaped)
            line[size++] = *c++;
        for (; escaped > 0; escaped--)
            size += (size_t)snprintf(line + size, ESCAPE + 1, "\\x%02x", (unsigned char)*c++);
    }
    line[size++] = '\n';
    fwrite(line, 1, size, stream);
}

static void say(const char *format, va_list args)
{
    put_line(stderr, program_name, format, args);
}

void print_output(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put_line(stdout, NULL, format, args);
    va_end(args);
}

void print_warning(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

/* Where die goes instead of ending the program. */
typedef struct Catch {
    jmp_buf place;
    Error *error;
} Catch;
static _Thread_local Catch *catching;

bool error_catch(bool (*work)(void *context, Error *error), void *context, Error *error)
{
    Catch frame = {.error = error}, *before = catching;
    if (setjmp(frame.place) != 0) {
        catching = before;
        return false;
    }
    catching = &frame;
    bool good = work(context, error);
    catching = before;
    return good;
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (catching)
        set(catching->error, false, format, args);
    else
        say(format, args);
    va_end(args);
    if (catching)
        longjmp(catching->place, 1);
    exit(1);
}

void die_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    fprintf(stderr, "Try '%s --help'.\n", program_name);
    exit(2);
}

void error_die(const Error *error)
{
    if (error->usage)
        die_usage("%s", error->text);
    die("%s", error->text);
}
