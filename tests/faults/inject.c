/* Makes system calls fail on demand, and records them.
 *
 * The linker (ld --wrap) redirects linnet's own calls: open calls __wrap_open, and __real_open
 * is the C library's. Libraries still call the C library directly, except jansson's memory,
 * which comes from linnet. The environment sets the fault: see inject.h. */
#include "tests/faults/inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

typedef enum Action {
    ACTION_NONE,
    ACTION_ONCE,
    ACTION_ALWAYS,
    ACTION_HALF,
    ACTION_KILL,
    ACTION_GONE,
    ACTION_SIGNAL,
    ACTION_SIGNALS
} Action;

static struct {
    bool read;
    Action action;
    long number;
    int reason;
    char calls[512]; /* with a comma before the first and after the last */
    atomic_long count;
    bool signals; /* once the present call is done */
} fault;

ssize_t __real_write(int fd, const void *bytes, size_t size);
int __real_rename(const char *from, const char *to);

static void read_fault(void)
{
    static const char *const actions[] = {"none", "once", "always", "half",
                                          "kill", "gone", "signal", "signals"};
    const char *text = getenv(INJECT_FAULT);
    char action[16] = "";
    fault.read = true;
    fault.calls[0] = ',';
    if (!text || sscanf(text, "%15s %ld %d %509s", action, &fault.number, &fault.reason,
                        fault.calls + 1) != 4)
        return;
    strcat(fault.calls, ",");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(action, actions[i]) == 0)
            fault.action = (Action)i;
}

/* Whether this call must fail; sets errno then. */
static bool strikes(const char *call)
{
    if (!fault.read)
        read_fault();
    size_t length = strlen(call);
    const char *listed = fault.action == ACTION_NONE ? NULL : strstr(fault.calls, call);
    while (listed && (listed[-1] != ',' || listed[length] != ','))
        listed = strstr(listed + 1, call);
    if (!listed)
        return false;
    long count = atomic_fetch_add(&fault.count, 1) + 1;
    if (fault.action == ACTION_ALWAYS ? count < fault.number : count != fault.number)
        return false;
    if (__real_write(INJECT_FIRED_FD, "!", 1) != 1 && errno != EBADF)
        abort();
    if (fault.action == ACTION_KILL)
        kill(getpid(), SIGKILL);
    if (fault.action == ACTION_GONE)
        return __real_rename("run", "elsewhere") != 0 && errno != ENOENT;
    if (fault.action >= ACTION_SIGNAL) {
        fault.signals = true;
        return false;
    }
    errno = fault.reason;
    return true;
}

/* Sends what the call that has just succeeded is to be followed by. */
static void signal_after_call(void)
{
    sigset_t both, before;
    if (!fault.signals)
        return;
    fault.signals = false;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    raise(SIGTERM);
    if (fault.action == ACTION_SIGNALS)
        raise(SIGINT);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- record of calls --- */

/* Each call is a line, followed by the bytes written: disk.c reads them. */
__attribute__((format(printf, 3, 4))) static void record(const void *bytes, size_t size,
                                                         const char *format, ...)
{
    static int fd = -2;
    if (fd == -2) {
        const char *path = getenv(INJECT_RECORD);
        fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path,
                                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
                  : -1;
    }
    if (fd < 0)
        return;
    char line[8192];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (__real_write(fd, line, (size_t)length) != length ||
        (size > 0 && __real_write(fd, bytes, size) != (ssize_t)size))
        abort();
}

/* --- calls that succeed or fail --- */

/* The function NAME, which returns FAILURE if it must fail; the rest are its arguments. */
#define FALLIBLE(result, name, failure, parameters, ...) \
    result __real_##name parameters;                     \
    result __wrap_##name parameters;                     \
    result __wrap_##name parameters                      \
    {                                                    \
        if (strikes(#name))                              \
            return failure;                              \
        return __real_##name(__VA_ARGS__);               \
    }

FALLIBLE(void *, malloc, NULL, (size_t size), size)
FALLIBLE(void *, calloc, NULL, (size_t count, size_t size), count, size)
FALLIBLE(void *, realloc, NULL, (void *old, size_t size), old, size)
FALLIBLE(void *, aligned_alloc, NULL, (size_t unit, size_t size), unit, size)
FALLIBLE(FILE *, open_memstream, NULL, (char **text, size_t *size), text, size)
FALLIBLE(int, pthread_create, fault.reason,
         (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *argument),
         thread, how, run, argument)

FALLIBLE(FILE *, fopen, NULL, (const char *path, const char *mode), path, mode)
FALLIBLE(FILE *, fdopen, NULL, (int fd, const char *mode), fd, mode)
FALLIBLE(FILE *, tmpfile, NULL, (void), )
FALLIBLE(DIR *, opendir, NULL, (const char *path), path)
FALLIBLE(struct dirent *, readdir, NULL, (DIR * folder), folder)
FALLIBLE(int, fflush, EOF, (FILE * file), file)
FALLIBLE(int, access, -1, (const char *path, int mode), path, mode)
FALLIBLE(int, stat, -1, (const char *path, struct stat *status), path, status)
FALLIBLE(int, fstat, -1, (int fd, struct stat *status), fd, status)
FALLIBLE(off_t, lseek, -1, (int fd, off_t offset, int from), fd, offset, from)
FALLIBLE(ssize_t, readlink, -1, (const char *path, char *to, size_t size), path, to, size)
FALLIBLE(char *, realpath, NULL, (const char *path, char *to), path, to)
FALLIBLE(int, flock, -1, (int fd, int operation), fd, operation)
FALLIBLE(int, fallocate, -1, (int fd, int mode, off_t at, off_t size), fd, mode, at, size)
FALLIBLE(int, inflateInit2_, Z_MEM_ERROR,
         (z_streamp stream, int bits, const char *version, int size), stream, bits, version,
         size)
FALLIBLE(int, inflate, Z_MEM_ERROR, (z_streamp stream, int flush), stream, flush)

/* --- calls that can be cut short --- */

#define TRANSFER(name, parameters, ...)      \
    ssize_t __real_##name parameters;        \
    ssize_t __wrap_##name parameters;        \
    ssize_t __wrap_##name parameters         \
    {                                        \
        if (strikes(#name)) {                \
            if (fault.action != ACTION_HALF) \
                return -1;                   \
            size /= 2;                       \
        }                                    \
        return __real_##name(__VA_ARGS__);   \
    }

TRANSFER(read, (int fd, void *bytes, size_t size), fd, bytes, size)
TRANSFER(pread, (int fd, void *bytes, size_t size, off_t at), fd, bytes, size, at)
TRANSFER(pwrite, (int fd, const void *bytes, size_t size, off_t at), fd, bytes, size, at)

ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (strikes("write")) {
        if (fault.action != ACTION_HALF)
            return -1;
        size /= 2;
    }
    ssize_t done = __real_write(fd, bytes, size);
    if (done > 0)
        record(bytes, (size_t)done, "write %d %zd\n", fd, done);
    return done;
}

/* --- calls that change files --- */

/* Like FALLIBLE, and recorded with a printf format after it succeeds. */
#define RECORDED(name, parameters, arguments, ...) \
    int __real_##name parameters;                  \
    int __wrap_##name parameters;                  \
    int __wrap_##name parameters                   \
    {                                              \
        if (strikes(#name))                        \
            return -1;                             \
        int result = __real_##name arguments;      \
        if (result >= 0)                           \
            record(NULL, 0, __VA_ARGS__);          \
        signal_after_call();                       \
        return result;                             \
    }

RECORDED(fsync, (int fd), (fd), "fsync %d\n", fd)
RECORDED(fdatasync, (int fd), (fd), "fsync %d\n", fd)
RECORDED(ftruncate, (int fd, off_t size), (fd, size), "ftruncate %d %lld\n", fd,
         (long long)size)
RECORDED(rename, (const char *from, const char *to), (from, to), "rename %s\t%s\n", from, to)
RECORDED(link, (const char *from, const char *to), (from, to), "link %s\t%s\n", from, to)
RECORDED(unlink, (const char *path), (path), "unlink %s\n", path)
RECORDED(mkdir, (const char *path, mode_t mode), (path, mode), "mkdir %s\n", path)

int __real_open(const char *path, int flags, mode_t mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if (strikes("open"))
        return -1;
    int fd = __real_open(path, flags, mode);
    if (fd >= 0)
        record(NULL, 0, "open %d %d %s\n", fd, flags, path);
    signal_after_call();
    return fd;
}

/* A failing close closes the file all the same. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool struck = strikes("close");
    int result = __real_close(fd);
    record(NULL, 0, "close %d\n", fd);
    if (struck)
        errno = fault.reason;
    return struck ? -1 : result;
}

int __real_fclose(FILE *file);
int __wrap_fclose(FILE *file);
int __wrap_fclose(FILE *file)
{
    bool struck = strikes("fclose");
    int result = __real_fclose(file);
    if (struck)
        errno = fault.reason;
    return struck ? EOF : result;
}

/* The wall clock goes back by an hour; a monotonic clock cannot. */
enum { HOUR = 3600 };

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = __real_clock_gettime(clock, now);
    if (clock == CLOCK_REALTIME && strikes("clock_gettime"))
        now->tv_sec -= HOUR;
    return result;
}

time_t __real_time(time_t *now);
time_t __wrap_time(time_t *now);
time_t __wrap_time(time_t *now)
{
    time_t result = __real_time(now) - (strikes("time") ? HOUR : 0);
    if (now)
        *now = result;
    return result;
}
