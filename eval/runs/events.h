/* The event files that TensorBoard reads: the scalars and texts of a run, each with its step.
 *
 * A file is a row of records, each framed by its length and two checksums; a record is one
 * Event in the wire format of Protocol Buffers, of which half a dozen fields are needed here.
 * Everything that is written together goes out with a single write(2), so that a reader that
 * follows the file meets whole records, and a full disk tears none. One folder is one run: a
 * run that goes on begins another file, which tells readers to forget what was behind its step.
 */
#ifndef LINNET_EVENTS_H
#define LINNET_EVENTS_H

#include "src/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct EventScalar {
    const char *tag; /* tags are grouped by what stands before their slash */
    double value;    /* kept as a float */
} EventScalar;

/* --- the bytes: records appended to an array of stb_ds; `time` in seconds since 1970 --- */

/* What every file begins with. */
void events_append_version(unsigned char **bytes, double time);
/* Scalars of one step. */
void events_append_scalars(unsigned char **bytes, double time, size_t step,
                           const EventScalar *scalars, size_t count);
/* A text, which must be UTF-8 and will be shown as Markdown. */
void events_append_text(unsigned char **bytes, double time, size_t step, const char *tag,
                        const char *text);
/* From here on, what earlier files say of this step and later ones is void. */
void events_append_restart(unsigned char **bytes, double time, size_t step);

/* --- the file --- */

typedef struct EventFile {
    int fd;
    char *path;  /* owned */
    size_t size; /* of the file, all of it whole records */
} EventFile;

/* Begins a file in a folder, with its version; its name sorts behind those that are there. */
bool events_create(EventFile *file, const char *folder, Error *error);
/* Writes what was appended and empties the array; a failure leaves whole records. */
bool events_write(EventFile *file, unsigned char **bytes, Error *error);
bool events_close(EventFile *file, Error *error);
double events_now(void);

#endif
