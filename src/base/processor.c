#include "src/base/processor.h"

#if defined __x86_64__
#include <cpuid.h>
#endif
#include <stdbool.h>
#include <stdio.h>

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

/* What the processor has and the system saves the registers of. */
static uint32_t present(void)
{
    __builtin_cpu_init();
#define supports(name)                   __builtin_cpu_supports(name)
#define PRESENT(bit, macro, test, title) | (test ? PROCESSOR_##bit : 0u)
    return 0u PROCESSOR_EXTENSIONS(PRESENT);
}
#else
static uint32_t present(void)
{
    return processor_built_for; /* elsewhere nothing is compared */
}
#endif

size_t processor_lacks(char *names, size_t size)
{
    return processor_missing(processor_built_for, present(), names, size);
}
