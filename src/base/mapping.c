#include "src/base/mapping.h"
#include "src/base/file.h"
#include "src/base/memory.h"

#include <errno.h>
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

static Mapping *find(const void *at)
{
    Mapping *mapping = mappings;
    while (mapping && (uintptr_t)at - (uintptr_t)mapping->data >= mapping->size)
        mapping = mapping->next;
    return mapping;
}

/* --- a file that becomes shorter --- */

static struct sigaction before;

/* Puts zeros in the place of all that is gone. mmap is a system call and nothing else, so a
 * handler may use it. */
static bool put_zeros(Mapping *mapping, const void *at)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at / page * page;
    uintptr_t end = (uintptr_t)mapping->data + mapping->size;
    mapping->changed = true;
    return mmap((void *)from, end - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                -1, 0) != MAP_FAILED;
}

/* Other bus errors, and signals that somebody sent, have the usual end. */
static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    int kept = errno;
    Mapping *mapping = info->si_code > 0 ? find(info->si_addr) : NULL;
    if (!mapping || !put_zeros(mapping, info->si_addr)) {
        sigaction(number, &before, NULL);
        raise(number);
    }
    errno = kept;
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

/* --- changes --- */

void mapping_mark_changed(const void *at)
{
    Mapping *mapping = find(at);
    if (mapping)
        mapping->changed = true;
}

bool mapping_check(const Mapping *mapping, Error *error)
{
    struct stat status;
    bool exists = fstat(mapping->fd, &status) == 0,
         cut = exists && (size_t)status.st_size < mapping->size;
    if (exists && !cut && !mapping->changed &&
        status.st_mtim.tv_sec == mapping->written.tv_sec &&
        status.st_mtim.tv_nsec == mapping->written.tv_nsec)
        return true;
    return error_set(
        error,
        "%s: %s while it was being read; put the file back as it was, and continue "
        "a run with --resume",
        mapping->path, cut ? "became shorter" : "changed");
}

void mapping_accept(Mapping *mapping)
{
    struct stat status;
    if (fstat(mapping->fd, &status) == 0)
        mapping->written = status.st_mtim;
}

/* --- mapping --- */

Mapping *mapping_open(const char *path, Error *error)
{
    size_t size;
    int fd = file_open(path, SIZE_MAX, &size, error);
    if (fd < 0)
        return NULL;
    const void *at = size ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (at == MAP_FAILED) {
        error_set(error, "%s: %s%s", path, size ? "cannot map: " : "the file is empty",
                  size ? strerror(errno) : "");
        close(fd);
        return NULL;
    }
    Mapping *mapping = memory_new(1, sizeof *mapping, "a mapping");
    mapping->data = at;
    mapping->size = size;
    mapping->fd = fd;
    mapping_accept(mapping);
    mapping->path = memory_copy_text(path);
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
    munmap((void *)mapping->data, mapping->size);
    close(mapping->fd);
    free(mapping->path);
    free(mapping);
}

void mapping_end_read(const void *at, size_t size)
{
    const Mapping *mapping = find(at);
    if (!mapping || size == 0)
        return;
    uintptr_t first = (uintptr_t)mapping->data, last = first + mapping->size;
    uintptr_t from = (uintptr_t)at / AROUND * AROUND;
    uintptr_t to = ((uintptr_t)at + size + AROUND - 1) / AROUND * AROUND;
    from = from > first ? from : first; /* which is where a page begins */
    to = to < last ? to : last;
    madvise((void *)from, to - from, MADV_DONTNEED);
}
