/* The log of a training run: one line per logged step in RUN/log.csv.
 *
 *  It is plain CSV for spreadsheets, gnuplot and scripts. A row is written with a single
 * write(2), so a crash tears at most the last line; a line without its line end is ignored.
 * Numbers have nine digits, with which a float reads back exactly; "nan" and "inf" are allowed,
 * because logs of diverged runs get read too.
 *
 * Logs of earlier versions lack the last columns, from peak_mb or val_bits_per_byte on; they
 * are read and continued without them. */
#ifndef LINNET_RUNLOG_H
#define LINNET_RUNLOG_H

#include "src/base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct RunLogRow {
    size_t step;
    double epoch;  /* with its fraction: 1.25 is a quarter into the second */
    size_t tokens; /* trained on since the start of the run */
    double seconds, lr;
    double train_loss; /* valid only without matches; else NaN */
    double val_loss;   /* valid only with has_val_loss; else NaN */
    double grad_norm, tokens_per_second;
    double peak_mb;           /* peak resident memory so far; NaN: unknown */
    double val_bits_per_byte; /* the validation loss; NaN: unknown */
    size_t val_tokens;        /* what the validation loss is of; 0: unknown */
    double final_val_loss;    /* of the last weights on the whole validation text, if the other
                               * losses are of a part of it; not above 0: none */
    double val_accuracy; /* share of right answers in a synthetic task; NaN: no such task, or
                          * not measured */
    double match_loss;   /* valid only with matches; else NaN */
    bool matches;        /* the steps matched attention outputs: match_loss is their mean square
                          * error, and there is no training loss */
    bool has_val_loss;   /* false: an empty cell, not measured */
} RunLogRow;

typedef struct RunLog {
    int fd;
    char *path;     /* owned */
    size_t size;    /* of the file, in whole rows */
    size_t columns; /* of its rows */
    char *waiting;  /* rows that could not be written yet; NULL: none; owned */
} RunLog;

/* Creates a log; never overwrites one. */
bool runlog_create(RunLog *log, const char *path, Error *error);

/* Opens the log of a run resumed after the given step: keeps the rows up to that step, drops a
 * torn last line, and moves later rows to the end of PATH.bak. */
bool runlog_reopen(RunLog *log, const char *path, size_t step, Error *error);

/* On a full disk the log is cut back to whole rows; the row waits and is written with the next
 * one, or when the log is closed. */
bool runlog_append(RunLog *log, const RunLogRow *row, Error *error);
bool runlog_close(RunLog *log, Error *error);

/* Syncs the rows so far to disk. */
bool runlog_sync(RunLog *log, Error *error);

/* Writes the log again at its path after it was deleted while open. */
bool runlog_restore(RunLog *log, Error *error);

/* Reads an untrusted log of up to 256 MB. *rows becomes an array of stb_ds, NULL without rows
 * or on failure; the caller frees it. Empty cells are NaN; decreasing steps are an error. */
bool runlog_read(const char *path, RunLogRow **rows, Error *error);

/* --- the text --- */

enum { RUNLOG_LINE = 512 }; /* more than the length of fifteen of the longest numbers */

/* The header of this many columns, with its line end; the caller frees. */
char *runlog_header(size_t columns);
/* Writes a row as a line of this many columns, with its line end. */
void runlog_line(const RunLogRow *row, size_t columns, char line[RUNLOG_LINE]);

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
