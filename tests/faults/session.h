/* Runs linnet's programs, with or without a fault in them, and looks at what they leave.
 *
 * Everything happens in a scratch folder in memory, which is the current one; the programs are
 * those that tests/faults/inject.c is linked into. A check that fails is printed and counted,
 * and the rest goes on. */
#ifndef LINNET_SESSION_H
#define LINNET_SESSION_H

#include "src/real.h"

#include <stdbool.h>
#include <stddef.h>

void session_begin(const char *programs);
/* Removes the scratch folder, tells how it went, and returns the exit status. */
int session_end(void);

/* What a program came to. */
typedef struct Outcome {
    int status; /* of the exit; minus the signal's number if one ended it */
    bool fired; /* the fault happened */
    char *out, *messages;
} Outcome;

/* Runs "PROGRAM ARGUMENTS", cut at spaces; the fault as in inject.h, or NULL. A program that
 * takes longer than TIME_LIMIT seconds is ended with SIGALRM. outcome_free frees it. */
enum { TIME_LIMIT = 30 };
Outcome session_run(const char *fault, const char *command);
/* The same, ended with SIGKILL after so many microseconds. */
Outcome session_kill(long microseconds, const char *command);
/* The same, with these of its streams closed: "12" are standard output and error. */
Outcome session_closed(const char *streams, const char *command);
/* The same, with its changes of files written down in a file: see power.c. */
Outcome session_recorded(const char *record, const char *command);
void outcome_free(Outcome *outcome);

/* A command that has to work, and nobody asks what it says. */
void session_works(const char *command);

/* Counts a check; returns whether it held. */
bool expect(bool held, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- files --- */

void put_file(const char *path, const void *bytes, size_t size);
bool same_file(const char *a, const char *b);
/* All the numbers in a checkpoint to go on from, the caller's to free; NULL if it is refused.
 */
real *checkpoint_numbers(const char *path, size_t *count);
/* Of two checkpoints, whatever their headers say. */
bool same_numbers(const char *a, const char *b);
/* A folder of files and nothing else. */
void copy_folder(const char *from, const char *to);
bool same_folder(const char *a, const char *b);
void remove_folder(const char *path); /* and all in it, if it is there */
/* Whether some file in the folder has a name that contains this. */
bool folder_has(const char *path, const char *part);
void remove_leftovers(const char *path); /* what has a name with .tmp in it */
/* Whether a file in the folder opens and loads as a checkpoint to go on from. */
bool has_checkpoint(const char *path);

/* A short text to train on: text.txt, and packed as text.gz. */
void put_text(void);

#endif
