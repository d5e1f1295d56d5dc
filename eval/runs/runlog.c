#include "eval/runs/runlog.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)256 << 20)

/* The columns of a row: the table for writing the header, and writing and reading rows. */
typedef struct Column {
    const char *name;
    size_t offset; /* of its field in RunLogRow */
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
    {"peak_mb", offsetof(RunLogRow, peak_mb), false},
    {"val_bits_per_byte", offsetof(RunLogRow, val_bits_per_byte), false},
    {"val_tokens", offsetof(RunLogRow, val_tokens), true},
    {"final_val_loss", offsetof(RunLogRow, final_val_loss), false},
    {"val_accuracy", offsetof(RunLogRow, val_accuracy), false},
    {"match_loss", offsetof(RunLogRow, match_loss), false},
};
/* Columns of a new log, and of one without peak_mb and what follows it. */
enum { COLUMNS = sizeof columns / sizeof *columns, COLUMNS_BEFORE = 9 };

/* --- rows as lines --- */

char *runlog_header(size_t count)
{
    char *text = NULL;
    for (size_t i = 0; i < count; i++)
        text_append(&text, "%s%s", i ? "," : "", columns[i].name);
    text_append(&text, "\n");
    return text;
}

/* Whether a cell is empty because nothing was measured, such as before the first step; a
 * measured NaN is "nan". */
static bool is_blank(const Column *column, const RunLogRow *row)
{
    switch (column->offset) {
    case offsetof(RunLogRow, val_loss):
    case offsetof(RunLogRow, val_bits_per_byte):
        return !row->has_val_loss;
    case offsetof(RunLogRow, train_loss):
        return row->matches || row->step == 0;
    case offsetof(RunLogRow, grad_norm):
    case offsetof(RunLogRow, tokens_per_second):
        return row->step == 0;
    case offsetof(RunLogRow, match_loss):
        return !row->matches;
    case offsetof(RunLogRow, val_tokens):
        return row->val_tokens == 0;
    case offsetof(RunLogRow, peak_mb):
        return isnan(row->peak_mb);
    case offsetof(RunLogRow, val_accuracy):
        return isnan(row->val_accuracy);
    case offsetof(RunLogRow, final_val_loss):
        return !(row->final_val_loss > 0);
    default:
        return false;
    }
}

static int print_cell(char *out, size_t room, const Column *column, const RunLogRow *row)
{
    const void *field = (const char *)row + column->offset;
    if (is_blank(column, row))
        return 0;
    if (column->whole)
        return snprintf(out, room, "%zu", *(const size_t *)field);
    double value = *(const double *)field;
    return isnan(value) ? snprintf(out, room, "nan") : snprintf(out, room, "%.9g", value);
}

void runlog_line(const RunLogRow *row, size_t count, char line[RUNLOG_LINE])
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        used += (size_t)print_cell(line + used, RUNLOG_LINE - used, &columns[i], row);
        line[used++] = i + 1 < count ? ',' : '\n';
    }
    line[used] = '\0';
}

/* --- lines as rows --- */

/* Accepts more than text_to_double: "nan", "inf", and numbers for which strtod reports
 * underflow, since everything that printf wrote must be readable. */
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
    if (column->offset == offsetof(RunLogRow, val_tokens) && !*text)
        return true;
    if (column->whole)
        return text_to_size(text, field);
    if (column->offset == offsetof(RunLogRow, val_loss))
        row->has_val_loss = *text != '\0';
    if (column->offset == offsetof(RunLogRow, match_loss) && *text) {
        row->matches = true;
        row->train_loss = NAN;
    }
    return read_double(text, field);
}

/* Parses one row from a line without its line end, cutting it at its commas. */
static bool read_row(char *line, size_t count, RunLogRow *row, const char *where, Error *error)
{
    *row = (RunLogRow){.peak_mb = NAN,
                       .val_bits_per_byte = NAN,
                       .final_val_loss = NAN,
                       .val_accuracy = NAN,
                       .match_loss = NAN};
    for (size_t i = 0; i < count; i++) {
        const char *cell = strsep(&line, ",");
        if (!cell)
            return error_set(error, "%s: %zu values where a row of this run's log has %zu",
                             where, i, count);
        if (!read_cell(&columns[i], cell, row))
            return error_set(error, "%s: %s: '%.40s' is not a %s", where, columns[i].name, cell,
                             columns[i].whole ? "whole number" : "number");
    }
    if (line)
        return error_set(error, "%s: more than the %zu values of a row of this run's log",
                         where, count);
    if (row->step == 0) /* whatever somebody wrote there, nothing was trained yet */
        row->train_loss = row->grad_norm = row->tokens_per_second = NAN;
    return true;
}

static bool read_line(const char *line, size_t length, const char *where, RunLogText *text,
                      Error *error)
{
    char copy[RUNLOG_LINE];
    if (length >= sizeof copy || memchr(line, '\0', length))
        return error_set(error, "%s: not a row of a run's log", where);
    memcpy(copy, line, length);
    copy[length] = '\0';
    RunLogRow row;
    if (!read_row(copy, text->columns, &row, where, error))
        return false;
    if (arrlenu(text->rows) > 0 && row.step < arrlast(text->rows).step)
        return error_set(error, "%s: step %zu comes after step %zu; rows are out of order",
                         where, row.step, arrlast(text->rows).step);
    arrput(text->rows, row);
    return true;
}

/* Whether the bytes begin with the header of this many columns, or are a torn part of it. */
static bool begins_with_header(const char *bytes, size_t size, size_t count, size_t *length)
{
    char *header = runlog_header(count);
    *length = strlen(header);
    if (size < *length)
        *length = size;
    bool good = memcmp(bytes, header, *length) == 0;
    free(header);
    return good;
}

/* A log with a torn header has no rows. */
static bool read_header(const char *path, const char *bytes, size_t size, size_t *length,
                        size_t *count, Error *error)
{
    for (*count = COLUMNS; *count >= COLUMNS_BEFORE; --*count)
        if (begins_with_header(bytes, size, *count, length))
            return true;
    char *header = runlog_header(COLUMNS);
    error_set(error, "%s:1: not the log of a run, which begins with %.*s", path,
              (int)strlen(header) - 1, header);
    free(header);
    return false;
}

bool runlog_parse(const char *path, const char *bytes, size_t size, RunLogText *text,
                  Error *error)
{
    size_t length;
    *text = (RunLogText){0};
    while (size > 0 && bytes[size - 1] == '\0')
        size--; /* zero bytes of rows lost in a power failure */
    if (!read_header(path, bytes, size, &length, &text->columns, error))
        return false;
    const char *line = bytes + length, *end = bytes + size;
    bool good = true;
    for (size_t number = 2; good && line < end; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            break;
        char *where = text_format("%s:%zu", path, number);
        good = read_line(line, (size_t)(stop - line), where, text, error);
        free(where);
        line = stop + 1;
    }
    if (good && length > 0 && bytes[length - 1] == '\n')
        text->whole = (size_t)(line - bytes);
    if (!good)
        arrfree(text->rows);
    return good;
}

bool runlog_read(const char *path, RunLogRow **rows, Error *error)
{
    char *bytes;
    size_t size;
    *rows = NULL;
    if (!file_read(path, MOST_BYTES, &bytes, &size, error))
        return false;
    RunLogText text;
    bool good = runlog_parse(path, bytes, size, &text, error);
    *rows = text.rows;
    free(bytes);
    return good;
}

/* --- writing --- */

static bool open_log(RunLog *log, const char *path, int flags, Error *error)
{
    log->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0666);
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

/* Writes all waiting rows or none. */
static bool write_waiting(RunLog *log, Error *error)
{
    if (!log->waiting)
        return true;
    if (!file_append(log->fd, log->path, &log->size, log->waiting, strlen(log->waiting), error))
        return false;
    free(log->waiting);
    log->waiting = NULL;
    return true;
}

bool runlog_create(RunLog *log, const char *path, Error *error)
{
    *log = (RunLog){.columns = COLUMNS};
    if (!open_log(log, path, O_CREAT | O_EXCL, error))
        return false;
    log->waiting = runlog_header(log->columns);
    bool good = write_waiting(log, error);
    if (!good) {
        Error second;
        runlog_close(log, &second);
    }
    return good;
}

bool runlog_append(RunLog *log, const RunLogRow *row, Error *error)
{
    char line[RUNLOG_LINE];
    runlog_line(row, log->columns, line);
    text_append(&log->waiting, "%s", line);
    return write_waiting(log, error);
}

bool runlog_sync(RunLog *log, Error *error)
{
    return fsync(log->fd) == 0 || errno == EINVAL || errno == ENOTSUP ||
           error_set(error, "%s: cannot sync: %s", log->path, strerror(errno));
}

bool runlog_close(RunLog *log, Error *error)
{
    bool good = log->fd < 0 || write_waiting(log, error);
    if (log->fd >= 0 && close(log->fd) != 0 && good)
        good = error_set(error, "%s: cannot close: %s", log->path, strerror(errno));
    free(log->path);
    free(log->waiting);
    *log = (RunLog){.fd = -1};
    return good;
}

/* The content of the file, which has been unlinked; the caller frees. */
static char *read_nameless(const RunLog *log, Error *error)
{
    char *bytes = memory_new(log->size + 1, 1, log->path);
    for (size_t have = 0; have < log->size;) {
        ssize_t got = pread(log->fd, bytes + have, log->size - have, (off_t)have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            error_set(error, "%s: is gone, and what it was cannot be read", log->path);
            free(bytes);
            return NULL;
        }
        have += (size_t)got;
    }
    return bytes;
}

bool runlog_restore(RunLog *log, Error *error)
{
    char *bytes = read_nameless(log, error), *path = log->path;
    int nameless = log->fd;
    bool good = bytes && file_replace_text(path, bytes, error) && open_log(log, path, 0, error);
    free(bytes);
    if (!good) {
        log->fd = nameless; /* keep the file that has everything */
        return false;
    }
    close(nameless);
    free(path);
    return true;
}

/* --- going on --- */

/* Appends rows that will be trained again to PATH.bak. */
static bool keep_aside(const char *path, const char *rows, size_t size, size_t count,
                       Error *error)
{
    char *backup = text_format("%s.bak", path), *before = NULL;
    size_t before_size;
    bool good = !file_exists(backup) ||
                file_read(backup, MOST_BYTES, &before, &before_size, error);
    if (good && !before)
        before = runlog_header(count);
    text_append(&before, "%.*s", (int)size, rows);
    good = good && file_replace_text(backup, before, error);
    free(before);
    free(backup);
    return good;
}

/* The size of the header and the rows up to the given step. */
static size_t bytes_up_to(const char *bytes, const RunLogRow *rows, size_t step)
{
    const char *next = strchr(bytes, '\n') + 1;
    for (size_t i = 0; i < arrlenu(rows) && rows[i].step <= step; i++)
        next = strchr(next, '\n') + 1;
    return (size_t)(next - bytes);
}

/* Truncates the file after the rows up to the step; sets log->size and log->columns. */
static bool cut_back(RunLog *log, const char *path, const char *bytes, size_t size, size_t step,
                     Error *error)
{
    RunLogText text;
    if (!runlog_parse(path, bytes, size, &text, error))
        return false;
    size_t kept = text.whole ? bytes_up_to(bytes, text.rows, step) : 0;
    arrfree(text.rows);
    log->columns = text.columns;
    log->size = kept;
    if (kept < text.whole &&
        !keep_aside(path, bytes + kept, text.whole - kept, text.columns, error))
        return false;
    if (kept > 0 && kept == size)
        return true;
    char *whole = kept ? text_format("%.*s", (int)kept, bytes) : runlog_header(log->columns);
    log->size = strlen(whole);
    bool good = file_replace_text(path, whole, error);
    free(whole);
    return good;
}

bool runlog_reopen(RunLog *log, const char *path, size_t step, Error *error)
{
    char *bytes;
    size_t size;
    *log = (RunLog){.fd = -1};
    if (!file_read(path, MOST_BYTES, &bytes, &size, error))
        return false;
    bool good = cut_back(log, path, bytes, size, step, error) && open_log(log, path, 0, error);
    free(bytes);
    return good;
}
