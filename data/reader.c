/* Reads the raw bytes and, if they start like gzip, unpacks them.
 *
 * gzread would be shorter, but it reports a truncated file only when closing it, and silently
 * drops data after the last member. A corpus that is quietly 3 % shorter gives wrong numbers,
 * so this calls inflate and accounts for every byte. gzip inside gzip is unpacked once. */
#include "data/reader.h"
#include "src/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MEGABYTE       ((size_t)1000000)
#define FIRST_CAPACITY ((size_t)1 << 16)
#define LONGEST_STEP   ((size_t)1 << 30) /* read and zlib cannot take a whole size_t */

/* A growing buffer. One byte more than the limit is enough to notice that there is more; in the
 * end it holds the terminating zero. */
typedef struct Growing {
    const char *name, *option;
    char *bytes;
    size_t size, capacity, most;
} Growing;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t room_make(Growing *to)
{
    if (to->size == to->capacity) {
        size_t doubled = to->capacity ? 2 * to->capacity : FIRST_CAPACITY;
        to->capacity = smaller(doubled, to->most + 1);
        to->bytes = memory_resize(to->bytes, to->capacity, 1, to->name);
    }
    return smaller(to->capacity - to->size, LONGEST_STEP);
}

static bool too_large(const Growing *to, Error *error)
{
    size_t most = to->most / MEGABYTE;
    if (!to->option)
        return error_set(error, "%s: more than %zu MB; give a shorter text", to->name, most);
    return error_set(error, "%s: more than %zu MB; raise %s to read it all", to->name, most,
                     to->option);
}

const char *reader_name(const char *path)
{
    return strcmp(path, READER_STANDARD_INPUT) == 0 ? "standard input" : path;
}

static bool read_raw(int fd, Growing *to, Error *error)
{
    for (;;) {
        size_t room = room_make(to);
        ssize_t got = read(fd, to->bytes + to->size, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(error, "%s: cannot read: %s", to->name, strerror(errno));
        if (got == 0)
            return true;
        to->size += (size_t)got;
        if (to->size > to->most)
            return too_large(to, error);
    }
}

/* --- gzip --- */

static bool is_gzip(const char *bytes, size_t size)
{
    return size >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

/* Unpacks up to the end of one member. */
static bool unpack_member(z_stream *stream, const Growing *from, Growing *to, Error *error)
{
    const char *end = from->bytes + from->size;
    for (;;) {
        size_t left = (size_t)(end - (const char *)stream->next_in);
        size_t room = room_make(to);
        stream->avail_in = (uInt)smaller(left, LONGEST_STEP);
        stream->next_out = (Bytef *)to->bytes + to->size;
        stream->avail_out = (uInt)room;
        int result = inflate(stream, Z_NO_FLUSH);
        to->size += room - stream->avail_out;
        if (to->size > to->most)
            return too_large(to, error);
        if (result == Z_STREAM_END)
            return true;
        size_t at = (size_t)((const char *)stream->next_in - from->bytes);
        if (result == Z_BUF_ERROR || (result == Z_OK && at == from->size && stream->avail_out))
            return error_set(error, "%s: the gzip data breaks off at byte %zu; fetch it again",
                             from->name, at);
        if (result != Z_OK)
            return error_set(error, "%s: the gzip data is damaged before byte %zu: %s",
                             from->name, at, stream->msg ? stream->msg : zError(result));
    }
}

static bool unpack(const Growing *from, Growing *to, Error *error)
{
    enum { GZIP_ONLY = 16 };
    z_stream stream = {.next_in = (Bytef *)from->bytes};
    if (inflateInit2(&stream, MAX_WBITS + GZIP_ONLY) != Z_OK)
        return error_set(error, "%s: zlib cannot start: out of memory", from->name);
    bool good = true, more = true;
    while (good && more) {
        good = unpack_member(&stream, from, to, error);
        size_t at = (size_t)((char *)stream.next_in - from->bytes);
        more = at < from->size;
        if (good && more && !is_gzip(from->bytes + at, from->size - at))
            good = error_set(error,
                             "%s: something that is not gzip follows the gzip data at "
                             "byte %zu; cut it off",
                             from->name, at);
        inflateReset(&stream);
    }
    inflateEnd(&stream);
    return good;
}

/* --- files --- */

static bool same_moment(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file being written changes its size or modification time. */
static bool read_snapshot(int fd, Growing *raw, Error *error)
{
    struct stat before, after;
    if (fstat(fd, &before) != 0)
        return error_set(error, "%s: %s", raw->name, strerror(errno));
    if (S_ISDIR(before.st_mode))
        return error_set(error, "%s: is a directory; name a text file in it", raw->name);
    if (S_ISREG(before.st_mode) && before.st_size > 0) /* usually one allocation suffices */
        raw->capacity = smaller((size_t)before.st_size, raw->most) + 1;
    raw->bytes = raw->capacity ? memory_take(raw->capacity, 1, raw->name) : NULL;
    if (!read_raw(fd, raw, error))
        return false;
    if (fstat(fd, &after) != 0 || (S_ISREG(before.st_mode) && !same_moment(&before, &after)))
        return error_set(error, "%s: changed while it was being read; try again", raw->name);
    return true;
}

bool reader_read(const char *path, size_t most_mb, const char *option, char **bytes,
                 size_t *size, Error *error)
{
    *bytes = NULL;
    *size = 0;
    bool standard = strcmp(path, READER_STANDARD_INPUT) == 0;
    size_t most = memory_product(most_mb, MEGABYTE, "the text");
    Growing raw = {.name = reader_name(path), .option = option, .most = most}, text = raw;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set(error, "%s: cannot open: %s", path, strerror(errno));
    bool good = read_snapshot(fd, &raw, error);
    if (!standard)
        close(fd);
    if (good && is_gzip(raw.bytes, raw.size)) {
        good = unpack(&raw, &text, error);
        free(raw.bytes);
    } else {
        text = raw;
    }
    if (!good) {
        free(text.bytes);
        return false;
    }
    *bytes = memory_resize(text.bytes, text.size + 1, 1, text.name);
    (*bytes)[text.size] = '\0';
    *size = text.size;
    return true;
}
