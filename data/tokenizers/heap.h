/* A heap in an array: the entry that comes before all others is the first. Entries have any
 * type; the functions are inline, so that its size and order are constants in them. */
#ifndef LINNET_HEAP_H
#define LINNET_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { HEAP_LARGEST = 64 }; /* bytes of an entry */

typedef bool HeapOrder(const void *a, const void *b); /* whether a comes before b */

/* Puts an entry in its place below `at`, after it has changed to come later. */
static inline __attribute__((always_inline)) void heap_sink(void *heap, size_t count, size_t at,
                                                            size_t size, HeapOrder *before)
{
    char *entries = heap, entry[HEAP_LARGEST];
    memcpy(entry, entries + at * size, size);
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        const char *left = entries + child * size;
        child += child + 1 < count && before(left + size, left);
        if (!before(entries + child * size, entry))
            break;
        memcpy(entries + at * size, entries + child * size, size);
    }
    memcpy(entries + at * size, entry, size);
}

/* Puts the last entry, which is new, in its place. */
static inline __attribute__((always_inline)) void heap_rise(void *heap, size_t count,
                                                            size_t size, HeapOrder *before)
{
    char *entries = heap, entry[HEAP_LARGEST];
    size_t at = count - 1;
    memcpy(entry, entries + at * size, size);
    for (size_t parent; at && before(entry, entries + (parent = (at - 1) / 2) * size);
         at = parent)
        memcpy(entries + at * size, entries + parent * size, size);
    memcpy(entries + at * size, entry, size);
}

/* Moves the first entry behind the others, which are one fewer then. */
static inline __attribute__((always_inline)) void heap_pop(void *heap, size_t count,
                                                           size_t size, HeapOrder *before)
{
    char *entries = heap, entry[HEAP_LARGEST], *last = entries + (count - 1) * size;
    if (last == entries)
        return;
    memcpy(entry, last, size);
    memcpy(last, entries, size);
    memcpy(entries, entry, size);
    heap_sink(heap, count - 1, 0, size, before);
}

#endif
