/* Files mapped into memory, to be read where they lie.
 *
 * Another program may cut or overwrite a file while it is mapped. Reading goes on all the same:
 * what is gone reads as zeros, whether the kernel gives these up to the end of a page or raises
 * SIGBUS, which a handler answers with zeros. Who has read asks mapping_check before believing
 * it. */
#ifndef LINNET_MAPPING_H
#define LINNET_MAPPING_H

#include "src/base/error.h"

#include <stddef.h>
#include <time.h>

typedef struct Mapping Mapping;
struct Mapping {
    const void *data;
    size_t size;
    int fd;
    char *path;
    struct timespec written; /* when the file was last modified */
    volatile bool changed;   /* what was read cannot have been the file as it was */
    Mapping *next;           /* the others that are open */
};

/* Maps a regular file of at least one byte. NULL on failure. */
Mapping *mapping_open(const char *path, Error *error);
void mapping_close(Mapping *mapping); /* which may be NULL */

/* Call it after reading from a mapping: this memory, and some around it, no longer counts as
 * memory of this process; it is fetched again when needed. */
void mapping_end_read(const void *at, size_t size);

/* Whether the file is as it was when it was opened, by its size and its time of modification.
 */
bool mapping_check(const Mapping *mapping, Error *error);
/* The file of this mapped memory has other contents than before. */
void mapping_mark_changed(const void *at);
/* The contents are the same although the time is not. */
void mapping_accept(Mapping *mapping);

#endif
