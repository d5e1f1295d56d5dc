/* The text of a run's log: rows to lines and back. For runlog.c, which keeps the file. */
#ifndef LINNET_RUNLOG_FORMAT_H
#define LINNET_RUNLOG_FORMAT_H

#include "eval/runs/runlog.h"

enum { RUNLOG_LINE = 512 }; /* twice what ten of the longest numbers need */

/* Of the rows of a log that starts now, and of one from before peak_mb was logged. */
enum { RUNLOG_COLUMNS = 10, RUNLOG_COLUMNS_BEFORE = 9 };

/* The first line, with its line end; the caller frees. */
char *runlog_format_header(size_t columns);
/* Writes a row as a line of so many columns, with its line end. */
void runlog_format_row(const RunLogRow *row, size_t columns, char line[RUNLOG_LINE]);

/* What the bytes of a log came to. */
typedef struct RunLogText {
    RunLogRow *rows; /* as runlog_read promises */
    size_t whole;    /* the bytes that its whole lines take */
    size_t columns;
} RunLogText;

/* Reads all whole lines of a log that may be torn. The path is for messages. */
bool runlog_parse(const char *path, const char *bytes, size_t size, RunLogText *text,
                  Error *error);

#endif
