#include "src/processor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    uint32_t bit;
    const char *name;
} extensions[] = {
    {PROCESSOR_SSE42, "SSE4.2"},
    {PROCESSOR_POPCNT, "POPCNT"},
    {PROCESSOR_AVX, "AVX"},
    {PROCESSOR_AVX2, "AVX2"},
    {PROCESSOR_FMA, "FMA"},
    {PROCESSOR_BMI, "BMI"},
    {PROCESSOR_BMI2, "BMI2"},
    {PROCESSOR_AVX512F, "AVX-512F"},
    {PROCESSOR_AVX512BW, "AVX-512BW"},
    {PROCESSOR_AVX512DQ, "AVX-512DQ"},
    {PROCESSOR_AVX512VL, "AVX-512VL"},
    {PROCESSOR_AVX512BF16, "AVX-512_BF16"},
};

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
    return (__builtin_cpu_supports("sse4.2") ? PROCESSOR_SSE42 : 0u) |
           (__builtin_cpu_supports("popcnt") ? PROCESSOR_POPCNT : 0u) |
           (__builtin_cpu_supports("avx") ? PROCESSOR_AVX : 0u) |
           (__builtin_cpu_supports("avx2") ? PROCESSOR_AVX2 : 0u) |
           (__builtin_cpu_supports("fma") ? PROCESSOR_FMA : 0u) |
           (__builtin_cpu_supports("bmi") ? PROCESSOR_BMI : 0u) |
           (__builtin_cpu_supports("bmi2") ? PROCESSOR_BMI2 : 0u) |
           (__builtin_cpu_supports("avx512f") ? PROCESSOR_AVX512F : 0u) |
           (__builtin_cpu_supports("avx512bw") ? PROCESSOR_AVX512BW : 0u) |
           (__builtin_cpu_supports("avx512dq") ? PROCESSOR_AVX512DQ : 0u) |
           (__builtin_cpu_supports("avx512vl") ? PROCESSOR_AVX512VL : 0u) |
           (__builtin_cpu_supports("avx512bf16") ? PROCESSOR_AVX512BF16 : 0u);
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
                          "linnet on this machine ('make clean', 'make'), or for every "
                          "processor of its family with 'make ARCH='\n",
                          program_invocation_short_name, names);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    _exit(written < 0 ? 2 : 1);
}
