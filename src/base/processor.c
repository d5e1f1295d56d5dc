#include "src/base/processor.h"

#if defined __x86_64__
#include <cpuid.h>
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROW(bit, macro, test, title) {PROCESSOR_##bit, title},
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
enum { EAX, EBX, ECX, EDX };

/* Whether the instruction CPUID sets this bit of a register for this leaf. */
static bool cpuid(unsigned leaf, unsigned subleaf, unsigned where, unsigned bit)
{
    unsigned to[4];
    return __get_cpuid_count(leaf, subleaf, &to[EAX], &to[EBX], &to[ECX], &to[EDX]) &&
           (to[where] >> bit & 1);
}

uint32_t processor_present(void)
{
    __builtin_cpu_init();
#define supports(name)                   __builtin_cpu_supports(name)
#define PRESENT(bit, macro, test, title) | (test ? PROCESSOR_##bit : 0u)
    return 0u PROCESSOR_EXTENSIONS(PRESENT);
}
#else
uint32_t processor_present(void)
{
    return UINT32_MAX; /* elsewhere nothing is compared */
}
#endif

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

void processor_check(uint32_t needed)
{
    char names[384], line[768];
    if (processor_missing(needed, processor_present(), names, sizeof names) == 0)
        return;
    int length = snprintf(line, sizeof line,
                          "%.64s: built for a processor with %s, which this one lacks; %s\n",
                          program_invocation_short_name, names, remedy());
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    _exit(written < 0 ? 2 : 1);
}
