/* Files mapped into memory, to be read where they lie.
 *
 * Another program may cut a file while it is mapped. To read what is gone raises SIGBUS, or
 * gives zeros up to the end of a page. Both end the program with status 1 and a line that says
 * which file it was: the first by a handler. */
#ifndef LINNET_MAPPING_H
#define LINNET_MAPPING_H

#include "src/error.h"

#include <stddef.h>

typedef struct Mapping Mapping;
struct Mapping {
    const void *at;
    size_t size;
    int fd;
    char *path;
    char *last_words; /* what to say when the file has become shorter */
    Mapping *next;    /* the others that are open */
};

/* Maps a regular file of at least one byte. NULL on failure. */
Mapping *mapping_open(const char *path, Error *error);
void mapping_close(Mapping *mapping); /* which may be NULL */

/* Call it after reading from a mapping: this memory, and some around it, no longer counts as
 * memory of this process; it is fetched again when needed. Ends the program if the file has
 * become shorter. */
void mapping_end_read(const void *at, size_t size);

/* Ends the program because somebody has changed the file of this mapped memory. */
_Noreturn void mapping_die_changed(const void *at);

#endif
