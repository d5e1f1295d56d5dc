#include "eval/show/stop.h"
#include "src/memory.h"

#include <stdlib.h>
#include <string.h>

/* Writes the bytes that a line stands for; they are not more. */
static bool unescape(StopText *stop, const char *line, size_t length, Error *error)
{
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
        stop->bytes[stop->size++] = byte;
    }
    return true;
}

/* How much of the stop text is there after this byte, if `matched` bytes were before. */
static size_t step(const StopText *stop, size_t matched, char byte)
{
    while (matched > 0 && (matched == stop->size || stop->bytes[matched] != byte))
        matched = stop->shorter[matched];
    return matched + (stop->bytes[matched] == byte);
}

static void prepare(StopText *stop)
{
    for (size_t i = 1; i < stop->size; i++)
        stop->shorter[i + 1] = step(stop, stop->shorter[i], stop->bytes[i]);
}

bool stops_read(Stops *stops, const char *lines, Error *error)
{
    *stops = (Stops){.count = 0};
    for (const char *line = lines ? lines : ""; *line;) {
        size_t length = strcspn(line, "\n");
        const char *next = line + length + (line[length] == '\n');
        bool good = stops->count < STOPS_MOST ||
                    error_set(error, "there are more than %d stop texts", STOPS_MOST);
        if (good && length > 0) {
            StopText *stop = &stops->texts[stops->count++];
            *stop = (StopText){
                .bytes = memory_take(length, 1, "a stop text"),
                .shorter = memory_take(length + 1, sizeof(size_t), "a stop text")};
            good = unescape(stop, line, length, error);
            prepare(stop);
        }
        if (!good) {
            stops_free(stops);
            return false;
        }
        line = next;
    }
    return true;
}

void stops_free(Stops *stops)
{
    for (size_t i = 0; i < stops->count; i++) {
        free(stops->texts[i].bytes);
        free(stops->texts[i].shorter);
    }
    stops->count = 0;
}

size_t stop_match(StopMatch *match, const Stops *stops, char byte)
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

size_t stop_undecided(const StopMatch *match, const Stops *stops)
{
    size_t most = 0;
    for (size_t i = 0; i < stops->count; i++)
        most = match->sizes[i] > most ? match->sizes[i] : most;
    return most;
}
