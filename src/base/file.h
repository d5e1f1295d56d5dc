/* Reading whole files of bounded size, and replacing files atomically.
 *
 * A replacement is written to TARGET.PID.tmp, synced with fsync, and renamed over the target;
 * then the directory is synced. So a reader sees either the old file or the new one, even
 * after a crash. On failure the temporary file is removed and the target is unchanged. The
 * process id keeps concurrent writers apart and identifies temporary files whose writer was
 * killed. */
#ifndef LINNET_FILE_H
#define LINNET_FILE_H

#include "src/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Opens a regular file of at most `most` bytes, and says its size; -1 on failure. */
int file_open(const char *path, size_t most, size_t *size, Error *error);
/* Writes all bytes; if it fails, errno says why. */
bool file_write(int fd, const void *bytes, size_t size);

/* Reads a regular file of at most `most` bytes. *bytes is NUL-terminated after *size bytes;
 * the caller frees it. */
bool file_read(const char *path, size_t most, char **bytes, size_t *size, Error *error);

/* A number in a small text file of the system, folder/name: the word after `place` others on
 * the first line that begins with `label`. NaN if there is none, or if it is no number. */
double file_number(const char *folder, const char *name, const char *label, size_t place);

typedef struct FileReplacement {
    char *path, *temporary;
    int fd;
    struct FileReplacement *volatile outer; /* the other replacements in progress */
} FileReplacement;

/* What exists under the name must be a regular file. */
bool file_replace_begin(FileReplacement *file, const char *path, Error *error);
/* Each of the following aborts the replacement if it fails. */

/* Preallocates disk space, so that a full disk is detected early. */
bool file_replace_reserve(FileReplacement *file, size_t size, Error *error);
bool file_replace_write(FileReplacement *file, const void *bytes, size_t size, Error *error);
/* Reads what has been written, and moves on as writing does. */
bool file_replace_read(FileReplacement *file, void *bytes, size_t size, Error *error);
/* Goes to a place, to read it or to write over it. */
bool file_replace_seek(FileReplacement *file, size_t place, Error *error);
/* Syncs and closes file->temporary, so that the caller can verify it before the commit. Drops
 * it from the page cache, where supported, so that the verification reads the disk. */
bool file_replace_seal(FileReplacement *file, Error *error);
bool file_replace_commit(FileReplacement *file, Error *error);
void file_replace_abort(FileReplacement *file);

/* Begin, write and commit in one call: for a text in memory, or for the output of `print`. */
bool file_replace_text(const char *path, const char *text, Error *error);
bool file_replace_printed(const char *path, void (*print)(FILE *out, const void *content),
                          const void *content, Error *error);

/* Appends to an open file of *size bytes with a single write. A partial write is truncated
 * away again. */
bool file_append(int fd, const char *path, size_t *size, const void *bytes, size_t count,
                 Error *error);

/* Renames a file within its directory, replacing `to`, and syncs the directory. */
bool file_rename(const char *from, const char *to, Error *error);

/* Removes the temporary files of replacements in progress. exit() and the usual signals do; a
 * handler of signals that ends the program by itself must call it. */
void file_remove_half_written(void);
/* Calls the function when the program exits or a signal ends it, after the temporary files of
 * replacements are gone; it may only do what signal handlers may. The last one counts. */
void file_remove_also(void (*remove)(void));

/* Removes temporary files of processes that no longer exist. */
void file_remove_leftovers(const char *folder);

bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* Whether the directory has a file of that name. */
bool file_is_in(const char *folder, const char *name);
/* The path of the first of these names that the directory has, or NULL; the caller frees it. */
char *file_first_in(const char *folder, const char *const *names, size_t count);
/* Creates missing parent directories. */
bool file_make_parents(const char *path, Error *error);
/* The directory that a path names a file in; the caller frees it. */
char *file_folder_of(const char *path);
/* The last part of a path, within it. */
const char *file_base_name(const char *path);
/* Removes slashes from the end of a path, so that its last part names the directory. */
void file_trim_slashes(char *path);
/* "folder/name"; the caller frees it. */
char *file_join(const char *folder, const char *name);
/* The directory of the running executable; the caller frees it. */
char *file_program_folder(void);
/* The directory `name` that came with the program: beside the program's own directory, or
 * installed; the caller frees it. */
char *file_shipped_folder(const char *name);

#endif
