/* Growing arrays and hash maps from stb_ds. Unlike plain stb_ds, running out of memory ends
 * the program with a message. */
#ifndef LINNET_CONTAINERS_H
#define LINNET_CONTAINERS_H

#include "src/base/memory.h"

#include <stdlib.h>

#define STBDS_REALLOC(context, pointer, size) memory_resize((pointer), (size), 1, "a table")
#define STBDS_FREE(context, pointer)          free(pointer)
/* Maps with integer keys need typeof; strict C11 spells it __typeof__. */
#define typeof __typeof__
#include <stb/stb_ds.h>

#endif
