/* TensorBoard event files: the scalars and texts of a run, each with its step.
 *
 * A file is a sequence of records, each framed by its length and two checksums. A record is one
 * Event in the wire format of Protocol Buffers, of which half a dozen fields are needed here.
 * One write(2) writes all records of a step, so that readers see whole records and a full disk
 * leaves none torn. A directory is one run: a resumed run starts another file, which tells
 * readers to discard later steps of the earlier files. */
#ifndef LINNET_EVENTS_H
#define LINNET_EVENTS_H

#include "src/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct EventScalar {
    const char *tag; /* TensorBoard groups tags by the part before the slash */
    double value;    /* stored as a float */
} EventScalar;

/* --- the bytes: records appended to an array of stb_ds; `time` in seconds since 1970 --- */

/* The first event of every file. */
void events_append_version(unsigned char **bytes, double time);
/* Scalars of one step. */
void events_append_scalars(unsigned char **bytes, double time, size_t step,
                           const EventScalar *scalars, size_t count);
/* A text, which must be UTF-8 and will be shown as Markdown. */
void events_append_text(unsigned char **bytes, double time, size_t step, const char *tag,
                        const char *text);
/* The settings of a run, lines NAME = VALUE, for TensorBoard's table of runs (its hparams
 * plugin). Those that differ in the seed only are one group there. */
void events_append_settings(unsigned char **bytes, double time, const char *settings);
/* Makes readers discard this step and later ones of earlier files. */
void events_append_restart(unsigned char **bytes, double time, size_t step);

/* The checksum of records, CRC-32C (Castagnoli); zlib has only CRC-32. */
uint32_t events_checksum(const void *bytes, size_t size);

/* --- the file --- */

typedef struct EventFile {
    int fd;
    char *path;  /* owned */
    size_t size; /* of the file, in whole records */
} EventFile;

/* Creates a file in a directory, with its version; its name sorts after existing ones. */
bool events_create(EventFile *file, const char *folder, Error *error);
/* Writes and empties the array; a failure leaves whole records. */
bool events_write(EventFile *file, unsigned char **bytes, Error *error);
bool events_close(EventFile *file, Error *error);
double events_now(void);

#endif
