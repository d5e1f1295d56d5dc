/* A scratch directory for the files of a test, and helpers for tests of files.
 *
 * There is one such directory at a time. Use scratch_make and scratch_remove as unchecked
 * fixtures: these run outside the tests' processes and clean up after failed tests, too. */
#ifndef LINNET_SCRATCH_H
#define LINNET_SCRATCH_H

#include "src/base/error.h"

#include <check.h>
#include <stddef.h>
#include <string.h>

void scratch_make(void);
void scratch_remove(void);
void scratch_empty(void);   /* removes its files */
size_t scratch_count(void); /* the number of files */

const char *scratch_folder(void);
/* "DIRECTORY/name"; lives as long as the process of the test. */
char *scratch_path(const char *name);

/* Writes or replaces the file. */
void scratch_write(const char *path, const void *bytes, size_t size);
/* The same by name in the directory; returns scratch_path(name). */
char *scratch_put_bytes(const char *name, const void *bytes, size_t size);
char *scratch_put(const char *name, const char *text);

/* One gzip member, appended to *packed, which the caller frees. */
void scratch_pack(char **packed, size_t *size, const void *bytes, size_t count);

/* The error contains this part, and is one line. */
#define ck_says(error, part)                                                   \
    ck_assert_msg(strstr((error).text, (part)) && !strchr((error).text, '\n'), \
                  "'%s' does not say '%s' in one line", (error).text, (part))

#endif
