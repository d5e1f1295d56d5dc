/* Allocation that ends the program on failure, and the arena allocator.
 *
 * Small objects (names, tables, texts) come from memory_new and memory_resize, which check
 * sizes for overflow and never return NULL. All tensors of a model live in one Arena. The
 * layout code runs twice: with a NULL base to measure the total, then to hand out pointers. So
 * the training loop allocates nothing. */
#ifndef LINNET_MEMORY_H
#define LINNET_MEMORY_H

#include "src/base/real.h"

#include <stdio.h>

/* Returns zeroed memory for count objects of `size` bytes; the caller frees it. `what` names
 * the purpose in the error message. */
void *memory_new(size_t count, size_t size, const char *what);
/* 64-byte aligned, and not zeroed. */
void *memory_new_aligned(size_t bytes, const char *what);
/* Like realloc, including old == NULL. */
void *memory_resize(void *old, size_t count, size_t size, const char *what);
char *memory_copy_text(const char *text);

/* A stream that prints into *text. After the close, the text is valid and the caller frees it.
 */
FILE *memory_text_open(char **text, size_t *size, const char *what);
void memory_text_close(FILE *stream, const char *what);

/* a * b; ends the program on overflow. */
size_t memory_product(size_t a, size_t b, const char *what);

/* `reals` rounded up to whole cache lines of floats; what follows begins at a new one. */
static inline size_t memory_whole_lines(size_t reals)
{
    return (reals + 15) / 16 * 16;
}

/* The most memory that this process has occupied so far (RSS), in MB of a million bytes. */
double memory_peak_megabytes(void);

typedef struct Arena {
    unsigned char *base; /* NULL while measuring */
    size_t used, size;   /* in bytes */
} Arena;

/* Returns the next `count` reals (or objects), 64-byte aligned; NULL while measuring. */
real *arena_reals(Arena *arena, size_t count);
void *arena_bytes(Arena *arena, size_t count, size_t size);
/* Allocates the measured size, zeroed, and rewinds. */
void arena_allocate(Arena *arena, const char *what);
void arena_free(Arena *arena);

/* An arena over existing memory of sufficient size; with NULL it measures. */
static inline Arena arena_over(real *memory)
{
    return (Arena){.base = (unsigned char *)memory, .size = SIZE_MAX};
}

/* The measured size in reals. */
static inline size_t arena_used_reals(const Arena *arena)
{
    return arena->used / sizeof(real);
}

#endif
