/* The constructor that ends a program which this processor cannot run. */
#include "src/base/processor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the user chose one of the builds of PORTABLE=1 with this variable (src/build.mk). */
static bool chooses_library(const char *variable)
{
    const char *path = getenv(variable);
    return path && strstr(path, "glibc-hwcaps/x86-64");
}

static const char *remedy(void)
{
    if (chooses_library("LD_LIBRARY_PATH"))
        return "unset LD_LIBRARY_PATH, which chose this build of linnet";
    if (chooses_library("LD_PRELOAD"))
        return "unset LD_PRELOAD, which chose this build of linnet";
    return "build linnet on this machine ('make clean', 'make'), or for every x86-64 with "
           "'make PORTABLE=1'";
}

__attribute__((constructor(101))) void processor_check(void)
{
    char names[384], line[768];
    if (processor_lacks(names, sizeof names) == 0)
        return;
    int length = snprintf(line, sizeof line,
                          "%.64s: built for a processor with %s, which this one lacks; %s\n",
                          program_invocation_short_name, names, remedy());
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    _exit(written < 0 ? 2 : 1);
}
