#include "src/mapping.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* When the kernel maps a page, it maps others around it that it has: 64 KiB, aligned. */
#define AROUND ((uintptr_t)1 << 16)

static Mapping *mappings; /* those that are open */

static const Mapping *find(const void *at)
{
    const Mapping *mapping = mappings;
    while (mapping && (uintptr_t)at - (uintptr_t)mapping->at >= mapping->size)
        mapping = mapping->next;
    return mapping;
}

/* --- a file that becomes shorter --- */

static struct sigaction before;

/* Async-signal-safe. Other bus errors, and signals that somebody sent, have the usual end. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    static const char clear[] = "\r\033[K"; /* a progress line may stand there */
    (void)context;
    const Mapping *file = info->si_code > 0 ? find(info->si_addr) : NULL;
    if (!file) {
        sigaction(number, &before, NULL);
        raise(number);
        return;
    }
    ssize_t written = isatty(STDERR_FILENO) ? write(STDERR_FILENO, clear, sizeof clear - 1) : 0;
    written += write(STDERR_FILENO, file->last_words, strlen(file->last_words));
    (void)written;
    file_remove_half_written();
    _exit(EXIT_FAILURE);
}

static void catch_bus_errors(void)
{
    static bool caught;
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    if (!caught)
        sigaction(SIGBUS, &action, &before);
    caught = true;
}

#define SHORTER                                                                            \
    "became shorter while it was being read; put the whole file back, and continue a run " \
    "with --resume"

/* The name of a file may contain what terminals obey. */
static char *last_words_of(const char *path)
{
    char *text = text_format("%s: %s: " SHORTER, program_name, path);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f ||
            (c > text && c[-1] == '\xc2' && (unsigned char)*c < 0xa0))
            *c = '?';
    text_append(&text, "\n");
    return text;
}

void mapping_die_changed(const void *at)
{
    const Mapping *mapping = find(at);
    die("%s: changed while it was being read; put the file back as it was, and continue a run "
        "with --resume",
        mapping ? mapping->path : "a file");
}

/* --- mapping --- */

static bool map(Mapping *mapping, int fd, const char *path, Error *error)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error_set(error, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(error, "%s: not a regular file", path);
    if (status.st_size == 0)
        return error_set(error, "%s: the file is empty", path);
    mapping->size = (size_t)status.st_size;
    mapping->at = mmap(NULL, mapping->size, PROT_READ, MAP_SHARED, fd, 0);
    return mapping->at != MAP_FAILED ||
           error_set(error, "%s: cannot map: %s", path, strerror(errno));
}

Mapping *mapping_open(const char *path, Error *error)
{
    /* O_NONBLOCK: opening a named pipe must not wait for its other end. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        error_set(error, "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    Mapping *mapping = memory_take(1, sizeof *mapping, "a mapping");
    bool good = map(mapping, fd, path, error);
    if (!good) {
        close(fd);
        free(mapping);
        return NULL;
    }
    mapping->fd = fd;
    mapping->path = memory_copy_text(path);
    mapping->last_words = last_words_of(path);
    mapping->next = mappings;
    mappings = mapping;
    catch_bus_errors();
    return mapping;
}

void mapping_close(Mapping *mapping)
{
    if (!mapping)
        return;
    Mapping **at = &mappings;
    while (*at != mapping)
        at = &(*at)->next;
    *at = mapping->next;
    munmap((void *)mapping->at, mapping->size);
    close(mapping->fd);
    free(mapping->path);
    free(mapping->last_words);
    free(mapping);
}

void mapping_end_read(const void *at, size_t size)
{
    const Mapping *mapping = find(at);
    struct stat status;
    if (!mapping || size == 0)
        return;
    if (fstat(mapping->fd, &status) == 0 && (size_t)status.st_size < mapping->size)
        die("%s: " SHORTER, mapping->path);
    uintptr_t first = (uintptr_t)mapping->at, last = first + mapping->size;
    uintptr_t from = (uintptr_t)at / AROUND * AROUND;
    uintptr_t to = ((uintptr_t)at + size + AROUND - 1) / AROUND * AROUND;
    from = from > first ? from : first; /* which is where a page begins */
    to = to < last ? to : last;
    madvise((void *)from, to - from, MADV_DONTNEED);
}
