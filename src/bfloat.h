/* Matrix products of short numbers (bf16), which newer processors multiply faster than floats.
 *
 *   C = A B      or      C += A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * A bf16 has 8 significant bits where a float has 24, and the same exponents. Their products
 * are summed in single precision. A float is rounded to one, or taken apart into a pair, its
 * first 8 bits and the 8 after them; of the four products of two pairs the three that count are
 * summed:
 *
 *   x = high + low,    x y = high high + high low + low high        to about 17 bits
 *
 * Tiles (AMX) multiply them some twenty times as fast as vectors multiply floats. Vectors
 * multiply them at best twice as fast as floats, so that pairs, of three products each, gain
 * nothing there.
 *
 * Both factors are packed: in bands of 16 rows of A or columns of B, and along a band in steps
 * of 32 of the depth; a step of a band is a tile of the high halves and, of pairs, one of the
 * low. A number of C is the sum of its products in a fixed order, step by step along the depth,
 * whatever the shapes around it: the bits do not depend on how a product is cut. Between tiles
 * and vectors, which round otherwise, they differ.
 *
 * Where the processor multiplies none, nothing else here may be called. */
#ifndef LINNET_BFLOAT_H
#define LINNET_BFLOAT_H

#include "src/real.h"

/* Packed factors are padded to whole squares of C, and to whole steps. */
enum { BFLOAT_SQUARE = 32, BFLOAT_STEP = 32 };

/* What a float becomes. */
typedef enum BfloatParts { BFLOAT_ONE = 1, BFLOAT_PAIR = 2 } BfloatParts;

/* What multiplies them. For tiles it takes the system's leave, which is asked for. */
typedef enum BfloatMeans { BFLOAT_NONE, BFLOAT_VECTORS, BFLOAT_TILES } BfloatMeans;
BfloatMeans bfloat_means(void);

/* A factor as the caller has it: `count` rows of A or columns of B, each a number `across` from
 * the next, and `depth` the other way, each a number `along` from the next. One of the two
 * distances is 1. */
typedef struct BfloatSource {
    const float *at;
    size_t across, along, count, depth;
} BfloatSource;

/* Numbers of two bytes that a packed factor takes. */
#define BFLOAT_PACKED(parts, count, depth) ((size_t)(parts) * (count) * (depth))

typedef enum BfloatSide { BFLOAT_LEFT, BFLOAT_RIGHT } BfloatSide;
/* Packed is 64-byte aligned. */
void bfloat_pack(uint16_t *packed, BfloatParts parts, BfloatSource source, BfloatSide side);

/* With add, the product is added to C. */
void bfloat_multiply(size_t m, size_t n, size_t k, BfloatParts parts, const uint16_t *a,
                     const uint16_t *b, bool add, float *c, size_t c_row);

#endif
