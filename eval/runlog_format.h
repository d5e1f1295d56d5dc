/* The text of a run's log: rows to lines and back. For runlog.c, which keeps the file. */
#ifndef LINNET_RUNLOG_FORMAT_H
#define LINNET_RUNLOG_FORMAT_H

#include "eval/runlog.h"

enum { RUNLOG_LINE = 512 }; /* twice what nine of the longest numbers need */

/* The first line, with its line end; the caller frees. */
char *runlog_format_header(void);
/* Writes a row as a line with its line end. */
void runlog_format_row(const RunLogRow *row, char line[RUNLOG_LINE]);

/* Reads all whole lines of a log that may be torn; *whole gets the bytes that they take, and
 * *rows is as runlog_read promises. The path is for messages. */
bool runlog_parse(const char *path, const char *bytes, size_t size, RunLogRow **rows,
                  size_t *whole, Error *error);

#endif
