/* Locks a run directory against a second process.
 *
 * The lock is on a file "lock" that contains the process ID. The system releases it when the
 * process ends in any way, so a leftover file of a killed process does no harm. A process holds
 * one lock at a time. */
#ifndef LINNET_LOCK_H
#define LINNET_LOCK_H

#include "src/base/error.h"

/* Releases the lock held so far. Fails if another process keeps the directory locked for some
 * seconds. */
bool lock_acquire(const char *folder, Error *error);

/* exit() also does this. */
void lock_release(void);

#endif
