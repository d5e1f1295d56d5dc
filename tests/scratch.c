#include "tests/scratch.h"
#include "src/base/containers.h"
#include "src/base/file.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "/tmp/linnet-test-XXXXXX";
static size_t visited;

void scratch_make(void)
{
    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int remove_below(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    return walk->level > 0 ? remove_one(path, status, kind, walk) : 0;
}

static int count_below(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)path, (void)status, (void)kind;
    visited += walk->level > 0;
    return 0;
}

static void visit(int (*each)(const char *, const struct stat *, int, struct FTW *))
{
    enum { OPEN_FOLDERS = 8 };
    nftw(folder, each, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

void scratch_remove(void)
{
    visit(remove_one);
}

void scratch_empty(void)
{
    visit(remove_below);
}

size_t scratch_count(void)
{
    visited = 0;
    visit(count_below);
    return visited;
}

const char *scratch_folder(void)
{
    return folder;
}

char *scratch_path(const char *name)
{
    static char **paths; /* a list of stb_ds */
    char *path = file_join(folder, name);
    arrput(paths, path);
    return path;
}

/* Some tests write thousands of files. Truncating to the new length after writing, not to zero
 * before, keeps file systems from flushing each file to disk. */
void scratch_write(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_msg(fd >= 0, "cannot write %s", path);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
    close(fd);
}

char *scratch_put_bytes(const char *name, const void *bytes, size_t size)
{
    char *path = scratch_path(name);
    scratch_write(path, bytes, size);
    return path;
}

char *scratch_put(const char *name, const char *text)
{
    return scratch_put_bytes(name, text, strlen(text));
}

void scratch_pack(char **packed, size_t *size, const void *bytes, size_t count)
{
    enum { GZIP = 16, MEMORY = 8 };
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)count};
    ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, 0), Z_OK);
    size_t most = deflateBound(&stream, count);
    *packed = memory_resize(*packed, *size + most, 1, "packed");
    stream.next_out = (Bytef *)*packed + *size;
    stream.avail_out = (uInt)most;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *size += stream.total_out;
    deflateEnd(&stream);
}
