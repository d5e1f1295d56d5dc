#include "models/stop.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

/* How much of the stop text is there after this byte, if `matched` bytes were before: the most
 * of its first bytes that those and this byte end with. */
static size_t step(const StopText *stop, size_t matched, char byte)
{
    size_t length = matched < stop->size ? matched + 1 : matched;
    while (length > 0 &&
           (stop->bytes[length - 1] != byte ||
            memcmp(stop->bytes, stop->bytes + matched + 1 - length, length - 1) != 0))
        length--;
    return length;
}

bool stops_add(Stops *stops, const char *bytes, size_t size, Error *error)
{
    if (size == 0)
        return true;
    if (stops->count == STOPS_MOST)
        return error_set(error, "there are more than %d stop texts", STOPS_MOST);
    StopText stop = {memory_new(size, 1, "a stop text"), size};
    memcpy(stop.bytes, bytes, size);
    stops->texts[stops->count++] = stop;
    return true;
}

/* Adds the stop text that a line stands for; `bytes` has room for as many as the line. */
static bool add_line(Stops *stops, const char *line, size_t length, char *bytes, Error *error)
{
    size_t size = 0;
    for (const char *c = line; c < line + length; c++) {
        char byte = *c;
        if (byte == '\\') {
            c++;
            byte = c == line + length ? '\0' : *c;
            if (byte != 'n' && byte != 't' && byte != '\\')
                return error_set(error,
                                 "stop text '%.*s': a backslash must be followed by n (line "
                                 "end), t (tab) or another backslash",
                                 (int)length, line);
            byte = byte == 'n' ? '\n' : byte == 't' ? '\t' : byte;
        }
        bytes[size++] = byte;
    }
    return stops_add(stops, bytes, size, error);
}

bool stops_read(Stops *stops, const char *lines, Error *error)
{
    bool good = true;
    lines = lines ? lines : "";
    char *bytes = memory_new(strlen(lines) + 1, 1, "the stop texts");
    *stops = (Stops){.count = 0};
    while (good && *lines) {
        size_t length = strcspn(lines, "\n");
        good = add_line(stops, lines, length, bytes, error);
        lines += length + (lines[length] == '\n');
    }
    free(bytes);
    if (!good)
        stops_free(stops);
    return good;
}

void stops_free(Stops *stops)
{
    for (size_t i = 0; i < stops->count; i++)
        free(stops->texts[i].bytes);
    stops->count = 0;
}

/* Consumes one more byte; returns the size of the stop text that it completes, or 0. */
static size_t advance(StopMatch *match, const Stops *stops, char byte)
{
    size_t complete = 0; /* of several, the longest begins first */
    for (size_t i = 0; i < stops->count; i++) {
        const StopText *stop = &stops->texts[i];
        match->sizes[i] = step(stop, match->sizes[i], byte);
        if (match->sizes[i] == stop->size && stop->size > complete)
            complete = stop->size;
    }
    return complete;
}

size_t stop_append(StopMatch *match, const Stops *stops, const char *bytes, size_t size,
                   char **pending)
{
    size_t complete = 0;
    for (size_t i = 0; i < size && !complete; i++) {
        arrput(*pending, bytes[i]);
        if (stops)
            complete = advance(match, stops, bytes[i]);
    }
    return complete;
}

size_t stop_undecided(const StopMatch *match, const Stops *stops)
{
    size_t most = 0;
    for (size_t i = 0; i < stops->count; i++)
        most = match->sizes[i] > most ? match->sizes[i] : most;
    return most;
}
