#include "src/error.h"

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
    program_name = basename(argv0);
}

bool error_set(Error *error, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

/* Length in bytes of the control character (C0, DEL, or C1 in UTF-8) at c; 0 if it is none. */
static int obeyed(const unsigned char *c)
{
    if (c[0] < 0x20 || c[0] == 0x7f)
        return 1;
    return c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0 ? 2 : 0;
}

static void say(const char *format, va_list args)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, args);
    fprintf(stderr, "%s: ", program_name);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int escaped = obeyed(c);
        if (!escaped)
            fputc(*c++, stderr);
        for (; escaped > 0; escaped--)
            fprintf(stderr, "\\x%02x", *c++);
    }
    fputc('\n', stderr);
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
    jmp_buf at;
    Error *error;
} Catch;
static _Thread_local Catch *catching;

bool error_catch(bool (*work)(void *context, Error *error), void *context, Error *error)
{
    Catch here = {.error = error}, *before = catching;
    if (setjmp(here.at) != 0) {
        catching = before;
        return false;
    }
    catching = &here;
    bool good = work(context, error);
    catching = before;
    return good;
}

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (catching)
        vsnprintf(catching->error->text, sizeof catching->error->text, format, args);
    else
        say(format, args);
    va_end(args);
    if (catching)
        longjmp(catching->at, 1);
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
