/* The log of a training run: one line per logged step in RUN/log.csv.
 *
 * It is plain CSV, so that a spreadsheet, gnuplot or three lines of any language can draw it.
 * A row is written with a single write(2), so that a crash tears at most the last line; a line
 * without its line end is therefore never believed, and never an error either. Numbers carry
 * nine digits, with which a float reads back as exactly itself; "nan" and "inf" are values like
 * any other, because the log of a run that went wrong is the one that gets read.
 *
 * The last column, peak_mb, came later than the others: a log that began without it is read,
 * and gone on with, without it. */
#ifndef LINNET_RUNLOG_H
#define LINNET_RUNLOG_H

#include "src/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct RunLogRow {
    size_t step;
    double epoch;  /* with its fraction: 1.25 is a quarter into the second */
    size_t tokens; /* trained on since the start of the run */
    double seconds, lr, train_loss;
    double val_loss; /* counts only with has_val_loss; NaN in rows read without one */
    double grad_norm, tokens_per_second;
    double peak_mb;    /* the most memory that was resident so far; NaN: not known */
    bool has_val_loss; /* tells "not measured", an empty cell, from "measured: nan" */
} RunLogRow;

typedef struct RunLog {
    int fd;
    char *path;     /* owned */
    size_t size;    /* of the file, all of it whole rows */
    size_t columns; /* of its rows */
    char *waiting;  /* rows that could not be written yet; NULL: none. Owned */
} RunLog;

/* Starts a log; one that is there already is never written over. */
bool runlog_create(RunLog *log, const char *path, Error *error);

/* Opens the log of a run that goes on after the given step: rows up to and including that step
 * stay as they are, a torn last line goes, and later rows move to the end of PATH.bak. */
bool runlog_reopen(RunLog *log, const char *path, size_t step, Error *error);

/* When the disk is full the log is cut back to whole rows, and stays usable: the row waits, and
 * is written with the next one, or when the log is closed. */
bool runlog_append(RunLog *log, const RunLogRow *row, Error *error);
bool runlog_close(RunLog *log, Error *error);

/* Rows so far will outlive a crash of the machine. */
bool runlog_sync(RunLog *log, Error *error);

/* Writes the log again at its path, from which it was removed while it was open. */
bool runlog_restore(RunLog *log, Error *error);

/* Reads a log that anyone may have written or damaged, up to 256 MB. *rows becomes an array of
 * stb_ds (arrlen, arrfree), NULL when there are no rows; the caller owns it. Empty cells are
 * NaN; steps never go backwards. On failure *rows is NULL. */
bool runlog_read(const char *path, RunLogRow **rows, Error *error);

#endif
