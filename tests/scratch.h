/* A folder for the files of a test, and what tests of files do again and again.
 *
 * There is one such folder at a time. Making and removing it are fit for fixtures; as unchecked
 * ones they run outside of the tests' own processes, and clean up after a failed test too. */
#ifndef LINNET_SCRATCH_H
#define LINNET_SCRATCH_H

#include "src/error.h"

#include <check.h>
#include <stddef.h>
#include <string.h>

void scratch_make(void);
void scratch_remove(void);
void scratch_empty(void);   /* removes the files in it */
size_t scratch_count(void); /* how many there are */

const char *scratch_folder(void);
/* "FOLDER/name", the caller's to free. */
char *scratch_path(const char *name);

/* Makes the file, or replaces what it holds. */
void scratch_write(const char *path, const void *bytes, size_t size);
/* The same by name in the folder; the caller frees the path that they return. */
char *scratch_put_bytes(const char *name, const void *bytes, size_t size);
char *scratch_put(const char *name, const char *text);

/* One gzip member, appended to *packed, which the caller frees. */
void scratch_pack(char **packed, size_t *size, const void *bytes, size_t count);

/* An error says something, and says it in one line. */
#define ck_says(error, part)                                                   \
    ck_assert_msg(strstr((error).text, (part)) && !strchr((error).text, '\n'), \
                  "'%s' does not say '%s' in one line", (error).text, (part))

#endif
