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
 * the blocking. Tiles and vectors round differently from each other.
 *
 * If bfloat_means() is BFLOAT_NONE, as in double always, call nothing else here. */
#ifndef LINNET_BFLOAT_H
#define LINNET_BFLOAT_H

#include "src/base/real.h"

/* Packed factors are padded to whole squares of C and whole steps. A row of a tile is a vector
 * of 16 pairs. */
enum { BFLOAT_SQUARE = 32, BFLOAT_STEP = 32, BFLOAT_BAND = 16 };
enum { BFLOAT_TILE = BFLOAT_BAND * BFLOAT_STEP };

/* How a float is represented. */
typedef enum BfloatParts { BFLOAT_ONE = 1, BFLOAT_PAIR = 2 } BfloatParts;

/* Which instructions multiply bf16. AMX tiles need permission from the kernel; this asks for
 * it. */
typedef enum BfloatMeans { BFLOAT_NONE, BFLOAT_VECTORS, BFLOAT_TILES } BfloatMeans;
BfloatMeans bfloat_means(void);

/* An unpacked factor: `count` rows of A or columns of B, `across` elements apart, each with
 * `depth` elements that are `along` apart. One of the two strides is 1. */
typedef struct BfloatSource {
    const real *at;
    size_t across, along, count, depth;
} BfloatSource;

/* Sizes in 16-bit elements: of a band, and of a whole packed factor. */
#define BFLOAT_STEPS(depth)           (((depth) + BFLOAT_STEP - 1) / BFLOAT_STEP)
#define BFLOAT_ONE_BAND(parts, depth) ((size_t)(parts)*BFLOAT_STEPS(depth) * BFLOAT_TILE)
#define BFLOAT_PACKED(parts, count, depth)                                           \
    (((count) + BFLOAT_SQUARE - 1) / BFLOAT_SQUARE * (BFLOAT_SQUARE / BFLOAT_BAND) * \
     BFLOAT_ONE_BAND(parts, depth))

typedef enum BfloatSide { BFLOAT_LEFT, BFLOAT_RIGHT } BfloatSide;
/* `packed` must be 64-byte aligned. */
void bfloat_pack(uint16_t *packed, BfloatParts parts, BfloatSource source, BfloatSide side);

/* a_band and b_band are the distances between bands, larger than a band where the factors are
 * parts of deeper ones. C begins with rows at `start`, start_row apart, or with zeros if that
 * is NULL; with a start_row of 0 every row begins the same. */
void bfloat_multiply(size_t m, size_t n, size_t k, BfloatParts parts, const uint16_t *a,
                     size_t a_band, const uint16_t *b, size_t b_band, const real *start,
                     size_t start_row, real *c, size_t c_row);

/* Like kernel_spin, in bf16. */
double bfloat_spin(size_t rounds);

#endif
