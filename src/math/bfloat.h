/* Matrix products in bf16, which newer processors multiply faster than floats.
 *
 *   C = C0 + A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * A bf16 has the exponent range of a float but 8 significant bits instead of 24. Products
 * accumulate in single precision. A float is either rounded to one bf16 or split into a pair:
 * its leading 8 bits and the next 8. A product of pairs sums three of the four partial
 * products:
 *
 *   x = high + low,    x y = high high + high low + low high        to about 17 bits
 *
 * AMX tiles run bf16 about twenty times as fast as vector units run floats. Vector units run
 * bf16 twice as fast as floats (AMD Zen 4) or half as fast (Intel Emerald Rapids). Pairs, with
 * three products each, gain nothing there.
 *
 * Both factors are packed into bands of 16 rows of A or 16 columns of B. Along k a band is cut
 * into steps of 32; each step is one tile of high halves and, for pairs, one of low halves.
 * Every element of C sums its products in a fixed order along k, so the bits do not depend on
 * the blocking. Tiles and vectors round differently from each other. */
#ifndef LINNET_BFLOAT_H
#define LINNET_BFLOAT_H

#include "src/base/real.h"

/* Packed factors are padded to whole squares of C and whole steps. A row of a tile is a vector
 * of 16 pairs. */
enum { BFLOAT_SQUARE = 32, BFLOAT_STEP = 32, BFLOAT_BAND = 16 };
enum { BFLOAT_TILE = BFLOAT_BAND * BFLOAT_STEP };

/* How a float is represented. */
typedef enum BfloatParts { BFLOAT_ONE = 1, BFLOAT_PAIR = 2 } BfloatParts;

/* An unpacked factor: `count` rows of A or columns of B, `across` elements apart, each with
 * `depth` elements that are `along` apart. One of the two strides is 1. */
typedef struct BfloatSource {
    const real *data; /* (count, depth) */
    size_t across, along, count, depth;
} BfloatSource;

/* Sizes in 16-bit elements: of a band, and of a whole packed factor. */
#define BFLOAT_STEPS(depth)           (((depth) + BFLOAT_STEP - 1) / BFLOAT_STEP)
#define BFLOAT_ONE_BAND(parts, depth) ((size_t)(parts)*BFLOAT_STEPS(depth) * BFLOAT_TILE)
#define BFLOAT_PACKED(parts, count, depth)                                           \
    (((count) + BFLOAT_SQUARE - 1) / BFLOAT_SQUARE * (BFLOAT_SQUARE / BFLOAT_BAND) * \
     BFLOAT_ONE_BAND(parts, depth))

typedef enum BfloatSide { BFLOAT_LEFT, BFLOAT_RIGHT } BfloatSide;
/* `packed` must be 64-byte aligned; its bands are `band` apart, BFLOAT_ONE_BAND(parts, depth)
 * or, for some steps of a deeper factor, more. A whole factor has BFLOAT_PACKED(parts, count,
 * depth) elements. */
typedef void BfloatPack(uint16_t *packed, size_t band, BfloatParts parts, BfloatSource source,
                        BfloatSide side);

/* C = C0 + A B for one 32 x 32 square of C, from two packed bands of A and two of B. C0 has
 * rows that are start_row apart; it is zero if `start` is NULL. */
typedef void BfloatSquare(BfloatParts parts, size_t steps,     /* of 32 along k */
                          const uint16_t *a, size_t a_band,    /* 2 bands, a_band apart */
                          const uint16_t *b, size_t b_band,    /* 2 bands, b_band apart */
                          const real *start, size_t start_row, /* (32, 32) or NULL */
                          real *c, size_t c_row);              /* (32, 32) */

/* Instructions that multiply bf16. They are compiled whatever the target of the build is. */
typedef struct BfloatKernel {
    const char *name; /* as gemm_kernels returns it */
    BfloatPack *pack;
    BfloatSquare *multiply;
    double (*spin)(size_t rounds); /* like kernel_spin */
} BfloatKernel;

/* Those that this processor has, the fastest first; NULL after the last, and in double always.
 * AMX tiles need permission from the kernel; this asks for it. */
const BfloatKernel *bfloat_kernel(size_t index);

/* Multiplies with the fastest kernel. a_band and b_band are the distances between bands, larger
 * than a band where the factors are parts of deeper ones. C begins with rows at `start`,
 * start_row apart, or with zeros if that is NULL; with a start_row of 0 every row begins the
 * same. */
void bfloat_multiply(size_t m, size_t n, size_t k, BfloatParts parts, const uint16_t *a,
                     size_t a_band,                       /* packed (m, k) */
                     const uint16_t *b, size_t b_band,    /* packed (k, n) */
                     const real *start, size_t start_row, /* (m, n) or NULL */
                     real *c, size_t c_row);              /* (m, n) */

/* For bfloat.c and bfloat_pack.c. */
#if defined(__x86_64__) && defined(__linux__) && !defined(LINNET_DOUBLE)
#define BFLOAT_KERNELS
#define VECTORS __attribute__((target("avx512f,avx512bw,avx512bf16")))
#define INLINE  __attribute__((always_inline)) VECTORS static inline
BfloatPack bfloat_pack;
#endif

#endif
