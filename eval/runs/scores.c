#include "eval/runs/scores.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define COLUMNS_OF_PLAIN \
    "split,window,stride,carried_streams,text_crc,tokens,nats,loss,perplexity,step"

double score_row_loss(const RunScore *score)
{
    return score->nats / (double)score->tokens;
}

double score_row_bits(const RunScore *score)
{
    return score->bytes > 0 ? score->nats / (log(2) * (double)score->bytes) : NAN;
}

bool score_same_protocol(const RunScore *a, const RunScore *b, ScoreUnit unit)
{
    bool same_text = unit == SCORE_PER_TOKEN
                         ? a->text_crc == b->text_crc
                         : a->bytes > 0 && a->bytes == b->bytes && a->bytes_crc == b->bytes_crc;
    return same_text && strcmp(a->split, b->split) == 0 && a->window == b->window &&
           a->stride == b->stride && a->carried_streams == b->carried_streams &&
           strcmp(a->method, b->method) == 0;
}

bool score_is_plain(const RunScore *score)
{
    return strcmp(score->method, SCORE_PLAIN) == 0;
}

char *score_protocol_text(const RunScore *score, ScoreUnit unit)
{
    if (score->window == 0)
        return memory_copy_text("Test perplexity: as the table of runs has it.");
    char *text = unit == SCORE_PER_TOKEN
                     ? text_format("Test perplexity: %zu tokens", score->tokens)
                     : text_format("Test bits per byte: %zu bytes", score->bytes);
    text_append(&text, ", window %zu, stride %zu%s", score->window, score->stride,
                unit == SCORE_PER_TOKEN ? "" : " in tokens of each run");
    if (score->carried_streams > 0)
        text_append(&text, ", state carried through %zu stream%s", score->carried_streams,
                    text_plural(score->carried_streams));
    text_append(&text, ".");
    return text;
}

/* --- reading --- */

/* The columns of a row. */
enum {
    SPLIT,
    WINDOW,
    STRIDE,
    STREAMS,
    CRC,
    TOKENS,
    NATS,
    LOSS,
    PERPLEXITY,
    STEP,
    METHOD,
    FOUND,
    BYTES,
    BYTES_CRC,
    ACCURACY,
    CELLS
};

/* A header, and how many columns it has. Files of earlier versions have fewer. */
static const struct {
    const char *text;
    size_t columns;
} headers[] = {{COLUMNS_OF_PLAIN ",method,found,bytes,bytes_crc,accuracy", CELLS},
               {COLUMNS_OF_PLAIN ",method,found,bytes,bytes_crc", ACCURACY},
               {COLUMNS_OF_PLAIN ",method,found", BYTES},
               {COLUMNS_OF_PLAIN, METHOD}};
enum { HEADERS = sizeof headers / sizeof *headers };

static bool is_split(const char *text)
{
    return text_is_among(text, (const char *const[]){"train", "valid", "test", NULL});
}

static bool read_words(char words[SCORE_METHOD], const char *cell)
{
    for (const char *c = cell; *c; c++)
        if (*c < ' ' || *c > '~')
            return false;
    if (strlen(cell) >= SCORE_METHOD)
        return false;
    memcpy(words, cell, strlen(cell) + 1);
    return true;
}

/* Cuts a line at its commas; returns whether it has the given number of cells. */
static bool cut_line(char *line, char *cells[CELLS], size_t wanted)
{
    size_t count = 0;
    for (char *cell; (cell = strsep(&line, ",")); count++) {
        if (count == wanted)
            return false;
        cells[count] = cell;
    }
    return count == wanted;
}

/* Loss and perplexity are for people; only the nats are read. */
static bool read_row(char *line, size_t columns, RunScore *score)
{
    char *cells[CELLS] = {[METHOD] = SCORE_PLAIN,
                          [FOUND] = "",
                          [BYTES] = "0",
                          [BYTES_CRC] = "0",
                          [ACCURACY] = ""};
    if (!cut_line(line, cells, columns) || !is_split(cells[SPLIT]))
        return false;
    *score = (RunScore){.accuracy = NAN};
    strcpy(score->split, cells[SPLIT]);
    return text_to_size(cells[WINDOW], &score->window) &&
           text_to_size(cells[STRIDE], &score->stride) &&
           text_to_size(cells[STREAMS], &score->carried_streams) &&
           text_to_size(cells[CRC], &score->text_crc) &&
           text_to_size(cells[TOKENS], &score->tokens) && score->tokens > 0 &&
           text_to_double(cells[NATS], &score->nats) &&
           (!*cells[ACCURACY] || text_to_double(cells[ACCURACY], &score->accuracy)) &&
           text_to_size(cells[STEP], &score->step) &&
           text_to_size(cells[BYTES], &score->bytes) &&
           text_to_size(cells[BYTES_CRC], &score->bytes_crc) &&
           read_words(score->method, cells[METHOD]) && read_words(score->found, cells[FOUND]);
}

static bool read_lines(const char *path, char *rest, RunScore **scores, Error *error)
{
    const char *first = strsep(&rest, "\n");
    size_t version = 0;
    while (version < HEADERS && strcmp(first, headers[version].text) != 0)
        version++;
    if (version == HEADERS)
        return error_set(error, "%s:1: not the scores of a run, which begin with %s", path,
                         COLUMNS_OF_PLAIN);
    size_t number = 2;
    for (char *line; (line = strsep(&rest, "\n")); number++) {
        RunScore score;
        if (!*line && !rest)
            break;
        if (!read_row(line, headers[version].columns, &score))
            return error_set(error,
                             "%s:%zu: not a score that eval noted; remove this file, or the "
                             "line, and run eval again",
                             path, number);
        arrput(*scores, score);
    }
    return true;
}

bool scores_read(const char *path, RunScore **scores, Error *error)
{
    const size_t most = (size_t)1 << 20;
    char *bytes;
    size_t size;
    *scores = NULL;
    if (!file_read(path, most, &bytes, &size, error))
        return false;
    bool good = memchr(bytes, '\0', size)
                    ? error_set(error, "%s: holds zero bytes, so it is no table", path)
                    : read_lines(path, bytes, scores, error);
    if (!good)
        arrfree(*scores);
    free(bytes);
    return good;
}

/* --- writing --- */

static void append_row(char **text, const RunScore *score)
{
    double loss = score_row_loss(score);
    text_append(text, "%s,%zu,%zu,%zu,%zu,%zu,%.17g,%.9g,%.9g,%zu,%s,%s,%zu,%zu,", score->split,
                score->window, score->stride, score->carried_streams, score->text_crc,
                score->tokens, score->nats, loss, exp(loss), score->step, score->method,
                score->found, score->bytes, score->bytes_crc);
    if (!isnan(score->accuracy))
        text_append(text, "%.9g", score->accuracy);
    text_append(text, "\n");
}

/* Two programs may score the same run: until the result is closed, others wait. Where locks do
 * not work, they do not. */
static int lock_folder_of(const char *path)
{
    char *folder = file_folder_of(path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fd;
}

/* Whether a new score takes the place of an older one: of the same protocol, or of another
 * text, which an earlier version took for the run's own. */
static bool replaces(const RunScore *score, const RunScore *older)
{
    return score_same_protocol(older, score, SCORE_PER_TOKEN) ||
           (strcmp(older->split, score->split) == 0 && older->text_crc != score->text_crc);
}

static bool add_row(const char *path, const RunScore *score, Error *error)
{
    RunScore *scores = NULL;
    if (file_exists(path) && !scores_read(path, &scores, error))
        return false;
    char *text = text_format("%s\n", headers[0].text);
    for (size_t i = 0; i < arrlenu(scores); i++)
        if (!replaces(score, &scores[i]))
            append_row(&text, &scores[i]);
    append_row(&text, score);
    bool good = file_replace_text(path, text, error);
    free(text);
    arrfree(scores);
    return good;
}

bool scores_note(const char *path, const RunScore *score, Error *error)
{
    int lock = lock_folder_of(path);
    bool good = add_row(path, score, error);
    if (lock >= 0)
        close(lock);
    return good;
}
