/* Stop texts: the text that a model generates ends before the first of them.
 *
 * A stop text may be spread over several tokens. So the bytes that may be its beginning wait
 * until it is complete or has become impossible. */
#ifndef LINNET_STOP_H
#define LINNET_STOP_H

#include "src/base/error.h"

#include <stddef.h>

enum { STOPS_MOST = 16 };

typedef struct StopText {
    char *bytes; /* (size) */
    size_t size;
} StopText;

typedef struct Stops {
    StopText texts[STOPS_MOST];
    size_t count;
} Stops;

/* Adds a copy of a stop text; an empty one counts for nothing. */
bool stops_add(Stops *stops, const char *bytes, size_t size, Error *error);
/* Reads stop texts as users type them, one in each line (NULL: none). \n is a line end, \t a
 * tab, \\ a backslash. */
bool stops_read(Stops *stops, const char *lines, Error *error);
void stops_free(Stops *stops);

/* How much of each stop text the bytes so far end with; {0} at the start. */
typedef struct StopMatch {
    size_t sizes[STOPS_MOST];
} StopMatch;

/* Appends bytes to `pending`, an stb_ds array, until a stop text (NULL: none) is complete;
 * returns its size, or 0. */
size_t stop_append(StopMatch *match, const Stops *stops, const char *bytes, size_t size,
                   char **pending);
/* The number of last bytes that may belong to a stop text. */
size_t stop_undecided(const StopMatch *match, const Stops *stops);

#endif
