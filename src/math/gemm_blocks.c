#include "src/math/gemm_blocks.h"
#include "src/math/kernel.h"
#include "src/base/memory.h"
#include "src/math/team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Vectors so narrow that copying a factor into the order of the kernels takes little time
 * beside the products. */
enum { NARROW = KERNEL_LANES < 16 };

/* --- factors --- */

bool gemm_packs(Factor a)
{
    return NARROW && a.transposed;
}

Factor gemm_part(Factor whole, size_t row, size_t column)
{
    whole.at += whole.transposed ? column * whole.stride + row : row * whole.stride + column;
    return whole;
}

static const void *band_of(Factor x, size_t index)
{
    return x.packed ? (const char *)x.packed + index / x.unit * x.band : NULL;
}

Factor gemm_rows_from(Factor a, size_t row)
{
    a.packed = band_of(a, row);
    return gemm_part(a, row, 0);
}

Factor gemm_columns_from(Factor b, size_t column)
{
    b.packed = band_of(b, column);
    return gemm_part(b, 0, column);
}

size_t gemm_panels_reals(size_t depth, size_t columns)
{
    return team_tiles(columns, KERNEL_COLUMNS) * KERNEL_COLUMNS * depth;
}

size_t gemm_bands_reals(size_t count, size_t depth)
{
    return BFLOAT_PACKED(gemm_bfloat_parts(), count, depth) / (sizeof(real) / sizeof(uint16_t));
}

Factor gemm_in_panels(const real *memory, Factor b, size_t depth)
{
    b.packed = memory;
    b.unit = KERNEL_COLUMNS;
    b.band = KERNEL_COLUMNS * depth * sizeof *memory;
    return b;
}

Factor gemm_in_bands(const void *memory, Factor x, size_t depth)
{
    x.packed = memory;
    x.unit = BFLOAT_BAND;
    x.band = BFLOAT_ONE_BAND(gemm_bfloat_parts(), depth) * sizeof(uint16_t);
    return x;
}

static GemmStart start_at(GemmStart start, size_t row, size_t column)
{
    if (start.at)
        start.at += row * start.row + column;
    return start;
}

/* What a block of C begins with: after the first block of the depth, with what is there. */
static GemmStart begin(GemmStart start, size_t row, size_t column, size_t depth, const real *c,
                       size_t c_stride)
{
    return start_at(depth > 0 ? (GemmStart){c, c_stride} : start, row, column);
}

/* Blocking in single precision: DEPTH x HEIGHT numbers of A fit in the L2 cache, and for wide
 * vectors with them DEPTH x WIDTH of B. Narrow vectors take longer for a panel of B, so the
 * next one may come from the L3 cache; and they often pack A, which a larger WIDTH makes rarer.
 * HEIGHT is a multiple of KERNEL_ROWS. */
enum {
    DEPTH = 256,
    WIDTH = (NARROW ? 1024 : 256) / KERNEL_COLUMNS * KERNEL_COLUMNS,
    HEIGHT = (255 / KERNEL_ROWS + 1) * KERNEL_ROWS,
    GAP = 16
};

/* And in bf16. */
enum { DEEP = 1024, WIDE = 256, HIGH = 64 };

/* --- memory to pack blocks in --- */

typedef union Workspace {
    _Alignas(64) struct {
        real copy[(DEPTH + GAP) * (HEIGHT + GAP)], panels[DEPTH * WIDTH];
    } single;
    _Alignas(64) struct {
        uint16_t left[BFLOAT_PACKED(BFLOAT_PAIR, HIGH, DEEP)];
        uint16_t right[BFLOAT_PACKED(BFLOAT_PAIR, WIDE, DEEP)];
    } bf16;
} Workspace;

static pthread_key_t workspaces;
static bool has_workspaces;

static void make_workspaces(void)
{
    has_workspaces = pthread_key_create(&workspaces, free) == 0;
}

/* Each thread has one from its first product on. Thread-local arrays would be zeroed, and so
 * occupy memory, in every thread of the program that uses the library. */
static Workspace *workspace(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_workspaces);
    Workspace *own = has_workspaces ? pthread_getspecific(workspaces) : NULL;
    if (own)
        return own;
    own = memory_take_aligned(sizeof *own, "blocks of matrix products");
    if (!has_workspaces || pthread_setspecific(workspaces, own) != 0) {
        free(own);
        die("cannot create thread-specific memory for matrix products");
    }
    return own;
}

/* --- in single precision --- */

/* Whether the stride is a multiple of `bytes`. If that is a large power of two, all rows
 * map to a few sets of a cache, where they evict each other. */
static bool has_period(Factor x, size_t bytes)
{
    return x.stride * sizeof *x.at % bytes == 0;
}

static KernelStrips strips_of(Factor a)
{
    return kernel_strips(a.at, a.transposed ? 1 : a.stride, a.transposed ? a.stride : 1);
}

/* A block of A at a good stride. For narrow vectors a transposed A is packed as strips: in
 * place, each step of the kernel would read another line of the cache for a few numbers. */
static KernelStrips copy_compactly(real *copy, Factor a, size_t rows, size_t depth)
{
    if (gemm_packs(a))
        return kernel_pack_strips(copy, a.at, a.stride, rows, depth);
    size_t lines = a.transposed ? depth : rows, length = a.transposed ? rows : depth;
    size_t stride = (a.transposed ? HEIGHT : DEPTH) + GAP;
    for (size_t i = 0; i < lines; i++)
        memcpy(copy + i * stride, a.at + i * a.stride, length * sizeof *copy);
    return strips_of((Factor){.at = copy, .stride = stride, .transposed = a.transposed});
}

Factor gemm_pack_panels(real *memory, Factor b, size_t depth, size_t columns)
{
    kernel_pack(memory, b.at, b.transposed ? 1 : b.stride, b.transposed ? b.stride : 1, depth,
                columns);
    return gemm_in_panels(memory, b, depth);
}

static KernelPanels panels_of(Factor packed, size_t depth)
{
    return (KernelPanels){(const real *)packed.packed + depth * KERNEL_COLUMNS, KERNEL_COLUMNS,
                          packed.band / sizeof(real)};
}

/* Multiplies rows of A (m, depths) by all columns in `panels`. A block of A that is slow to
 * read in place is first copied. */
static void multiply_rows(size_t m, size_t columns, size_t depths, real alpha, Factor a,
                          KernelPanels panels, GemmStart start, real *c, size_t c_stride)
{
    enum { PERIOD = 2048 };
    bool awkward = m > GEMM_FEW && (has_period(a, PERIOD) || gemm_packs(a));
    for (size_t row = 0; row < m; row += HEIGHT) {
        size_t rows = m - row < HEIGHT ? m - row : HEIGHT;
        Factor part = gemm_part(a, row, 0);
        GemmStart first = start_at(start, row, 0);
        KernelStart from = {first.at, first.row};
        KernelStrips strips = awkward
                                  ? copy_compactly(workspace()->single.copy, part, rows, depths)
                                  : strips_of(part);
        kernel_multiply(rows, columns, depths, alpha, strips, panels, from, c + row * c_stride,
                        c_stride);
    }
}

/* Whether the kernel reads B in place, at least where columns fill a panel. It does not where B
 * is packed already, where its rows collide in the cache, or where packing pays: narrow vectors
 * reuse a panel more often, and need it in L1. */
static bool reads_in_place(size_t m, Factor b)
{
    enum { PERIOD = NARROW ? 1024 : 4096, MANY = 192 };
    if (b.transposed || b.packed)
        return false;
    return m <= GEMM_FEW || (!has_period(b, PERIOD) && !(NARROW && m >= MANY));
}

void gemm_by_kernel(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b,
                    GemmStart start, real *c, size_t c_stride)
{
    if (m <= GEMM_FEW && b.transposed && !b.packed && !a.transposed) {
        kernel_dots(m, n, k, alpha, a.at, a.stride, b.at, b.stride,
                    (KernelStart){start.at, start.row}, c, c_stride);
        return;
    }
    for (size_t column = 0; column < n; column += WIDTH)
        for (size_t depth = 0; depth < k; depth += DEPTH) {
            size_t columns = team_extent(n, WIDTH, column / WIDTH);
            size_t depths = team_extent(k, DEPTH, depth / DEPTH);
            GemmStart from = begin(start, 0, column, depth, c, c_stride);
            Factor x = gemm_part(a, 0, depth),
                   y = gemm_part(gemm_columns_from(b, column), depth, 0);
            size_t ready = reads_in_place(m, b) ? columns / KERNEL_COLUMNS * KERNEL_COLUMNS : 0;
            if (ready > 0)
                multiply_rows(m, ready, depths, alpha, x,
                              (KernelPanels){y.at, y.stride, KERNEL_COLUMNS}, from, c + column,
                              c_stride);
            if (ready == columns)
                continue;
            KernelPanels panels = panels_of(y, depth);
            if (!b.packed)
                panels = panels_of(gemm_pack_panels(workspace()->single.panels,
                                                    gemm_part(y, 0, ready), depths,
                                                    columns - ready),
                                   0);
            multiply_rows(m, columns - ready, depths, alpha, x, panels,
                          start_at(from, 0, ready), c + column + ready, c_stride);
        }
}

void gemm_turn(real *to, size_t to_stride, const real *from, size_t stride, size_t rows,
               size_t columns)
{
    kernel_turn(to, to_stride, from, stride, rows, columns);
}

/* --- in bf16 --- */

Factor gemm_pack_bands(void *memory, Factor x, GemmSide side, size_t count, size_t depth)
{
    bool along = x.transposed == (side == GEMM_B);
    BfloatSource source = {x.at, along ? x.stride : 1, along ? 1 : x.stride, count, depth};
    bfloat_pack(memory, gemm_bfloat_parts(), source,
                side == GEMM_A ? BFLOAT_LEFT : BFLOAT_RIGHT);
    return gemm_in_bands(memory, x, depth);
}

/* A block of a factor in bf16: `count` rows of A or columns of B from `first` on, and `depths`
 * numbers of each from `depth` on. Packs the block into `memory` unless the factor is packed.
 */
static Factor packed_part(Factor x, uint16_t *memory, GemmSide side, size_t first, size_t count,
                          size_t depth, size_t depths)
{
    bool ready = x.packed;
    x = side == GEMM_A ? gemm_part(gemm_rows_from(x, first), 0, depth)
                       : gemm_part(gemm_columns_from(x, first), depth, 0);
    if (!ready)
        return gemm_pack_bands(memory, x, side, count, depths);
    x.packed = (const uint16_t *)x.packed +
               depth / BFLOAT_STEP * gemm_bfloat_parts() * BFLOAT_TILE;
    return x;
}

/* Also blocked, where the factors are not packed yet. */
void gemm_by_bfloats(size_t m, size_t n, size_t k, Factor a, Factor b, GemmStart start, real *c,
                     size_t c_stride)
{
    Workspace *own = workspace();
    size_t wide = b.packed ? n : WIDE, high = a.packed ? m : HIGH;
    for (size_t column = 0; column < n; column += wide)
        for (size_t depth = 0; depth < k; depth += DEEP) {
            size_t columns = team_extent(n, wide, column / wide);
            size_t depths = team_extent(k, DEEP, depth / DEEP);
            Factor y = packed_part(b, own->bf16.right, GEMM_B, column, columns, depth, depths);
            for (size_t row = 0; row < m; row += high) {
                size_t rows = team_extent(m, high, row / high);
                Factor x = packed_part(a, own->bf16.left, GEMM_A, row, rows, depth, depths);
                GemmStart from = begin(start, row, column, depth, c, c_stride);
                bfloat_multiply(rows, columns, depths, gemm_bfloat_parts(), x.packed,
                                x.band / sizeof(uint16_t), y.packed, y.band / sizeof(uint16_t),
                                from.at, from.row, c + row * c_stride + column, c_stride);
            }
        }
}
