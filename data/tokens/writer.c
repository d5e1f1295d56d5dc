#include "data/tokens/writer.h"
#include "data/tokenizers/vocabulary_files.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define NOTES                                                                              \
    "linnet tokens encode 1\nvocabulary %x\ntext-bytes %zu\ntext-crc %x\ntext-lines %zu\n" \
    "characters %zu\ntokens %zu\nunknown %zu\n"

static bool fail(const TokenWriter *w, const char *verb, Error *error)
{
    return error_set(error, "%s: cannot %s: %s", w->partial, verb, strerror(errno));
}

/* --- beginning --- */

static uint32_t crc_of(const Vocabulary *vocabulary)
{
    return (uint32_t)crc32_z(vocabulary_crc(vocabulary), (const Bytef *)&vocabulary->lowercase,
                             sizeof vocabulary->lowercase);
}

static off_t size_for(const TokenWriter *w, size_t count)
{
    int32_t ignored[TOKEN_HEADER];
    size_t vocabulary = w->vocabulary->count;
    return (off_t)(token_file_header(ignored, vocabulary, 0) +
                   count * token_file_width(vocabulary));
}

/* What an earlier writer noted; nothing if it did not come that far. */
static bool read_notes(TokenWriter *w, off_t size, TokenFacts *facts, size_t *lines,
                       Error *error)
{
    enum { MOST = 4096, NUMBERS = 7 };
    unsigned vocabulary, crc;
    char *text = NULL;
    size_t length;
    Error ignored;
    *facts = (TokenFacts){0};
    *lines = 0;
    bool there = file_read(w->progress, MOST, &text, &length, &ignored) &&
                 sscanf(text, NOTES, &vocabulary, &facts->bytes, &crc, lines,
                        &facts->characters, &facts->count, &facts->unknown) == NUMBERS &&
                 facts->count <= (size_t)size && size_for(w, facts->count) <= size;
    free(text);
    if (!there) {
        unlink(w->progress); /* it may be of another text, whose ids are gone */
        *facts = (TokenFacts){0};
        *lines = 0;
        return true;
    }
    facts->crc = crc;
    w->temporary = false;
    return vocabulary == w->vocabulary_crc ||
           error_set(error,
                     "%s: was begun with another tokenizer; delete it to start again, or give "
                     "that one",
                     w->partial);
}

/* Opens the file and locks it; two programs must not write it. */
static bool take(TokenWriter *w, struct stat *status, Error *error)
{
    struct stat named;
    w->fd = open(w->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (w->fd < 0)
        return fail(w, "create", error);
    if (flock(w->fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? error_set(error, "%s: another program is writing it", w->partial)
                   : fail(w, "lock", error);
    if (fstat(w->fd, status) != 0 || !S_ISREG(status->st_mode))
        return error_set(error, "%s: not a regular file", w->partial);
    if (stat(w->partial, &named) != 0 || named.st_ino != status->st_ino)
        return error_set(error, "%s: another program has just finished it", w->path);
    w->temporary = true;
    return true;
}

static bool begin(TokenWriter *w, TokenFacts *facts, size_t *lines, Error *error)
{
    struct stat status = {0};
    if (!take(w, &status, error) || !read_notes(w, status.st_size, facts, lines, error))
        return false;
    off_t size = size_for(w, facts->count);
    return (ftruncate(w->fd, size) == 0 && lseek(w->fd, size, SEEK_SET) == size) ||
           fail(w, "write", error);
}

bool token_writer_open(TokenWriter *writer, const char *path, const Vocabulary *vocabulary,
                       TokenFacts *facts, size_t *lines, Error *error)
{
    *writer = (TokenWriter){.path = memory_copy_text(path),
                            .partial = text_format("%s.part", path),
                            .progress = text_format("%s.progress", path),
                            .vocabulary = vocabulary,
                            .vocabulary_crc = crc_of(vocabulary),
                            .fd = -1};
    if (begin(writer, facts, lines, error))
        return true;
    token_writer_close(writer);
    return false;
}

/* --- writing --- */

static bool write_all(TokenWriter *w, const char *bytes, size_t size, Error *error)
{
    while (size > 0) {
        ssize_t done = write(w->fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail(w, "write", error);
        bytes += done;
        size -= (size_t)done;
    }
    return true;
}

bool token_writer_append(TokenWriter *writer, const int32_t *ids, size_t count, Error *error)
{
    unsigned width = token_file_width(writer->vocabulary->count);
    if (count > writer->room) {
        writer->narrow = memory_resize(writer->narrow, count, width, "token ids");
        writer->room = count;
    }
    tokens_narrow(writer->narrow, width, ids, count);
    return write_all(writer, writer->narrow, count * width, error);
}

bool token_writer_save(TokenWriter *writer, const TokenFacts *facts, size_t lines, Error *error)
{
    if (fsync(writer->fd) != 0)
        return fail(writer, "sync", error);
    char *notes = text_format(NOTES, writer->vocabulary_crc, facts->bytes, facts->crc, lines,
                              facts->characters, facts->count, facts->unknown);
    bool good = file_replace_text(writer->progress, notes, error);
    free(notes);
    if (good)
        writer->temporary = false;
    return good;
}

bool token_writer_finish(TokenWriter *writer, size_t count, Error *error)
{
    int32_t header[TOKEN_HEADER];
    size_t size = token_file_header(header, writer->vocabulary->count, count);
    if (pwrite(writer->fd, header, size, 0) != (ssize_t)size)
        return fail(writer, "write", error);
    if (fsync(writer->fd) != 0)
        return fail(writer, "sync", error);
    if (!file_rename(writer->partial, writer->path, error))
        return false;
    unlink(writer->progress);
    writer->temporary = false;
    return true;
}

void token_writer_close(TokenWriter *writer)
{
    if (writer->temporary)
        unlink(writer->partial);
    if (writer->fd >= 0)
        close(writer->fd);
    free(writer->path);
    free(writer->partial);
    free(writer->progress);
    free(writer->narrow);
    *writer = (TokenWriter){.fd = -1};
}
