/* Locks a run directory, or a grid, against a second process.
 *
 * The lock is on a file that contains the process ID: "lock" in the directory, or that of a
 * grid file with ".lock" behind its name. The system releases it when the process ends in any
 * way, so a leftover file of a killed process does no harm. A process holds at most one lock of
 * each kind. */
#ifndef LINNET_LOCK_H
#define LINNET_LOCK_H

#include "src/base/error.h"

typedef enum LockKind { LOCK_RUN, LOCK_GRID, LOCKS } LockKind;

/* Locks a run's directory or a grid's file; releases the lock of this kind held so far. Fails
 * if another process keeps it locked for some seconds. */
bool lock_acquire(LockKind kind, const char *path, Error *error);

/* exit() also does this. */
void lock_release(LockKind kind);

#endif
