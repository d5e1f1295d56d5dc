#include "eval/runlog.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* One table says what stands in a row: it writes the header, writes rows and reads them. */
typedef struct Column {
    const char *name;
    size_t offset; /* of its field in a row */
    bool whole;    /* a size_t; the others are doubles */
} Column;

static const Column columns[] = {
    {"step", offsetof(RunLogRow, step), true},
    {"epoch", offsetof(RunLogRow, epoch), false},
    {"tokens", offsetof(RunLogRow, tokens), true},
    {"seconds", offsetof(RunLogRow, seconds), false},
    {"lr", offsetof(RunLogRow, lr), false},
    {"train_loss", offsetof(RunLogRow, train_loss), false},
    {"val_loss", offsetof(RunLogRow, val_loss), false},
    {"grad_norm", offsetof(RunLogRow, grad_norm), false},
    {"tokens_per_second", offsetof(RunLogRow, tokens_per_second), false},
};

enum {
    COLUMN_COUNT = sizeof columns / sizeof columns[0],
    LONGEST_LINE = 512 /* twice what nine of the longest numbers need */
};
#define MOST_BYTES ((size_t)256 << 20)

static char *header_line(void)
{
    char *text = NULL;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        text_append(&text, "%s%s", i ? "," : "", columns[i].name);
    text_append(&text, "\n");
    return text;
}

/* --- reading --- */

/* Takes more than text_to_double does: our own "nan" and "inf", and numbers so small that
 * strtod reports an underflow, since whatever printf wrote has to be read again. */
static bool read_double(const char *text, double *value)
{
    const char *digits = text + (text[0] == '-');
    if (strcmp(digits, "nan") == 0 || !*text)
        *value = NAN;
    else if (strcmp(digits, "inf") == 0)
        *value = *text == '-' ? -INFINITY : INFINITY;
    else {
        char *end;
        *value = strtod(text, &end);
        return end != text && !*end && isfinite(*value) &&
               text[strspn(text, "0123456789+-.e")] == '\0';
    }
    return true;
}

static bool read_cell(const Column *column, const char *text, RunLogRow *row)
{
    void *field = (char *)row + column->offset;
    if (column->whole)
        return text_to_size(text, field);
    if (column->offset == offsetof(RunLogRow, val_loss))
        row->has_val_loss = *text != '\0';
    return read_double(text, field);
}

/* Reads one row from a line without its end, cutting the line at its commas. */
static bool read_row(char *line, RunLogRow *row, const char *where, Error *error)
{
    *row = (RunLogRow){0};
    char *cell = line;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (!cell)
            return error_set(error, "%s: %zu values where a row of a run's log has %d", where,
                             i, COLUMN_COUNT);
        char *comma = strchr(cell, ',');
        if (comma)
            *comma = '\0';
        if (!read_cell(&columns[i], cell, row))
            return error_set(error, "%s: %s: '%.40s' is not a %s", where, columns[i].name, cell,
                             columns[i].whole ? "whole number" : "number");
        cell = comma ? comma + 1 : NULL;
    }
    if (cell)
        return error_set(error, "%s: more than the %d values of a row of a run's log", where,
                         COLUMN_COUNT);
    return true;
}

static bool read_line(const char *line, size_t length, const char *where, RunLogRow **rows,
                      Error *error)
{
    char copy[LONGEST_LINE];
    if (length >= sizeof copy || memchr(line, '\0', length))
        return error_set(error, "%s: not a row of a run's log", where);
    memcpy(copy, line, length);
    copy[length] = '\0';
    RunLogRow row;
    if (!read_row(copy, &row, where, error))
        return false;
    if (arrlenu(*rows) > 0 && row.step < arrlast(*rows).step)
        return error_set(error, "%s: step %zu comes after step %zu; rows are out of order",
                         where, row.step, arrlast(*rows).step);
    arrput(*rows, row);
    return true;
}

/* A log that was torn while its header was written has nothing in it yet. */
static bool read_header(const char *path, const char *bytes, size_t size, size_t *length,
                        Error *error)
{
    char *header = header_line();
    *length = strlen(header);
    if (size < *length)
        *length = size;
    bool good = memcmp(bytes, header, *length) == 0;
    if (!good)
        error_set(error, "%s:1: not the log of a run, which begins with %.*s", path,
                  (int)strlen(header) - 1, header);
    free(header);
    return good;
}

/* Reads all whole lines; *whole gets the bytes that they take. */
static bool read_rows(const char *path, const char *bytes, size_t size, RunLogRow **rows,
                      size_t *whole, Error *error)
{
    size_t length;
    *rows = NULL;
    *whole = 0;
    bool good = read_header(path, bytes, size, &length, error);
    const char *line = bytes + (good ? length : 0), *end = bytes + size;
    for (size_t number = 2; good && line < end; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            break;
        char *where = text_format("%s:%zu", path, number);
        good = read_line(line, (size_t)(stop - line), where, rows, error);
        free(where);
        line = stop + 1;
    }
    if (good && length > 0 && bytes[length - 1] == '\n')
        *whole = (size_t)(line - bytes);
    if (!good)
        arrfree(*rows);
    return good;
}

bool runlog_read(const char *path, RunLogRow **rows, Error *error)
{
    char *bytes;
    size_t size, whole;
    *rows = NULL;
    if (!file_read(path, MOST_BYTES, &bytes, &size, error))
        return false;
    bool good = read_rows(path, bytes, size, rows, &whole, error);
    free(bytes);
    return good;
}

/* --- writing --- */

static bool open_log(RunLog *log, const char *path, int flags, Error *error)
{
    *log = (RunLog){.fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666)};
    if (log->fd < 0 && errno == EEXIST)
        return error_set(error,
                         "%s: there is a log already; resume that run or choose another "
                         "folder",
                         path);
    if (log->fd < 0)
        return error_set(error, "%s: cannot open for writing: %s", path, strerror(errno));
    log->path = memory_copy_text(path);
    return true;
}

static bool write_line(RunLog *log, const char *line, Error *error)
{
    size_t length = strlen(line);
    ssize_t done;
    do
        done = write(log->fd, line, length);
    while (done < 0 && errno == EINTR);
    if (done == (ssize_t)length) {
        log->size += length;
        return true;
    }
    error_set(error, "%s: cannot write: %s", log->path,
              done < 0 ? strerror(errno) : "the disk took only a part of the row");
    /* The next row must not be glued to half of this one. */
    if (done > 0 && ftruncate(log->fd, (off_t)log->size) != 0)
        error_set(error, "%s: cannot write, and the last line is torn: %s", log->path,
                  strerror(errno));
    return false;
}

bool runlog_create(RunLog *log, const char *path, Error *error)
{
    if (!open_log(log, path, O_CREAT | O_EXCL, error))
        return false;
    char *header = header_line();
    bool good = write_line(log, header, error);
    free(header);
    if (!good) {
        Error second;
        runlog_close(log, &second);
    }
    return good;
}

static int print_cell(char *out, size_t room, const Column *column, const RunLogRow *row)
{
    const void *field = (const char *)row + column->offset;
    if (column->whole)
        return snprintf(out, room, "%zu", *(const size_t *)field);
    if (column->offset == offsetof(RunLogRow, val_loss) && !row->has_val_loss)
        return 0;
    double value = *(const double *)field;
    return isnan(value) ? snprintf(out, room, "nan") : snprintf(out, room, "%.9g", value);
}

bool runlog_append(RunLog *log, const RunLogRow *row, Error *error)
{
    char line[LONGEST_LINE];
    size_t used = 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        used += (size_t)print_cell(line + used, sizeof line - used, &columns[i], row);
        line[used++] = i + 1 < COLUMN_COUNT ? ',' : '\n';
    }
    line[used] = '\0';
    return write_line(log, line, error);
}

bool runlog_close(RunLog *log, Error *error)
{
    bool good = log->fd < 0 || close(log->fd) == 0;
    if (!good)
        error_set(error, "%s: cannot close: %s", log->path, strerror(errno));
    free(log->path);
    *log = (RunLog){.fd = -1};
    return good;
}

/* --- going on --- */

/* Puts rows that are about to be trained again at the end of PATH.bak. */
static bool keep_aside(const char *path, const char *rows, size_t size, Error *error)
{
    char *backup = text_format("%s.bak", path);
    char *before = NULL, *header = header_line();
    size_t before_size = 0;
    FileReplacement file;
    bool good = !file_exists(backup) ||
                file_read(backup, MOST_BYTES, &before, &before_size, error);
    if (good && !before) {
        before_size = strlen(header);
        before = memory_copy_text(header);
    }
    good = good && file_replace_begin(&file, backup, error) &&
           file_replace_write(&file, before, before_size, error) &&
           file_replace_write(&file, rows, size, error) && file_replace_commit(&file, error);
    free(before);
    free(header);
    free(backup);
    return good;
}

/* The bytes that the header and the rows up to the given step take. */
static size_t bytes_up_to(const char *bytes, const RunLogRow *rows, size_t step)
{
    const char *next = strchr(bytes, '\n') + 1;
    for (size_t i = 0; i < arrlenu(rows) && rows[i].step <= step; i++)
        next = strchr(next, '\n') + 1;
    return (size_t)(next - bytes);
}

static bool cut_back(const char *path, const char *bytes, size_t size, size_t step,
                     size_t *kept, Error *error)
{
    RunLogRow *rows;
    size_t whole;
    if (!read_rows(path, bytes, size, &rows, &whole, error))
        return false;
    *kept = whole ? bytes_up_to(bytes, rows, step) : 0;
    arrfree(rows);
    if (*kept < whole && !keep_aside(path, bytes + *kept, whole - *kept, error))
        return false;
    if (*kept > 0 && *kept == size)
        return true;
    char *header = header_line();
    FileReplacement file;
    bool good = file_replace_begin(&file, path, error) &&
                file_replace_write(&file, *kept ? bytes : header,
                                   *kept ? *kept : strlen(header), error) &&
                file_replace_commit(&file, error);
    if (!*kept)
        *kept = strlen(header);
    free(header);
    return good;
}

bool runlog_reopen(RunLog *log, const char *path, size_t step, Error *error)
{
    char *bytes;
    size_t size, kept;
    *log = (RunLog){.fd = -1};
    if (!file_read(path, MOST_BYTES, &bytes, &size, error))
        return false;
    bool good = cut_back(path, bytes, size, step, &kept, error) &&
                open_log(log, path, 0, error);
    if (good)
        log->size = kept;
    free(bytes);
    return good;
}
