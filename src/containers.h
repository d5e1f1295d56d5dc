/* Growing arrays and hash maps from stb_ds, with one of its edges filed off: running out of
 * memory ends the program with a message instead of a crash. */
#ifndef LINNET_CONTAINERS_H
#define LINNET_CONTAINERS_H

#include "src/memory.h"

#include <stdlib.h>

#define STBDS_REALLOC(context, pointer, size) memory_resize((pointer), (size), 1, "a table")
#define STBDS_FREE(context, pointer)          free(pointer)
/* Maps whose keys are numbers want typeof; strict C11 has it under its other name only. */
#define typeof __typeof__
#include <stb/stb_ds.h>

#endif
