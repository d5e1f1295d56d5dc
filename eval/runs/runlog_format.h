/* The text format of a run's log: rows to lines and back. For runlog.c. */
#ifndef LINNET_RUNLOG_FORMAT_H
#define LINNET_RUNLOG_FORMAT_H

#include "eval/runs/runlog.h"

enum { RUNLOG_LINE = 512 }; /* more than the length of fifteen of the longest numbers */

/* Columns of a new log, and of one without peak_mb and what follows it. */
enum { RUNLOG_COLUMNS = 15, RUNLOG_COLUMNS_BEFORE = 9 };

/* The header line, with its line end; the caller frees. */
char *runlog_format_header(size_t columns);
/* Writes a row as a line of this many columns, with its line end. */
void runlog_format_row(const RunLogRow *row, size_t columns, char line[RUNLOG_LINE]);

/* The content of a log. */
typedef struct RunLogText {
    RunLogRow *rows; /* as in runlog_read */
    size_t whole;    /* size of its whole lines */
    size_t columns;
} RunLogText;

/* Parses all whole lines of a log that may be torn. The path is for messages. */
bool runlog_parse(const char *path, const char *bytes, size_t size, RunLogText *text,
                  Error *error);

#endif
