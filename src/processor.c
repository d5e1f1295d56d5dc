#include "src/processor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROW(bit, macro, name, title) {PROCESSOR_##bit, title},
static const struct {
    uint32_t bit;
    const char *name;
} extensions[] = {PROCESSOR_EXTENSIONS(ROW)};

size_t processor_missing(uint32_t needed, uint32_t present, char *names, size_t size)
{
    size_t count = 0, used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        if (!(needed & extensions[i].bit) || (present & extensions[i].bit))
            continue;
        if (used < size)
            used += (size_t)snprintf(names + used, size - used, "%s%s", count ? ", " : "",
                                     extensions[i].name);
        count++;
    }
    return count;
}

#if defined __x86_64__
/* What the processor has and the system saves the registers of. */
static uint32_t present(void)
{
    __builtin_cpu_init();
#define PRESENT(bit, macro, name, title) | (__builtin_cpu_supports(name) ? PROCESSOR_##bit : 0u)
    return 0u PROCESSOR_EXTENSIONS(PRESENT);
}
#else
static uint32_t present(void)
{
    return processor_built_for; /* elsewhere the system's loader knows */
}
#endif

__attribute__((constructor(101))) void processor_check(void)
{
    char names[256], line[512];
    if (processor_missing(processor_built_for, present(), names, sizeof names) == 0)
        return;
    int length = snprintf(line, sizeof line,
                          "%s: built for a processor with %s, which this one lacks; build "
                          "linnet on this machine ('make clean', 'make'), or for every x86-64 "
                          "with 'make PORTABLE=1'\n",
                          program_invocation_short_name, names);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    _exit(written < 0 ? 2 : 1);
}
