#include "train/loop/lock.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What this process holds; without a path, nothing. */
static struct Held {
    int fd;
    char *path;
} held[LOCKS];

/* Whether the file still exists: its former owner may just have removed it. */
static bool is_same_file(int fd, const char *path)
{
    struct stat locked_file, named;
    return fstat(fd, &locked_file) == 0 && stat(path, &named) == 0 &&
           locked_file.st_ino == named.st_ino && locked_file.st_dev == named.st_dev;
}

void lock_release(LockKind kind)
{
    struct Held *lock = &held[kind];
    if (!lock->path)
        return;
    if (is_same_file(lock->fd, lock->path))
        unlink(lock->path); /* before others can lock it */
    close(lock->fd);
    free(lock->path);
    *lock = (struct Held){0};
}

static void release_all(void)
{
    for (LockKind kind = 0; kind < LOCKS; kind++)
        lock_release(kind);
}

static bool refuse(int fd, const char *name, Error *error)
{
    char owner[32] = "";
    ssize_t length = pread(fd, owner, sizeof owner - 1, 0);
    owner[length > 0 ? strcspn(owner, "\n") : 0] = '\0';
    return error_set(error, "%s: in use by process %s; wait for it, or end it first", name,
                     *owner ? owner : "(not known)");
}

/* The owner may be about to end: a killed process takes a moment to exit. On a file system
 * without locks, training goes on unlocked. */
static bool try_lock_for_a_while(int fd)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    enum { ATTEMPTS = 60 };
    for (int left = ATTEMPTS; flock(fd, LOCK_EX | LOCK_NB) != 0; left--) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return true;
        if (left == 0)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Opens and locks the file; *fd is -1 if the caller must try again. */
static bool acquire_file(int *fd, const char *path, const char *name, Error *error)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*fd < 0)
        return error_set(error, "%s: cannot lock: %s", path, strerror(errno));
    if (!try_lock_for_a_while(*fd)) {
        refuse(*fd, name, error);
        close(*fd);
        return false;
    }
    if (!is_same_file(*fd, path)) {
        close(*fd);
        *fd = -1;
    }
    return true;
}

bool lock_acquire(LockKind kind, const char *name, Error *error)
{
    static bool at_exit;
    lock_release(kind);
    char *path = text_format("%s%s", name, kind == LOCK_RUN ? "/lock" : ".lock");
    int fd = -1;
    while (fd < 0)
        if (!acquire_file(&fd, path, name, error)) {
            free(path);
            return false;
        }
    char *owner = text_format("%ld\n", (long)getpid());
    ssize_t written = ftruncate(fd, 0) == 0 ? pwrite(fd, owner, strlen(owner), 0) : 0;
    (void)written; /* on a full disk the lock holds, only without the ID */
    free(owner);
    held[kind] = (struct Held){fd, path};
    if (!at_exit)
        atexit(release_all);
    at_exit = true;
    return true;
}
