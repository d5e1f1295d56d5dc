/* Reads a whole input into memory: a plain file, a gzip file whatever its name, a pipe, or
 * standard input. Reading once and keeping it all is what makes a run repeatable: the file may
 * change afterwards, and a pipe could not be read again anyway. */
#ifndef LINNET_READER_H
#define LINNET_READER_H

#include "src/error.h"

#include <stddef.h>

#define READER_STANDARD_INPUT "-"

/* At most most_mb megabytes, unpacked. *bytes gets a terminating zero beyond *size, and is the
 * caller's to free. A file that changes while it is being read is an error, and so is a gzip
 * file that is cut off, damaged, or followed by something else. */
bool reader_read(const char *path, size_t most_mb, char **bytes, size_t *size, Error *error);

/* What to call a path before people: itself, or "standard input". */
const char *reader_name(const char *path);

#endif
