/* The entry points for libFuzzer. One program has all targets; --target=NAME chooses one.
 * libFuzzer ignores options with two dashes, and passes them to the processes it starts. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const FuzzTarget *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char option[] = "--target=";
    for (int i = 1; i < *argc; i++)
        if (strncmp((*argv)[i], option, strlen(option)) == 0)
            target = fuzz_find((*argv)[i] + strlen(option));
    if (target)
        return 0;
    fprintf(stderr, "Choose a target with %sNAME:", option);
    for (size_t i = 0; fuzz_target(i); i++)
        fprintf(stderr, " %s", fuzz_target(i)->name);
    fputc('\n', stderr);
    exit(2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(data, size);
    return 0;
}
