/* Matrix products on the tiles of newer processors (AMX), of numbers in single precision.
 *
 *   C = A B      or      C += A B      A: (m, k)   B: (k, n)   C: (m, n)
 *
 * Tiles multiply numbers of 8 significant bits (bf16) some twenty times as fast as vectors
 * multiply floats, which have 24, and they sum in single precision. So a float is taken apart
 * into a pair, its first 8 bits and the 8 after them, and of the four products of two pairs
 * the three that count are summed:
 *
 *   x = high + low,    x y = high high + high low + low high        to about 17 bits
 *
 * Both factors are packed: in bands of 16 rows of A or columns of B, and along a band in steps
 * of 32 of the depth; a step of a band is a tile of the high halves and one of the low. A
 * number of C is the sum of its products in the order of the depth, whatever the shapes around
 * it: the bits do not depend on how a product is cut.
 *
 * Where tiles_exist says no, nothing else here may be called. */
#ifndef LINNET_TILES_H
#define LINNET_TILES_H

#include "src/real.h"

/* Packed factors are padded to whole squares of C, and to whole steps. */
enum { TILES_SQUARE = 32, TILES_STEP = 32 };

/* Asks the system, too, whose leave it takes to use them. */
bool tiles_exist(void);

/* A factor as the caller has it: `count` rows of A or columns of B, each a number `across` from
 * the next, and `depth` the other way, each a number `along` from the next. One of the two
 * distances is 1. */
typedef struct TileSource {
    const float *at;
    size_t across, along, count, depth;
} TileSource;

/* Numbers of two bytes that a packed factor takes. */
#define TILES_PACKED(count, depth) ((size_t)2 * (count) * (depth))

typedef enum TileSide { TILES_LEFT, TILES_RIGHT } TileSide;
/* Packed is 64-byte aligned. */
void tiles_pack(uint16_t *packed, TileSource source, TileSide side);

/* With add, the product is added to C. */
void tiles_multiply(size_t m, size_t n, size_t k, const uint16_t *a, const uint16_t *b,
                    bool add, float *c, size_t c_row);

#endif
