/* The micro-kernel of matrix products: a block of C, held in registers.
 *
 *   C = C0 + alpha A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * B is read as panels of KERNEL_COLUMNS columns, in place or packed: k rows of contiguous
 * numbers each. A is read one element at a time, which is broadcast and multiplied with a row
 * of the panel, so it may have any strides; where it serves many columns it is packed in
 * strips, whose strides the compiler knows. Each element of C sums its products in order of k,
 * so the bits do not depend on the tiling or on what is packed.
 *
 * The compiler's target decides how wide a vector is, and with it the block: as many
 * accumulators as there are registers, less those for a row of B and an element of A. */
#ifndef LINNET_KERNEL_H
#define LINNET_KERNEL_H

#include "src/base/real.h"

#ifdef LINNET_DOUBLE
#define KERNEL_LANES_OF(singles, doubles) doubles
#else
#define KERNEL_LANES_OF(singles, doubles) singles
#endif

#if defined __AVX512F__
#define KERNEL_NAME  "avx512"
#define KERNEL_LANES KERNEL_LANES_OF(16, 8)
enum { KERNEL_ROWS = 14, KERNEL_VECTORS = 2 };
#elif defined __AVX__
#if defined __AVX2__ && defined __FMA__
#define KERNEL_NAME "avx2"
#else
#define KERNEL_NAME "avx"
#endif
#define KERNEL_LANES KERNEL_LANES_OF(8, 4)
enum { KERNEL_ROWS = 6, KERNEL_VECTORS = 2 };
#elif defined __aarch64__
#define KERNEL_NAME  "neon"
#define KERNEL_LANES KERNEL_LANES_OF(4, 2)
enum { KERNEL_ROWS = 8, KERNEL_VECTORS = 3 };
#else /* vectors of 16 bytes, such as SSE's; the compiler makes do without */
#define KERNEL_NAME  "portable"
#define KERNEL_LANES KERNEL_LANES_OF(4, 2)
enum { KERNEL_ROWS = 6, KERNEL_VECTORS = 2 };
#endif
enum { KERNEL_COLUMNS = KERNEL_LANES * KERNEL_VECTORS };

/* Transposes (rows, columns) into (columns, rows). */
void kernel_transpose(real *to, size_t to_row,           /* (columns, rows) */
                      const real *from, size_t from_row, /* (rows, columns) */
                      size_t rows, size_t columns);

/* What C begins with, C0: rows that are `row` apart; with 0 the same row everywhere, such as a
 * bias; NULL: zeros. It may be C itself. */
typedef struct KernelStart {
    const real *data; /* (m, n) or NULL */
    size_t row;
} KernelStart;

/* That of the block of C from (row, column) on. */
static inline KernelStart kernel_start_at(KernelStart start, size_t row, size_t column)
{
    if (start.data)
        start.data += row * start.row + column;
    return start;
}

/* A as strips of KERNEL_ROWS rows, with the distances between rows, between elements of a row
 * and between strips. */
typedef struct KernelStrips {
    const real *data; /* (m, k) */
    size_t row, next, strip;
} KernelStrips;

/* Any matrix, in place. */
static inline KernelStrips kernel_strips(const real *a /* (m, k) */, size_t row, size_t next)
{
    return (KernelStrips){a, row, next, KERNEL_ROWS * row};
}

/* The distance between packed strips of k columns: their size and a cache line more, so that
 * they do not map to the same sets of the cache. */
static inline size_t kernel_strip_size(size_t k)
{
    enum { LINE = 64 / sizeof(real) };
    return k * KERNEL_ROWS + LINE;
}

/* Packs A; a_row or a_next is 1. */
KernelStrips kernel_pack_strips(real *strips, /* (strips, kernel_strip_size(k)) */
                                const real *a, size_t a_row, size_t a_next, /* (m, k) */
                                size_t m, size_t k);

/* B as panels, with the distances between rows of a panel and between panels: KERNEL_COLUMNS
 * and k KERNEL_COLUMNS if packed, the stride of B and KERNEL_COLUMNS in place. With few rows of
 * A the time goes to reading B from memory: what lies `ahead` is then prefetched, in the middle
 * of the products; 0: nothing. It needs an A in place. */
typedef struct KernelPanels {
    const real *data; /* (k, n) */
    size_t row, next, ahead;
} KernelPanels;

/* Packs k rows and n columns of B into 64-byte-aligned panels; the last is zero-padded. b_row
 * and b_next are the strides between rows and between columns of B; one of them is 1. */
KernelPanels kernel_pack(real *panels, /* (panels, k, KERNEL_COLUMNS) */
                         const real *b, size_t b_row, size_t b_next, /* (k, n) */
                         size_t k, size_t n);

void kernel_multiply(size_t m, size_t n, size_t k, real alpha, KernelStrips a, KernelPanels b,
                     KernelStart start, real *c, size_t c_row); /* (m, n) */

/* C = C0 + alpha A B^T with B (n, k) unpacked: each element is a dot product of two rows,
 * summed in KERNEL_LANES lanes. For so few rows of A that packing B does not pay. */
void kernel_dots(size_t m, size_t n, size_t k, real alpha, const real *a,
                 size_t a_row,                              /* (m, k) */
                 const real *b, size_t b_row,               /* (n, k) */
                 KernelStart start, real *c, size_t c_row); /* (m, n) */

/* Multiplies and adds `rounds` times in as many independent registers as a block of C has, and
 * nothing else: the peak of this processor. Returns the floating-point operations. */
double kernel_spin(size_t rounds);

#endif
