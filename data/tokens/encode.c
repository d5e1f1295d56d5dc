#include "data/tokens/encode.h"
#include "data/tokens/stream.h"
#include "data/tokens/writer.h"
#include "data/tokenizers/vocabulary_files.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/phase.h"
#include "src/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

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

static void clear(const Progress *progress)
{
    if (progress->live)
        fputs("\r\033[K", stderr);
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
        if (!token_writer_append(writer, stream->ids, arrlenu(stream->ids), error))
            return false;
        show(progress, stream);
        stops = caught; /* read once: what ends the loop is saved first */
        if ((stops && more) || clock_seconds() - progress->saved > save_every) {
            if (!token_writer_save(writer, &stream->facts, stream->lines, error))
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
           token_writer_finish(writer, stream->facts.count, error);
}

static bool open_both(TokenStream *stream, TokenWriter *writer, const char *text,
                      const char *path, const Vocabulary *vocabulary, TokenFacts *facts,
                      size_t *lines, Error *error)
{
    if (!token_stream_open(stream, text, vocabulary, error))
        return false;
    if (file_make_parents(path, error) &&
        token_writer_open(writer, path, vocabulary, facts, lines, error))
        return true;
    token_stream_close(stream);
    return false;
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
    TokenStream stream;
    TokenWriter writer;
    size_t lines;
    char *folder = file_folder_of(path);
    /* A tokenizer that is there already must be this one. */
    bool good = (!vocabulary_is_in(folder) || vocabulary_store(vocabulary, folder, error)) &&
                open_both(&stream, &writer, text, path, vocabulary, facts, &lines, error);
    if (good) {
        catch_signals();
        Progress progress = {
            .live = isatty(STDERR_FILENO), .begin = clock_seconds(), .saved = clock_seconds()};
        progress.bytes_before = facts->bytes;
        good = resume(&stream, &writer, facts, lines, error) &&
               encode_rest(&stream, &writer, &progress, error);
        clear(&progress);
        *signal = caught;
        if (good && is_complete(&stream)) {
            *signal = 0;
            good = finish(&stream, &writer, folder, error);
        }
        *facts = stream.facts;
        token_writer_close(&writer);
        token_stream_close(&stream);
    }
    free(folder);
    return good;
}
