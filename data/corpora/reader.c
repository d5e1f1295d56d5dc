/* Reads the raw bytes through a buffer and, if they start like gzip, unpacks them.
 *
 * gzread would be shorter, but it reports a truncated file only when closing it, and silently
 * drops data after the last member. A corpus that is quietly 3 % shorter gives wrong numbers,
 * so this calls inflate and accounts for every byte. gzip inside gzip is unpacked once.
 *
 * A text is decoded after that, through two more buffers. */
#include "data/corpora/reader.h"
#include "data/tokenizers/utf8.h"
#include "src/base/memory.h"
#include "src/ranks/ranks.h"

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

enum { RAW = 1 << 17, CODED = 1 << 16 };

/* A text on its way: what is not decoded yet, and what is. */
typedef struct Decoding {
    Decoder decoder;
    bool ended;   /* nothing follows what is not decoded yet */
    size_t coded; /* bytes */
    size_t at, end;
    char from[CODED], to[DECODE_MOST(CODED)];
} Decoding;

struct Reader {
    const char *name;
    int fd;
    struct stat before;
    bool packed, ended; /* no more bytes in the file */
    z_stream stream;
    size_t offset;          /* in the file, of the byte after the buffer */
    size_t raw_at, raw_end; /* what is left in the buffer */
    char raw[RAW];
    Decoding *text; /* NULL: the bytes are wanted as they are */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

const char *reader_name(const char *path)
{
    return strcmp(path, READER_STANDARD_INPUT) == 0 ? "standard input" : path;
}

/* --- raw bytes --- */

static bool same_moment(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* A file being written changes its size or modification time. */
static bool check_unchanged(const Reader *r, Error *error)
{
    struct stat after;
    if (fstat(r->fd, &after) != 0 ||
        (S_ISREG(after.st_mode) && !same_moment(&r->before, &after)))
        return error_set(error, "%s: changed while it was being read; try again", r->name);
    return true;
}

/* Reads from the file, at least one byte unless it ends. */
static bool read_some(Reader *r, char *to, size_t room, size_t *got, Error *error)
{
    ssize_t count;
    do
        count = read(r->fd, to, smaller(room, LONGEST_STEP));
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return error_set(error, "%s: cannot read: %s", r->name, strerror(errno));
    *got = (size_t)count;
    r->offset += *got;
    r->ended = *got == 0;
    return !r->ended || check_unchanged(r, error);
}

/* Sees to `least` bytes in the buffer, or all that are left. */
static bool raw_fill(Reader *r, size_t least, Error *error)
{
    while (r->raw_end - r->raw_at < least && !r->ended) {
        memmove(r->raw, r->raw + r->raw_at, r->raw_end - r->raw_at);
        r->raw_end -= r->raw_at;
        r->raw_at = 0;
        size_t got = 0;
        if (!read_some(r, r->raw + r->raw_end, sizeof r->raw - r->raw_end, &got, error))
            return false;
        r->raw_end += got;
    }
    return true;
}

static bool next_plain(Reader *r, char *to, size_t room, size_t *got, Error *error)
{
    size_t buffered = smaller(room, r->raw_end - r->raw_at), more = 0;
    memcpy(to, r->raw + r->raw_at, buffered);
    r->raw_at += buffered;
    for (*got = buffered; *got < room && !r->ended; *got += more)
        if (!read_some(r, to + *got, room - *got, &more, error))
            return false;
    return true;
}

/* --- gzip --- */

static bool is_gzip(const Reader *r)
{
    return r->raw_end - r->raw_at >= 2 && memcmp(r->raw + r->raw_at, "\x1f\x8b", 2) == 0;
}

static size_t place(const Reader *r)
{
    return r->offset - (r->raw_end - r->raw_at);
}

/* After a member there is another one, or nothing. */
static bool end_member(Reader *r, Error *error)
{
    if (!raw_fill(r, 2, error))
        return false;
    if (r->raw_at < r->raw_end && !is_gzip(r))
        return error_set(error,
                         "%s: something that is not gzip follows the gzip data at "
                         "byte %zu; cut it off",
                         r->name, place(r));
    inflateReset(&r->stream);
    return true;
}

static bool next_unpacked(Reader *r, char *to, size_t room, size_t *got, Error *error)
{
    for (*got = 0; *got < room;) {
        if (!raw_fill(r, 1, error))
            return false;
        bool done = r->ended && r->raw_at == r->raw_end;
        if (done && r->stream.total_in == 0) /* between members */
            return true;
        size_t step = smaller(room - *got, LONGEST_STEP);
        r->stream.next_in = (Bytef *)r->raw + r->raw_at;
        r->stream.avail_in = (uInt)(r->raw_end - r->raw_at);
        r->stream.next_out = (Bytef *)to + *got;
        r->stream.avail_out = (uInt)step;
        int result = inflate(&r->stream, Z_NO_FLUSH);
        r->raw_at = r->raw_end - r->stream.avail_in;
        *got += step - r->stream.avail_out;
        if (result == Z_STREAM_END) {
            if (!end_member(r, error))
                return false;
        } else if (result == Z_BUF_ERROR || (result == Z_OK && done && r->stream.avail_out)) {
            return error_set(error, "%s: the gzip data breaks off at byte %zu; fetch it again",
                             r->name, place(r));
        } else if (result != Z_OK) {
            return error_set(error, "%s: the gzip data is damaged before byte %zu: %s", r->name,
                             place(r), r->stream.msg ? r->stream.msg : zError(result));
        }
    }
    return true;
}

/* --- text --- */

static bool next_bytes(Reader *r, char *to, size_t room, size_t *got, Error *error)
{
    return (r->packed ? next_unpacked : next_plain)(r, to, room, got, error);
}

/* Says once what is different from the file; a program may read it again. */
static void tell_changes(const Decoder *decoder)
{
    static char told[sizeof(Error)];
    char *changes = decoder_changes(decoder);
    if (changes && ranks_first() && strncmp(told, changes, sizeof told - 1) != 0) {
        print_warning("%s", changes);
        strncpy(told, changes, sizeof told - 1);
    }
    free(changes);
}

/* Decodes some more, at least one byte unless the text ends. */
static bool decode_some(Reader *r, Error *error)
{
    Decoding *text = r->text;
    for (text->at = text->end = 0; text->end == 0 && !(text->ended && text->coded == 0);) {
        size_t got, used, wanted = CODED - text->coded;
        if (!next_bytes(r, text->from + text->coded, wanted, &got, error))
            return false;
        text->coded += got;
        text->ended = got < wanted;
        if (!decoder_step(&text->decoder, text->from, text->coded, text->ended, text->to, &used,
                          &text->end, error))
            return false;
        text->coded -= used;
        memmove(text->from, text->from + used, text->coded);
        if (text->ended)
            tell_changes(&text->decoder);
    }
    return true;
}

static bool next_decoded(Reader *r, char *to, size_t room, size_t *got, Error *error)
{
    Decoding *text = r->text;
    for (*got = 0; *got < room;) {
        if (text->at == text->end && !decode_some(r, error))
            return false;
        size_t count = smaller(room - *got, text->end - text->at);
        if (count == 0)
            return true;
        memcpy(to + *got, text->to + text->at, count);
        text->at += count;
        *got += count;
    }
    return true;
}

/* --- the stream --- */

static bool begin(Reader *r, Error *error)
{
    enum { GZIP_ONLY = 16 };
    if (fstat(r->fd, &r->before) != 0)
        return error_set(error, "%s: %s", r->name, strerror(errno));
    if (S_ISDIR(r->before.st_mode))
        return error_set(error, "%s: is a directory; name a text file in it", r->name);
    if (!raw_fill(r, 2, error))
        return false;
    if (is_gzip(r) && inflateInit2(&r->stream, MAX_WBITS + GZIP_ONLY) != Z_OK)
        return error_set(error, "%s: zlib cannot start: out of memory", r->name);
    r->packed = is_gzip(r);
    return true;
}

Reader *reader_open(const char *path, bool raw, Error *error)
{
    bool standard = strcmp(path, READER_STANDARD_INPUT) == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        error_set(error, "%s: cannot open: %s", path, strerror(errno));
        return NULL;
    }
    Reader *reader = memory_new(1, sizeof *reader, "a reader");
    reader->name = reader_name(path);
    reader->fd = fd;
    if (!raw) {
        reader->text = memory_new(1, sizeof *reader->text, "a reader");
        reader->text->decoder.name = reader->name;
    }
    if (begin(reader, error))
        return reader;
    reader_close(reader);
    return NULL;
}

bool reader_next(Reader *reader, char *to, size_t room, size_t *got, Error *error)
{
    return (reader->text ? next_decoded : next_bytes)(reader, to, room, got, error);
}

double reader_share(const Reader *reader)
{
    const struct stat *file = &reader->before;
    return S_ISREG(file->st_mode) && file->st_size > 0
               ? (double)place(reader) / (double)file->st_size
               : -1;
}

void reader_close(Reader *reader)
{
    if (reader->packed)
        inflateEnd(&reader->stream);
    if (reader->fd != STDIN_FILENO)
        close(reader->fd);
    free(reader->text);
    free(reader);
}

/* --- whole inputs --- */

static bool too_large(const Reader *reader, size_t most_mb, const char *option, Error *error)
{
    if (!option)
        return error_set(error, "%s: more than %zu MB; give a shorter text", reader->name,
                         most_mb);
    return error_set(error, "%s: more than %zu MB; raise %s to read it all", reader->name,
                     most_mb, option);
}

/* One byte more than the limit is enough to notice that there is more. */
static bool read_whole(Reader *r, size_t most_mb, const char *option, char **bytes,
                       size_t *size, Error *error)
{
    size_t most = memory_product(most_mb, MEGABYTE, "the text"), got = 0;
    size_t capacity = FIRST_CAPACITY;
    if (!r->packed && S_ISREG(r->before.st_mode)) /* one allocation suffices but for UTF-16 */
        capacity = (size_t)r->before.st_size + 1;
    do {
        if (*size > 0)
            capacity *= 2;
        capacity = smaller(capacity, most + 1);
        *bytes = memory_resize(*bytes, capacity, 1, r->name);
        if (!reader_next(r, *bytes + *size, capacity - *size, &got, error))
            return false;
        *size += got;
        if (*size > most)
            return too_large(r, most_mb, option, error);
    } while (*size == capacity);
    *bytes = memory_resize(*bytes, *size + 1, 1, r->name);
    (*bytes)[*size] = '\0';
    return true;
}

bool reader_read(const char *path, bool raw, size_t most_mb, const char *option, char **bytes,
                 size_t *size, Error *error)
{
    *bytes = NULL;
    *size = 0;
    Reader *reader = reader_open(path, raw, error);
    bool good = reader && read_whole(reader, most_mb, option, bytes, size, error);
    if (!good) {
        free(*bytes);
        *bytes = NULL;
    }
    if (reader)
        reader_close(reader);
    return good;
}
