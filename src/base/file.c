#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
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
            return error_set(error, "%s: truncated while being read", path);
        have += (size_t)got;
    }
    return true;
}

int file_open(const char *path, size_t most, size_t *size, Error *error)
{
    struct stat status;
    /* O_NONBLOCK: opening a named pipe must not wait for its other end. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0)
        error_set(error, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        error_set(error, "%s: not a regular file", path);
    else if ((unsigned long long)status.st_size > most)
        error_set(error, "%s: %lld bytes are more than the limit of %zu", path,
                  (long long)status.st_size, most);
    else {
        *size = (size_t)status.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

bool file_read(const char *path, size_t most, char **bytes, size_t *size, Error *error)
{
    int fd = file_open(path, most, size, error);
    *bytes = NULL;
    if (fd < 0)
        return false;
    *bytes = memory_new(*size + 1, 1, path);
    bool good = read_all(fd, path, *bytes, *size, error);
    if (!good) {
        free(*bytes);
        *bytes = NULL;
    }
    close(fd);
    return good;
}

bool file_write(int fd, const void *bytes, size_t size)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t done = write(fd, next, size < INT_MAX ? size : INT_MAX);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        next += done;
        size -= (size_t)done;
    }
    return true;
}

double file_number(const char *folder, const char *name, const char *label, size_t place)
{
    char *path = file_join(folder, name), line[256];
    double value = (double)NAN;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, label, strlen(label)) != 0)
            continue;
        char *rest = line + strlen(label), *word;
        do
            word = strtok_r(rest, " \n", &rest);
        while (word && place-- > 0);
        if (!word || !text_to_double(word, &value))
            value = (double)NAN;
        break;
    }
    if (file)
        fclose(file);
    free(path);
    return value;
}

/* --- replacing --- */

/* Temporary files in progress; removed at exit, since running out of memory can exit at any
 * point, and by signals that end the program. A file is in the list before it exists. */
static FileReplacement *volatile half_written;
static void (*volatile remove_more)(void);

void file_remove_half_written(void)
{
    for (const FileReplacement *file = half_written; file; file = file->outer)
        unlink(file->temporary);
    if (remove_more)
        remove_more();
}

static void on_signal(int number)
{
    file_remove_half_written();
    raise(number); /* again, and now it ends the program */
}

/* Signals that the program has handlers for are left to them. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, before;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

static void remove_at_end(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    atexit(file_remove_half_written);
    catch_signals();
}

void file_remove_also(void (*remove)(void))
{
    remove_more = remove;
    remove_at_end();
}

static void remember(FileReplacement *file)
{
    remove_at_end();
    file->outer = half_written;
    half_written = file;
}

static void forget(FileReplacement *file)
{
    FileReplacement *volatile *at = &half_written;
    while (*at && *at != file)
        at = &(*at)->outer;
    if (*at)
        *at = file->outer;
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
    int why = errno;
    error_set(error, "%s: cannot %s: %s%s", file->path, verb, strerror(why),
              file_exists(file->path) ? "; the previous file is unchanged" : "");
    file_replace_abort(file);
    return false;
}

bool file_replace_begin(FileReplacement *file, const char *path, Error *error)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    struct stat status;
    *file = (FileReplacement){.fd = -1};
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) { /* such as /dev/null */
        error_set(error, "%s: cannot replace: not a regular file; name another file", path);
        return false;
    }
    file->path = memory_copy_text(path);
    file->temporary = text_format("%s.%ld.tmp", path, (long)getpid());
    remember(file);
    file->fd = open(file->temporary, flags, 0666);
    if (file->fd < 0 && errno == EEXIST) { /* left by a dead process with our pid */
        unlink(file->temporary);
        file->fd = open(file->temporary, flags, 0666);
    }
    if (file->fd < 0) {
        error_set(error, "%s: cannot create: %s", path, strerror(errno));
        forget(file);
        return false;
    }
    return true;
}

bool file_replace_reserve(FileReplacement *file, size_t size, Error *error)
{
    /* Does not change the file size. File systems without fallocate return another error; then
     * a full disk shows up later. */
    if (size == 0 || fallocate(file->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) == 0 ||
        (errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EIO))
        return true;
    return fail(file, "write", error);
}

bool file_replace_write(FileReplacement *file, const void *bytes, size_t size, Error *error)
{
    return file_write(file->fd, bytes, size) || fail(file, "write", error);
}

bool file_replace_read(FileReplacement *file, void *bytes, size_t size, Error *error)
{
    if (read_all(file->fd, file->path, bytes, size, error))
        return true;
    file_replace_abort(file);
    return false;
}

bool file_replace_seek(FileReplacement *file, size_t place, Error *error)
{
    return lseek(file->fd, (off_t)place, SEEK_SET) >= 0 || fail(file, "seek", error);
}

/* A rename is durable only after fsync of the directory. */
static bool sync_folder_of(const char *path, Error *error)
{
    char *folder = file_folder_of(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    /* EINVAL, ENOTSUP: the file system cannot sync directories */
    bool synced = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP);
    int reason = errno;
    if (fd >= 0)
        close(fd);
    return synced || error_set(error, "%s: written, but it may not survive a crash: %s", path,
                               strerror(reason));
}

bool file_replace_seal(FileReplacement *file, Error *error)
{
    if (file->fd < 0)
        return true;
    if (fsync(file->fd) != 0)
        return fail(file, "sync", error);
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
    int fd = file->fd;
    file->fd = -1;
    return close(fd) == 0 || fail(file, "close", error);
}

bool file_replace_commit(FileReplacement *file, Error *error)
{
    if (!file_replace_seal(file, error))
        return false;
    if (rename(file->temporary, file->path) != 0)
        return fail(file, "replace", error);
    bool synced = sync_folder_of(file->path, error);
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

bool file_replace_printed(const char *path, void (*print)(FILE *out, const void *content),
                          const void *content, Error *error)
{
    char *text;
    size_t size;
    FILE *stream = memory_text_open(&text, &size, path);
    print(stream, content);
    memory_text_close(stream, path);
    bool good = file_replace_text(path, text, error);
    free(text);
    return good;
}

bool file_rename(const char *from, const char *to, Error *error)
{
    if (rename(from, to) != 0)
        return error_set(error, "%s: cannot rename to %s: %s", from, to, strerror(errno));
    return sync_folder_of(to, error);
}

/* The PID in "NAME.PID.tmp"; 0 for any other name. */
static long owner_of(const char *name)
{
    static const char ending[] = ".tmp";
    if (!text_ends_in(name, ending))
        return 0;
    const char *digits = name + strlen(name) - strlen(ending);
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits == name || digits[-1] != '.')
        return 0;
    long owner = strtol(digits, NULL, 10);
    return owner > 0 && owner < INT_MAX ? owner : 0;
}

void file_remove_leftovers(const char *folder)
{
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        long owner = owner_of(entry->d_name);
        if (owner > 0 && kill((pid_t)owner, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(listing), entry->d_name, 0);
    }
    if (listing)
        closedir(listing);
}

/* --- appending --- */

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
              done < 0 ? strerror(errno) : "short write, is the disk full?");
    /* Later records must not follow a partial one. */
    if (done > 0 && ftruncate(fd, (off_t)*size) != 0)
        error_set(error, "%s: cannot write, and a partial record remains at its end: %s", path,
                  strerror(errno));
    return false;
}

/* --- names --- */

/* On errors such as EACCES the file may exist: opening it then reports the reason. */
bool file_exists(const char *path)
{
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool file_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *file_first_in(const char *folder, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *path = file_join(folder, names[i]);
        if (file_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

bool file_is_in(const char *folder, const char *name)
{
    char *path = file_first_in(folder, &name, 1);
    bool exists = path != NULL;
    free(path);
    return exists;
}

bool file_make_parents(const char *path, Error *error)
{
    char *parent = memory_copy_text(path);
    bool good = true;
    for (char *slash = parent; good && *slash && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        if (mkdir(parent, 0777) != 0 && errno != EEXIST)
            good = error_set(error, "%s: cannot make this directory: %s", parent,
                             strerror(errno));
        *slash = '/';
    }
    free(parent);
    return good;
}

char *file_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? text_format("%.*s", slash > path ? (int)(slash - path) : 1, path)
                 : memory_copy_text(".");
}

const char *file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void file_trim_slashes(char *path)
{
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
        path[end - 1] = '\0';
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

char *file_shipped_folder(const char *name)
{
    char *program = file_program_folder(), *slash = strrchr(program, '/');
    char *top = slash ? text_format("%.*s", (int)(slash - program), program)
                      : memory_copy_text("..");
    char *folder = file_join(top, name);
    if (!file_is_folder(folder)) {
        free(folder);
        folder = text_format("%s/share/linnet/%s", top, name);
    }
    free(top);
    free(program);
    return folder;
}
