#include "eval/runlog_format.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

/* --- writing --- */

char *runlog_format_header(void)
{
    char *text = NULL;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        text_append(&text, "%s%s", i ? "," : "", columns[i].name);
    text_append(&text, "\n");
    return text;
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

void runlog_format_row(const RunLogRow *row, char line[RUNLOG_LINE])
{
    size_t used = 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        used += (size_t)print_cell(line + used, RUNLOG_LINE - used, &columns[i], row);
        line[used++] = i + 1 < COLUMN_COUNT ? ',' : '\n';
    }
    line[used] = '\0';
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
    char copy[RUNLOG_LINE];
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
    char *header = runlog_format_header();
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

bool runlog_parse(const char *path, const char *bytes, size_t size, RunLogRow **rows,
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
