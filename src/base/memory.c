#include "src/base/memory.h"
#include "src/base/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define ALIGNMENT ((size_t)64) /* a cache line and an AVX-512 register */

/* Huge pages: with 4 KB pages the TLB covers only a small part of a model. */
#define LARGE_PAGE ((size_t)2 << 20)

size_t memory_product(size_t a, size_t b, const char *what)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        die("%s: %zu x %zu bytes exceed the address space", what, a, b);
    return product;
}

static _Noreturn void out_of_memory(size_t bytes, const char *what)
{
    const size_t megabyte = 1000000;
    if (bytes < megabyte)
        die("out of memory: cannot allocate %zu bytes for %s", bytes, what);
    die("out of memory: cannot allocate %.1f MB for %s", (double)bytes / 1e6, what);
}

void *memory_new(size_t count, size_t size, const char *what)
{
    size_t bytes = memory_product(count, size, what);
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        out_of_memory(bytes, what);
    return memory;
}

static void *take_aligned(size_t unit, size_t bytes, const char *what)
{
    void *memory = aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (!memory)
        out_of_memory(bytes, what);
    return memory;
}

void *memory_new_aligned(size_t bytes, const char *what)
{
    return take_aligned(ALIGNMENT, bytes, what);
}

void *memory_resize(void *old, size_t count, size_t size, const char *what)
{
    size_t bytes = memory_product(count, size, what);
    void *memory = realloc(old, bytes ? bytes : 1);
    if (!memory)
        out_of_memory(bytes, what);
    return memory;
}

char *memory_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(memory_new(size, 1, "a text"), text, size);
}

FILE *memory_text_open(char **text, size_t *size, const char *what)
{
    FILE *stream = open_memstream(text, size);
    if (!stream)
        die("out of memory: cannot allocate space for %s", what);
    return stream;
}

void memory_text_close(FILE *stream, const char *what)
{
    bool whole = !ferror(stream);
    if (fclose(stream) != 0 || !whole)
        die("out of memory while writing %s", what);
}

double memory_peak_megabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024 / 1e6;
}

void *arena_bytes(Arena *arena, size_t count, size_t size)
{
    size_t bytes = memory_product(count, size, "the model");
    size_t start = arena->used;
    if (__builtin_add_overflow(start, bytes, &arena->used) ||
        __builtin_add_overflow(arena->used, ALIGNMENT - 1, &arena->used))
        die("the model: its tensors exceed the address space");
    arena->used &= ~(ALIGNMENT - 1);
    if (!arena->base)
        return NULL;
    assert(arena->used <= arena->size);
    return arena->base + start;
}

real *arena_reals(Arena *arena, size_t count)
{
    return arena_bytes(arena, count, sizeof(real));
}

void arena_allocate(Arena *arena, const char *what)
{
    assert(!arena->base);
    arena->size = arena->used ? arena->used : ALIGNMENT;
    size_t unit = arena->size < LARGE_PAGE ? ALIGNMENT : LARGE_PAGE;
    arena->base = take_aligned(unit, arena->size, what);
    if (arena->size >= LARGE_PAGE)
        madvise(arena->base, arena->size, MADV_HUGEPAGE); /* only a hint */
    memset(arena->base, 0, arena->size);
    arena->used = 0;
}

void arena_free(Arena *arena)
{
    free(arena->base);
    *arena = (Arena){0};
}
