#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_all(int fd, const char *path, char *bytes, size_t size, Error *error)
{
    for (size_t have = 0; have < size;) {
        ssize_t got = read(fd, bytes + have, size - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(error, "%s: cannot read: %s", path, strerror(errno));
        if (got == 0)
            return error_set(error, "%s: became shorter while it was read", path);
        have += (size_t)got;
    }
    return true;
}

bool file_read(const char *path, size_t most, char **bytes, size_t *size, Error *error)
{
    /* O_NONBLOCK: opening a named pipe must not wait for its other end. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_set(error, "%s: %s", path, strerror(errno));
    struct stat status;
    *bytes = NULL;
    bool good = true;
    if (fstat(fd, &status) != 0)
        good = error_set(error, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        good = error_set(error, "%s: not a regular file", path);
    else if ((unsigned long long)status.st_size > most)
        good = error_set(error, "%s: %lld bytes are more than the limit of %zu", path,
                         (long long)status.st_size, most);
    if (good) {
        *size = (size_t)status.st_size;
        *bytes = memory_take(*size + 1, 1, path);
        good = read_all(fd, path, *bytes, *size, error);
    }
    if (!good) {
        free(*bytes);
        *bytes = NULL;
    }
    close(fd);
    return good;
}

static void forget(FileReplacement *file)
{
    free(file->path);
    free(file->temporary);
    *file = (FileReplacement){.fd = -1};
}

void file_replace_abort(FileReplacement *file)
{
    if (!file->path)
        return;
    if (file->fd >= 0)
        close(file->fd);
    unlink(file->temporary);
    forget(file);
}

static bool fail(FileReplacement *file, const char *verb, Error *error)
{
    error_set(error, "%s: cannot %s: %s; what was there before is untouched", file->path, verb,
              strerror(errno));
    file_replace_abort(file);
    return false;
}

bool file_replace_begin(FileReplacement *file, const char *path, Error *error)
{
    file->path = memory_copy_text(path);
    file->temporary = text_format("%s.tmp", path);
    file->fd = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->fd < 0) {
        error_set(error, "%s: cannot create: %s", path, strerror(errno));
        forget(file);
        return false;
    }
    return true;
}

bool file_replace_write(FileReplacement *file, const void *bytes, size_t size, Error *error)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t done = write(file->fd, next, size < INT_MAX ? size : INT_MAX);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail(file, "write", error);
        next += done;
        size -= (size_t)done;
    }
    return true;
}

/* A rename is durable only once the folder that holds the name is. */
static int sync_folder_of(const char *path)
{
    char *folder = memory_copy_text(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (fd < 0)
        return -1;
    int result = fsync(fd), reason = errno;
    close(fd);
    errno = reason;
    return result;
}

bool file_replace_commit(FileReplacement *file, Error *error)
{
    if (fsync(file->fd) != 0)
        return fail(file, "sync", error);
    int fd = file->fd;
    file->fd = -1;
    if (close(fd) != 0)
        return fail(file, "close", error);
    if (rename(file->temporary, file->path) != 0)
        return fail(file, "replace", error);
    bool synced = sync_folder_of(file->path) == 0 || errno == EINVAL || errno == ENOTSUP;
    if (!synced) /* EINVAL, ENOTSUP: a file system that knows no such thing */
        error_set(error, "%s: written, but it may not outlive a crash: %s", file->path,
                  strerror(errno));
    forget(file);
    return synced;
}

bool file_replace_text(const char *path, const char *text, Error *error)
{
    FileReplacement file;
    return file_replace_begin(&file, path, error) &&
           file_replace_write(&file, text, strlen(text), error) &&
           file_replace_commit(&file, error);
}

bool file_append(int fd, const char *path, size_t *size, const void *bytes, size_t count,
                 Error *error)
{
    ssize_t done;
    do
        done = write(fd, bytes, count);
    while (done < 0 && errno == EINTR);
    if (done == (ssize_t)count) {
        *size += count;
        return true;
    }
    error_set(error, "%s: cannot write: %s", path,
              done < 0 ? strerror(errno) : "the disk took only a part of it");
    /* What comes next must not be glued to half of this. */
    if (done > 0 && ftruncate(fd, (off_t)*size) != 0)
        error_set(error, "%s: cannot write, and its end is torn: %s", path, strerror(errno));
    return false;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *file_join(const char *folder, const char *name)
{
    return text_format("%s/%s", folder, name);
}

char *file_program_folder(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return memory_copy_text(".");
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return memory_copy_text(path);
}
