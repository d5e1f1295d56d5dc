/* Simulates a directory on a disk that may lose power: its visible and its durable contents.
 *
 * A file's bytes are durable once the file is synced, and its name once the directory is. Of
 * everything else a file system may keep any part. Replays the recorded calls of a program
 * (tests/faults/inject.c) and writes out possible states after a power failure. */
#ifndef LINNET_TEST_DISK_H
#define LINNET_TEST_DISK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Disk Disk;

/* How much a file system may have kept of bytes and names that were not synced. */
typedef enum Kept { KEPT_ALL, KEPT_NONE, KEPT_LENGTH, KEPT_HALF, KEPT_WAYS } Kept;

/* An empty, synced directory with the name used in the record. */
Disk *disk_make(const char *folder);
void disk_free(Disk *disk);

/* Replays one call of the record; returns the rest. *changed: whether the call changed the
 * disk; *fault is set if it came out of order. */
const char *disk_play(Disk *disk, const char *record, bool *changed, const char **fault);

/* Writes the directory as it may be after a power failure now. */
void disk_write(const Disk *disk, Kept bytes, Kept names);
/* Whether a file was renamed and the directory not synced since. */
bool disk_owes_sync(const Disk *disk);

#endif
