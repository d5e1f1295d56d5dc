/* Memory that is either there or the end of the program, and one arena for the numbers.
 *
 * Small things (names, tables, texts) come from memory_take and grow with memory_resize; both
 * check the multiplication of sizes and never return NULL. What a model computes with lives in
 * one Arena: the layout code runs once with a NULL base to learn the total, and again to hand
 * out the pointers, so that nothing is allocated inside the training loop. Its users lay out
 * their parts of it in the same way. */
#ifndef LINNET_MEMORY_H
#define LINNET_MEMORY_H

#include "src/real.h"

#include <stdio.h>

/* Zeroed memory for count things of the given size; the caller owns it and calls free(). The
 * name says what it is for when there is not enough. */
void *memory_take(size_t count, size_t size, const char *what);
/* Like realloc; NULL starts anew. */
void *memory_resize(void *old, size_t count, size_t size, const char *what);
char *memory_copy_text(const char *text);

/* A text that grows as it is printed; it is there, the caller's to free, once it is closed. */
FILE *memory_text_open(char **text, size_t *size, const char *what);
void memory_text_close(FILE *stream, const char *what);

/* The product, or the end of the program when it does not fit. */
size_t memory_product(size_t a, size_t b, const char *what);

typedef struct Arena {
    unsigned char *base; /* NULL while the layout is only being measured */
    size_t used, size;   /* in bytes */
} Arena;

/* The next `count` reals (or bytes), 64-byte aligned; NULL while measuring. */
real *arena_reals(Arena *arena, size_t count);
void *arena_bytes(Arena *arena, size_t count, size_t size);
/* Allocates what measuring came to, zeroed, and rewinds. */
void arena_allocate(Arena *arena, const char *what);
void arena_free(Arena *arena);

/* Hands out memory that is there already, as much as measuring came to; NULL measures. */
static inline Arena arena_over(real *memory)
{
    return (Arena){.base = (unsigned char *)memory, .size = SIZE_MAX};
}

/* What measuring came to. */
static inline size_t arena_used_reals(const Arena *arena)
{
    return arena->used / sizeof(real);
}

#endif
