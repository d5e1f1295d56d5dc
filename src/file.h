/* Files: read whole and bounded; replaced whole or not at all.
 *
 * A replacement is written beside its target as TARGET.PID.tmp, synced, renamed over the
 * target, and the folder synced, so that whoever looks sees the old file or the new one, after
 * a crash too. On any failure the temporary file is removed and the target is untouched. The
 * number of the process keeps two writers of one target apart, and tells whose file it was that
 * a killed program left. */
#ifndef LINNET_FILE_H
#define LINNET_FILE_H

#include "src/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Reads a regular file of at most `most` bytes; *bytes gets a terminating zero beyond *size,
 * and is the caller's to free. */
bool file_read(const char *path, size_t most, char **bytes, size_t *size, Error *error);

typedef struct FileReplacement {
    char *path, *temporary;
    int fd;
    struct FileReplacement *outer; /* of those that are written at the same time */
} FileReplacement;

bool file_replace_begin(FileReplacement *file, const char *path, Error *error);
/* Each of these cleans up after itself when it fails. */

/* Takes the room for so many bytes, so that a disk that is too full is known at once. */
bool file_replace_reserve(FileReplacement *file, size_t size, Error *error);
bool file_replace_write(FileReplacement *file, const void *bytes, size_t size, Error *error);
/* Syncs and closes, for whoever wants to read file->temporary before it counts; where the
 * system grants it, that is then read from the disk. */
bool file_replace_seal(FileReplacement *file, Error *error);
bool file_replace_commit(FileReplacement *file, Error *error);
void file_replace_abort(FileReplacement *file);

/* The three in one, for a text that is all there, or that `print` makes of the content. */
bool file_replace_text(const char *path, const char *text, Error *error);
bool file_replace_printed(const char *path, void (*print)(FILE *out, const void *content),
                          const void *content, Error *error);

/* Appends to an open file of *size bytes with a single write, whole or not at all: a file that
 * took only a part is cut back. */
bool file_append(int fd, const char *path, size_t *size, const void *bytes, size_t count,
                 Error *error);

/* Renames a file within its folder, over what has the new name, and syncs the folder. */
bool file_rename(const char *from, const char *to, Error *error);

/* Removes from the folder the temporary files of processes that are no more. */
void file_remove_leftovers(const char *folder);

bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* Makes the directories above a path, where they are missing. */
bool file_make_parents(const char *path, Error *error);
/* "folder/name", the caller's to free. */
char *file_join(const char *folder, const char *name);
/* The folder that the running program is in. */
char *file_program_folder(void);

#endif
