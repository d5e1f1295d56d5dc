/* Runs linnet's programs, with or without a fault, and checks their files.
 *
 * The current directory is a scratch directory in memory; the programs are linked with
 * tests/faults/inject.c. A failed check is printed and counted, and the checks continue. */
#ifndef LINNET_SESSION_H
#define LINNET_SESSION_H

#include "src/base/real.h"

#include <stdbool.h>
#include <stddef.h>

void session_begin(const char *programs);
/* Removes the scratch directory, prints the counts, and returns the exit status. */
int session_end(void);

/* The outcome of a program. */
typedef struct Outcome {
    int status; /* exit status; minus the signal's number if a signal ended it */
    bool fired; /* whether the fault happened */
    char *out, *messages;
} Outcome;

/* Runs "PROGRAM ARGUMENTS", cut at spaces; the fault as in inject.h, or NULL. A program that
 * takes longer than TIME_LIMIT seconds is ended with SIGALRM. outcome_free frees it. */
enum { TIME_LIMIT = 30 };
Outcome session_run(const char *fault, const char *command);
/* The same, ended with SIGKILL after this time. */
Outcome session_kill(long microseconds, const char *command);
/* The same, with these streams closed: "12" are standard output and error. */
Outcome session_closed(const char *streams, const char *command);
/* The same, with its changes of files recorded in a file: see power.c. */
Outcome session_recorded(const char *record, const char *command);
void outcome_free(Outcome *outcome);

/* Runs a command that must succeed; ignores its output. */
void session_works(const char *command);

/* Counts a check; returns whether it passed. */
bool expect(bool held, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- files --- */

void put_file(const char *path, const void *bytes, size_t size);
bool same_file(const char *a, const char *b);
/* All values in a checkpoint to resume from (the caller frees); NULL if it is refused. */
real *checkpoint_numbers(const char *path, size_t *count);
/* Whether two checkpoints have equal values, whatever their headers. */
bool same_numbers(const char *a, const char *b);
/* Copies a directory of plain files. */
void copy_folder(const char *from, const char *to);
bool same_folder(const char *a, const char *b);
void remove_folder(const char *path); /* with everything in it, if it exists */
/* Whether the name of a file in the directory contains this. */
bool folder_has(const char *path, const char *part);
void remove_leftovers(const char *path); /* files with .tmp in their names */
/* Whether a file in the directory loads as a checkpoint to resume from. */
bool has_checkpoint(const char *path);

/* A short text to train on: text.txt, and packed as text.gz. */
void put_text(void);

#endif
