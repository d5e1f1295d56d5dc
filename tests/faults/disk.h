/* One folder of files on a disk that may lose power: what programs see in it, and what is sure
 * to be there afterwards.
 *
 * A file's bytes are sure once the file has been synced, and its name once the folder has been.
 * Of all else a file system may have kept any part. Fed with the record of a program's calls,
 * one at a time (tests/faults/inject.c), and able to write out what may be left. */
#ifndef LINNET_TEST_DISK_H
#define LINNET_TEST_DISK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Disk Disk;

/* What a file system may have kept of the bytes, and of the names, that were not synced. */
typedef enum Kept { KEPT_ALL, KEPT_NONE, KEPT_LENGTH, KEPT_HALF, KEPT_WAYS } Kept;

/* The folder as the record names it: empty, and itself sure. */
Disk *disk_make(const char *folder);
void disk_free(Disk *disk);

/* Plays one call of the record; returns what comes after it. *changed tells whether it was one
 * that changes what is on the disk; *fault is set if it came out of order. */
const char *disk_play(Disk *disk, const char *record, bool *changed, const char **fault);

/* Writes the folder as it may be after the power failed now. */
void disk_write(const Disk *disk, Kept bytes, Kept names);
/* Whether a file was renamed and the folder not synced since. */
bool disk_owes_sync(const Disk *disk);

#endif
