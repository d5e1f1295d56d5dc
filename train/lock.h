/* One process at a time in a run's folder.
 *
 * The lock is on a file "lock" in it that holds the number of the process. It is the system
 * that keeps it: it ends with the process, however that ends, so that a file that a killed one
 * left behind is in nobody's way. There is one lock per process. */
#ifndef LINNET_LOCK_H
#define LINNET_LOCK_H

#include "src/error.h"

/* Fails if another process has the folder and keeps it for some seconds. What was held before
 * is released. */
bool lock_take(const char *folder, Error *error);

/* Also happens when the program ends by exit(). */
void lock_release(void);

#endif
