/* Encodes a text of any size, and can be continued after an interruption.
 *
 * The ids go to TARGET.part. From time to time this is synced, and TARGET.progress says how far
 * the text was encoded; whoever begins again cuts TARGET.part there. At the end it gets its
 * name. So a file with the target's name is complete. */
#include "data/tokens/encode.h"
#include "data/corpora/pieces.h"
#include "data/tokenizers/tokenizers.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/phase.h"
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* --- the file --- */

typedef struct TokenWriter {
    char *path, *partial, *progress;
    const Vocabulary *vocabulary;
    uint32_t vocabulary_crc;
    int fd;
    bool temporary; /* without notes of how far the text was encoded: removed in the end */
    void *narrow;   /* room for ids on their way out */
    size_t room;    /* in ids */
} TokenWriter;

#define NOTES                                                                              \
    "linnet tokens encode 1\nvocabulary %x\ntext-bytes %zu\ntext-crc %x\ntext-lines %zu\n" \
    "characters %zu\ntokens %zu\nunknown %zu\n"

static bool fail(const TokenWriter *w, const char *verb, Error *error)
{
    return error_set(error, "%s: cannot %s: %s", w->partial, verb, strerror(errno));
}

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
    bool valid = file_read(w->progress, MOST, &text, &length, &ignored) &&
                 sscanf(text, NOTES, &vocabulary, &facts->bytes, &crc, lines,
                        &facts->characters, &facts->count, &facts->unknown) == NUMBERS &&
                 facts->count <= (size_t)size && size_for(w, facts->count) <= size;
    free(text);
    if (!valid) {
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
static bool open_and_lock(TokenWriter *w, struct stat *status, Error *error)
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
    if (!open_and_lock(w, &status, error) ||
        !read_notes(w, status.st_size, facts, lines, error))
        return false;
    off_t size = size_for(w, facts->count);
    return (ftruncate(w->fd, size) == 0 && lseek(w->fd, size, SEEK_SET) == size) ||
           fail(w, "write", error);
}

/* Says in *facts and *lines how far an earlier writer came. */
static bool writer_open(TokenWriter *writer, const char *path, const Vocabulary *vocabulary,
                        TokenFacts *facts, size_t *lines, Error *error)
{
    *writer = (TokenWriter){.path = memory_copy_text(path),
                            .partial = text_format("%s.part", path),
                            .progress = text_format("%s.progress", path),
                            .vocabulary = vocabulary,
                            .vocabulary_crc = crc_of(vocabulary),
                            .fd = -1};
    return begin(writer, facts, lines, error);
}

static bool writer_append(TokenWriter *writer, const int32_t *ids, size_t count, Error *error)
{
    unsigned width = token_file_width(writer->vocabulary->count);
    if (count > writer->room) {
        writer->narrow = memory_resize(writer->narrow, count, width, "token ids");
        writer->room = count;
    }
    tokens_narrow(writer->narrow, width, ids, count);
    return file_write(writer->fd, writer->narrow, count * width) ||
           fail(writer, "write", error);
}

/* Makes sure of all that has been appended. */
static bool writer_save(TokenWriter *writer, const TokenFacts *facts, size_t lines,
                        Error *error)
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

/* Gives the file its name. */
static bool writer_finish(TokenWriter *writer, size_t count, Error *error)
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

/* Leaves an unfinished file if it can be continued. */
static void writer_close(TokenWriter *writer)
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

/* --- signals --- */

static volatile sig_atomic_t caught;

/* A second one ends the program at once. */
static void on_signal(int number)
{
    if (caught)
        _exit(128 + number);
    caught = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

/* --- the progress line --- */

typedef struct Progress {
    bool live;
    double begin, shown, saved; /* moments in seconds */
    size_t bytes_before;        /* of the text, when this session began */
} Progress;

static void show(Progress *progress, const TokenStream *stream)
{
    const double interval = 0.2, million = 1e6;
    double moment = clock_seconds(), seconds = moment - progress->begin;
    if (!progress->live || moment - progress->shown < interval)
        return;
    progress->shown = moment;
    double bytes = (double)(stream->facts.bytes - progress->bytes_before);
    double share = reader_share(stream->reader.input);
    char *line = text_format("%.1f MB of text  %.1f million tokens  %.1f MB/s",
                             (double)stream->facts.bytes / million,
                             (double)stream->facts.count / million, bytes / million / seconds);
    if (share > 0)
        text_append(&line, "  %.0f %%", 100 * share);
    fprintf(stderr, "\r%s\033[K", line);
    free(line);
}

/* --- encoding --- */

static bool resume(TokenStream *stream, const TokenWriter *writer, const TokenFacts *facts,
                   size_t lines, Error *error)
{
    bool same;
    if (facts->bytes == 0)
        return true;
    print_warning("%s: has the ids of %.1f MB; compares that much of the text, then continues",
                  writer->partial, (double)facts->bytes / 1e6);
    if (!token_stream_resume(stream, facts, lines, &same, error))
        return false;
    return same || error_set(error,
                             "%s: was begun with another text than %s is now; delete it to "
                             "start again",
                             writer->partial, stream->reader.name);
}

/* Without a signal, the whole rest of the text. */
static bool encode_rest(TokenStream *stream, TokenWriter *writer, Progress *progress,
                        Error *error)
{
    const double save_every = 10; /* seconds */
    size_t most = token_file_most(writer->vocabulary->count);
    bool stops = false;
    for (bool more = true; more && !stops;) {
        if (!token_stream_next(stream, &more, error))
            return false;
        if (stream->facts.count > most)
            return error_set(error,
                             "%s: more than %zu tokens, and llm.c's form for ids of 4 bytes "
                             "cannot count them; encode the text in parts",
                             stream->reader.name, most);
        if (!writer_append(writer, stream->ids, arrlenu(stream->ids), error))
            return false;
        show(progress, stream);
        stops = caught; /* read once: what ends the loop is saved first */
        if ((stops && more) || clock_seconds() - progress->saved > save_every) {
            if (!writer_save(writer, &stream->facts, stream->lines, error))
                return false;
            progress->saved = clock_seconds();
        }
    }
    return true;
}

static bool finish(const TokenStream *stream, TokenWriter *writer, const char *folder,
                   Error *error)
{
    if (stream->facts.count == 0)
        return error_set(error, "%s: the text is empty", stream->reader.name);
    return vocabulary_store(writer->vocabulary, folder, error) &&
           writer_finish(writer, stream->facts.count, error);
}

/* A signal may have ended the program at the other end of a pipe, too: then the end is not that
 * of the text. */
static bool is_complete(const TokenStream *stream)
{
    bool file = reader_share(stream->reader.input) >= 0;
    return token_stream_at_end(stream) && (file || !caught);
}

bool tokens_encode(const char *text, const char *path, const Vocabulary *vocabulary,
                   TokenFacts *facts, int *signal, Error *error)
{
    TokenStream stream = {0};
    TokenWriter writer = {.fd = -1};
    size_t lines;
    char *folder = file_folder_of(path);
    /* A tokenizer that is there already must be this one. */
    bool good = (!vocabulary_is_in(folder) || vocabulary_store(vocabulary, folder, error)) &&
                token_stream_open(&stream, text, vocabulary, error) &&
                file_make_parents(path, error) &&
                writer_open(&writer, path, vocabulary, facts, &lines, error);
    if (good) {
        catch_signals();
        Progress progress = {
            .live = isatty(STDERR_FILENO), .begin = clock_seconds(), .saved = clock_seconds()};
        progress.bytes_before = facts->bytes;
        good = resume(&stream, &writer, facts, lines, error) &&
               encode_rest(&stream, &writer, &progress, error);
        if (progress.live)
            fputs("\r\033[K", stderr);
        *signal = caught;
        if (good && is_complete(&stream)) {
            *signal = 0;
            good = finish(&stream, &writer, folder, error);
        }
        *facts = stream.facts;
    }
    writer_close(&writer);
    token_stream_close(&stream);
    free(folder);
    return good;
}
