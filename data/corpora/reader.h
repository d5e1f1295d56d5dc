/* Reads an input: a plain file, a gzip file with any name, a pipe, or standard input; whole
 * into memory, or as a stream. Reading once makes runs repeatable: a file may change later, and
 * a pipe cannot be read again.
 *
 * Unless its bytes are wanted raw, an input is a text, and what is read is UTF-8 with LF at the
 * end of lines: UTF-16 with a byte order mark is converted, the byte order mark of UTF-8 and CR
 * before LF are left out, and a warning says so in the end. Everything else that is no UTF-8,
 * or has zero bytes, is refused. */
#ifndef LINNET_READER_H
#define LINNET_READER_H

#include "src/base/error.h"

#include <stddef.h>

#define READER_STANDARD_INPUT "-"

#define READER_USUAL_MB ((size_t)1000) /* where no option sets a limit */

/* Reads at most most_mb megabytes, unpacked and decoded; `option` is the one that raises this
 * limit, NULL if there is none. *bytes, which the caller frees, has a terminating zero after
 * *size bytes. Fails if the file changes while it is read, or if a gzip file is truncated,
 * damaged, or followed by other data. */
bool reader_read(const char *path, bool raw, size_t most_mb, const char *option, char **bytes,
                 size_t *size, Error *error);

/* The same as a stream, in constant memory. NULL on failure. */
typedef struct Reader Reader;
Reader *reader_open(const char *path, bool raw, Error *error);
/* Reads the next `room` bytes; *got is smaller only at the end. */
bool reader_next(Reader *reader, char *to, size_t room, size_t *got, Error *error);
/* How much of the file has been read, from 0 to 1; negative if its size is unknown. */
double reader_share(const Reader *reader);
void reader_close(Reader *reader);

/* The path for messages: itself, or "standard input". */
const char *reader_name(const char *path);

#endif
