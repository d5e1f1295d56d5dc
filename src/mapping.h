/* Files mapped into memory, to be read where they lie.
 *
 * Another program may cut a file while it is mapped; to read what is gone raises SIGBUS. A
 * handler then says which file it was, and ends the program with status 1. */
#ifndef LINNET_MAPPING_H
#define LINNET_MAPPING_H

#include "src/error.h"

#include <stddef.h>

typedef struct Mapping Mapping;
struct Mapping {
    const void *at;
    size_t size;
    char *path;
    char *last_words; /* what to say when the file has become shorter */
    Mapping *next;    /* the others that are open */
};

/* Maps a regular file of at least one byte. NULL on failure. */
Mapping *mapping_open(const char *path, Error *error);
void mapping_close(Mapping *mapping); /* which may be NULL */

/* The pages of this memory, and some around it, no longer count as memory of this process. They
 * are read again when needed. Part of a mapping. */
void mapping_release(const void *at, size_t size);

/* Ends the program because somebody has changed the file of this mapped memory. */
_Noreturn void mapping_die_changed(const void *at);

#endif
