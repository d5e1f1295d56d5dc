/* Runs the targets on stored inputs, without libFuzzer: replay DIRECTORY..., where each has a
 * directory of inputs for each target. A target without inputs is an error. */
#include "tests/fuzz/fuzz.h"
#include "src/base/file.h"
#include "src/base/memory.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Names the current input if the program ends by a signal or an unexpected exit. */
static const char *current = "";

static void say_current(void)
{
    static const char what[] = "fuzz: the input was ";
    struct iovec parts[] = {
        {(void *)what, strlen(what)}, {(void *)current, strlen(current)}, {(void *)"\n", 1}};
    if (*current && writev(STDERR_FILENO, parts, 3) < 0)
        _exit(EXIT_FAILURE);
}

static void say_and_end(int signal)
{
    say_current();
    raise(signal); /* now ends the program, because the handler was reset */
}

static void say_at_the_end(void)
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    struct sigaction action = {.sa_handler = say_and_end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    atexit(say_current);
}

static void replay_file(const FuzzTarget *target, const char *path)
{
    const size_t most = (size_t)1 << 24;
    char *bytes;
    size_t size;
    Error error;
    if (!file_read(path, most, &bytes, &size, &error))
        die("%s", error.text);
    current = path;
    /* A copy of exactly this size, so that sanitizers see reads past its end. */
    uint8_t *copy = memory_new(size, 1, path);
    if (size)
        memcpy(copy, bytes, size);
    target->run(copy, size);
    current = "";
    free(copy);
    free(bytes);
}

static size_t replay_folder(const FuzzTarget *target, const char *parent)
{
    char *folder = file_join(parent, target->name);
    DIR *listing = opendir(folder);
    size_t inputs = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = file_join(folder, entry->d_name);
        replay_file(target, path);
        inputs++;
        free(path);
    }
    if (listing)
        closedir(listing);
    free(folder);
    return inputs;
}

int main(int argc, char **argv)
{
    program_name_set("fuzz");
    say_at_the_end();
    size_t all = 0, count = 0;
    for (; fuzz_target(count); count++) {
        size_t inputs = 0;
        for (int i = 1; i < argc; i++)
            inputs += replay_folder(fuzz_target(count), argv[i]);
        if (!inputs)
            die("%s: no inputs for this target", fuzz_target(count)->name);
        all += inputs;
    }
    printf("fuzz: %zu stored inputs of %zu targets passed\n", all, count);
    return EXIT_SUCCESS;
}
