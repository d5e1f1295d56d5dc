#include "src/math/gemm_blocks.h"
#include "src/math/bfloat.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/math/team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Vectors so narrow that copying a factor into the order of the kernels takes little time
 * beside the products. */
enum { NARROW = KERNEL_LANES < 16 };

/* --- factors --- */

/* In place, a strip of narrow vectors reads another line of the cache for a few numbers of a
 * transposed A at each step. A strip of wide vectors has rows that lie far apart in memory, too
 * many of them for the processor's prefetchers; packing them pays if enough columns follow. */
bool gemm_packs(Factor a, size_t n)
{
    enum { ENOUGH = 128 };
    return NARROW ? a.transposed : n >= ENOUGH;
}

Factor gemm_part(Factor whole, size_t row, size_t column)
{
    whole.data += whole.transposed ? column * whole.stride + row : row * whole.stride + column;
    return whole;
}

Factor gemm_from(Factor x, GemmSide side, size_t first)
{
    if (x.packed)
        x.packed = (const char *)x.packed + first / x.unit * x.band;
    return side == GEMM_A ? gemm_part(x, first, 0) : gemm_part(x, 0, first);
}

/* From number `first` of each row of A or column of B on. */
static Factor depth_part(Factor x, GemmSide side, size_t first)
{
    return side == GEMM_A ? gemm_part(x, 0, first) : gemm_part(x, first, 0);
}

static BfloatParts parts_of(GemmPrecision precision)
{
    return precision == GEMM_PAIR ? BFLOAT_PAIR : BFLOAT_ONE;
}

size_t gemm_packed_reals(GemmPrecision precision, size_t count, size_t depth)
{
    if (precision == GEMM_SINGLE)
        return team_tiles(count, KERNEL_COLUMNS) * KERNEL_COLUMNS * depth;
    return BFLOAT_PACKED(parts_of(precision), count, depth) / (sizeof(real) / sizeof(uint16_t));
}

Factor gemm_packed(GemmPrecision precision, const void *memory, Factor x, size_t depth)
{
    bool single = precision == GEMM_SINGLE;
    x.packed = memory;
    x.unit = single ? KERNEL_COLUMNS : BFLOAT_BAND;
    x.band = single ? KERNEL_COLUMNS * depth * sizeof(real)
                    : BFLOAT_ONE_BAND(parts_of(precision), depth) * sizeof(uint16_t);
    return x;
}

/* Whether neighbours in memory are neighbours along k. */
static bool runs_along(Factor x, GemmSide side)
{
    return x.transposed == (side == GEMM_B);
}

static void pack_bfloats(GemmPrecision precision, uint16_t *memory, size_t band, Factor x,
                         GemmSide side, size_t count, size_t depth)
{
    bool along = runs_along(x, side);
    bfloat_kernel(0)->pack(
        memory, band, parts_of(precision),
        (BfloatSource){x.data, along ? x.stride : 1, along ? 1 : x.stride, count, depth},
        side == GEMM_A ? BFLOAT_LEFT : BFLOAT_RIGHT);
}

Factor gemm_pack(GemmPrecision precision, void *memory, Factor x, GemmSide side, size_t count,
                 size_t depth)
{
    bool along = runs_along(x, side);
    if (precision == GEMM_SINGLE)
        kernel_pack(memory, x.data, along ? 1 : x.stride, along ? x.stride : 1, depth, count);
    else
        pack_bfloats(precision, memory, BFLOAT_ONE_BAND(parts_of(precision), depth), x, side,
                     count, depth);
    return gemm_packed(precision, memory, x, depth);
}

void gemm_pack_steps(GemmPrecision precision, void *memory, Factor x, GemmSide side,
                     size_t count, size_t first, size_t depth, size_t whole)
{
    const BfloatParts parts = parts_of(precision);
    pack_bfloats(precision, (uint16_t *)memory + first / BFLOAT_STEP * parts * BFLOAT_TILE,
                 BFLOAT_ONE_BAND(parts, whole), depth_part(x, side, first), side, count, depth);
}

/* What a block of C begins with: after the first block of the depth, with what is there. */
static KernelStart begin(KernelStart start, size_t row, size_t column, size_t depth,
                         const real *c, size_t c_stride)
{
    return kernel_start_at(depth > 0 ? (KernelStart){c, c_stride} : start, row, column);
}

/* Blocking in single precision: DEPTH x HEIGHT numbers of A fit in the L2 cache. The next panel
 * of B may come from the L3 cache; a large WIDTH makes packing A rarer. HEIGHT is a multiple of
 * KERNEL_ROWS. */
enum {
    DEPTH = 256,
    WIDTH = 1024 / KERNEL_COLUMNS * KERNEL_COLUMNS,
    HEIGHT = (255 / KERNEL_ROWS + 1) * KERNEL_ROWS,
    GAP = 16
};

/* Few rows of A and B in place: rows of B are read from end to end, this many at a time, as the
 * prefetchers of memory like it. */
enum { STREAMED = 32 };

/* And in bf16. */
enum { DEEP = 1024, WIDE = 256, HIGH = 64 };

/* --- memory to pack blocks in --- */

typedef union Blocks {
    _Alignas(64) struct {
        real copy[(DEPTH + 2 * GAP) * (HEIGHT + GAP)], panels[DEPTH * WIDTH];
    } single;
    _Alignas(64) struct {
        uint16_t left[BFLOAT_PACKED(BFLOAT_PAIR, HIGH, DEEP)];
        uint16_t right[BFLOAT_PACKED(BFLOAT_PAIR, WIDE, DEEP)];
    } bf16;
} Blocks;

static pthread_key_t blocks_key;
static bool has_key;

static void make_key(void)
{
    has_key = pthread_key_create(&blocks_key, free) == 0;
}

/* Each thread has one from its first product on. Thread-local arrays would be zeroed, and so
 * occupy memory, in every thread of the program that uses the library. */
static Blocks *thread_blocks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    Blocks *blocks = has_key ? pthread_getspecific(blocks_key) : NULL;
    if (blocks)
        return blocks;
    blocks = memory_new_aligned(sizeof *blocks, "blocks of matrix products");
    if (!has_key || pthread_setspecific(blocks_key, blocks) != 0) {
        free(blocks);
        die("cannot create thread-specific memory for matrix products");
    }
    return blocks;
}

/* --- in single precision --- */

/* Whether the stride is a multiple of `bytes`. If that is a large power of two, all rows
 * map to a few sets of a cache, where they evict each other. */
static bool has_period(Factor x, size_t bytes)
{
    return x.stride * sizeof *x.data % bytes == 0;
}

static KernelStrips strips_of(Factor a)
{
    return kernel_strips(a.data, a.transposed ? 1 : a.stride, a.transposed ? a.stride : 1);
}

/* A block of A as strips, or in place at a better stride. */
static KernelStrips copy_compactly(real *copy, Factor a, size_t rows, size_t depth, bool packs)
{
    if (packs)
        return kernel_pack_strips(copy, a.data, a.transposed ? 1 : a.stride,
                                  a.transposed ? a.stride : 1, rows, depth);
    size_t lines = a.transposed ? depth : rows, length = a.transposed ? rows : depth;
    size_t stride = (a.transposed ? HEIGHT : DEPTH) + GAP;
    for (size_t i = 0; i < lines; i++)
        memcpy(copy + i * stride, a.data + i * a.stride, length * sizeof *copy);
    return strips_of((Factor){.data = copy, .stride = stride, .transposed = a.transposed});
}

static KernelPanels panels_of(Factor packed, size_t depth)
{
    return (KernelPanels){.data = (const real *)packed.packed + depth * KERNEL_COLUMNS,
                          .row = KERNEL_COLUMNS,
                          .next = packed.band / sizeof(real)};
}

/* Multiplies rows of A (m, depths) by all columns in `panels`. A block of A that is slow to
 * read in place is first copied. */
static void multiply_rows(size_t m, size_t columns, size_t depths, real alpha, Factor a,
                          KernelPanels panels, KernelStart start, real *c, size_t c_stride)
{
    enum { PERIOD = 2048, SEVERAL = 4 };
    const bool packs = gemm_packs(a, columns) && m > SEVERAL && !panels.ahead;
    const bool copies = packs || (m > SEVERAL && has_period(a, PERIOD));
    for (size_t row = 0; row < m; row += HEIGHT) {
        size_t rows = m - row < HEIGHT ? m - row : HEIGHT;
        Factor part = gemm_part(a, row, 0);
        KernelStrips strips = copies ? copy_compactly(thread_blocks()->single.copy, part, rows,
                                                      depths, packs)
                                     : strips_of(part);
        kernel_multiply(rows, columns, depths, alpha, strips, panels,
                        kernel_start_at(start, row, 0), c + row * c_stride, c_stride);
    }
}

/* Whether the kernel reads B in place, at least where columns fill a panel. It does not where B
 * is packed already, where its rows collide in the cache, or where many rows of A reuse a
 * panel. */
static bool reads_in_place(size_t m, Factor b)
{
    enum { PERIOD = NARROW ? 1024 : 4096, MANY = 192 };
    if (b.transposed || b.packed)
        return false;
    return m <= GEMM_FEW || (!has_period(b, PERIOD) && m < MANY);
}

void gemm_by_kernel(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b,
                    KernelStart start, real *c, size_t c_stride)
{
    if (m <= GEMM_FEW && b.transposed && !b.packed && !a.transposed) {
        kernel_dots(m, n, k, alpha, a.data, a.stride, b.data, b.stride, start, c, c_stride);
        return;
    }
    const bool streams = m <= GEMM_FEW && !b.transposed && !b.packed;
    const size_t wide = streams ? n : WIDTH, deep = streams ? STREAMED : DEPTH;
    const size_t ahead = streams ? STREAMED * b.stride : 0;
    for (size_t column = 0; column < n; column += wide)
        for (size_t depth = 0; depth < k; depth += deep) {
            size_t columns = team_extent(n, wide, column / wide);
            size_t depths = team_extent(k, deep, depth / deep);
            KernelStart from = begin(start, 0, column, depth, c, c_stride);
            Factor x = gemm_part(a, 0, depth),
                   y = gemm_part(gemm_from(b, GEMM_B, column), depth, 0);
            size_t ready = reads_in_place(m, b) ? columns / KERNEL_COLUMNS * KERNEL_COLUMNS : 0;
            if (ready > 0)
                multiply_rows(m, ready, depths, alpha, x,
                              (KernelPanels){y.data, y.stride, KERNEL_COLUMNS, ahead}, from,
                              c + column, c_stride);
            if (ready == columns)
                continue;
            KernelPanels panels = panels_of(y, depth);
            if (!b.packed)
                panels = panels_of(gemm_pack(GEMM_SINGLE, thread_blocks()->single.panels,
                                             gemm_part(y, 0, ready), GEMM_B, columns - ready,
                                             depths),
                                   0);
            multiply_rows(m, columns - ready, depths, alpha, x, panels,
                          kernel_start_at(from, 0, ready), c + column + ready, c_stride);
        }
}

/* --- in bf16 --- */

/* A block of a factor in bf16: `count` rows of A or columns of B from `first` on, and `depths`
 * numbers of each from `depth` on. Packs the block into `memory` unless the factor is packed.
 */
static Factor packed_part(GemmPrecision precision, Factor x, uint16_t *memory, GemmSide side,
                          size_t first, size_t count, size_t depth, size_t depths)
{
    bool ready = x.packed;
    x = depth_part(gemm_from(x, side, first), side, depth);
    if (!ready)
        return gemm_pack(precision, memory, x, side, count, depths);
    x.packed = (const uint16_t *)x.packed +
               depth / BFLOAT_STEP * parts_of(precision) * BFLOAT_TILE;
    return x;
}

/* Also blocked, where the factors are not packed yet. */
void gemm_by_bfloats(GemmPrecision precision, size_t m, size_t n, size_t k, Factor a, Factor b,
                     KernelStart start, real *c, size_t c_stride)
{
    Blocks *blocks = thread_blocks();
    size_t wide = b.packed ? n : WIDE, high = a.packed ? m : HIGH;
    for (size_t column = 0; column < n; column += wide)
        for (size_t depth = 0; depth < k; depth += DEEP) {
            size_t columns = team_extent(n, wide, column / wide);
            size_t depths = team_extent(k, DEEP, depth / DEEP);
            Factor y = packed_part(precision, b, blocks->bf16.right, GEMM_B, column, columns,
                                   depth, depths);
            for (size_t row = 0; row < m; row += high) {
                size_t rows = team_extent(m, high, row / high);
                Factor x = packed_part(precision, a, blocks->bf16.left, GEMM_A, row, rows,
                                       depth, depths);
                KernelStart from = begin(start, row, column, depth, c, c_stride);
                bfloat_multiply(rows, columns, depths, parts_of(precision), x.packed,
                                x.band / sizeof(uint16_t), y.packed, y.band / sizeof(uint16_t),
                                from.data, from.row, c + row * c_stride + column, c_stride);
            }
        }
}
