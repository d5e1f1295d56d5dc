#include "src/gemm.h"
#include "src/bfloat.h"
#include "src/kernel.h"
#include "src/team.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- choice of kernels --- */

/* OpenBLAS's own variable: setting it selects OpenBLAS with the given kernels. */
#define LIBRARY_VARIABLE "OPENBLAS_CORETYPE"

static bool asked_for_library(void)
{
    static atomic_int answer; /* 0: not decided yet */
    if (answer == 0)
        answer = getenv(LIBRARY_VARIABLE) ? 2 : 1;
    return answer == 2;
}

/* For products in the number type of the build. */
static bool uses_library(void)
{
#if defined LINNET_DOUBLE || defined KERNEL_IS_SLOW
    return true;
#else
    return asked_for_library();
#endif
}

/* Set once, before any thread starts. */
static GemmPrecision weights_precision = GEMM_SINGLE;

const char *gemm_precision_name(size_t index)
{
    static const char *const names[] = {"single", "pair", "bf16"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

bool gemm_set_precision(GemmPrecision precision, Error *error)
{
    const char *name = gemm_precision_name(precision);
    if (precision != GEMM_SINGLE && bfloat_means() == BFLOAT_NONE)
        return error_set(
            error,
            "--precision %s: this processor has no bf16 instructions (avx512_bf16); "
            "use --precision single",
            name);
    if (precision != GEMM_SINGLE && asked_for_library())
        return error_set(error,
                         "--precision %s: OpenBLAS has no such kernels; unset " LIBRARY_VARIABLE
                         " or use --precision single",
                         name);
    weights_precision = precision;
    return true;
}

const char *gemm_kernels(void)
{
    return weights_precision != GEMM_SINGLE
               ? bfloat_means() == BFLOAT_TILES ? "linnet-amx" : "linnet-avx512-bf16"
           : uses_library() ? openblas_get_corename()
                            : "linnet-" KERNEL_NAME;
}

static BfloatParts parts_of_weights(void)
{
    return weights_precision == GEMM_PAIR ? BFLOAT_PAIR : BFLOAT_ONE;
}

/* --- products --- */

/* The submatrix from (row, column) on. */
static Factor part_of(Factor whole, size_t row, size_t column)
{
    whole.at += whole.transposed ? column * whole.stride + row : row * whole.stride + column;
    return whole;
}

/* From a row of A or a column of B on; of a packed factor it must begin a band or a panel. */
static Factor rows_from(Factor a, size_t row)
{
    if (a.packed)
        a.packed = (const uint16_t *)a.packed + row / BFLOAT_BAND * a.band;
    return part_of(a, row, 0);
}

static Factor columns_from(Factor b, size_t column)
{
    if (b.packed && weights_precision == GEMM_SINGLE)
        b.packed = (const real *)b.packed + column / KERNEL_COLUMNS * b.band;
    else if (b.packed)
        b.packed = (const uint16_t *)b.packed + column / BFLOAT_BAND * b.band;
    return part_of(b, 0, column);
}

/* A single-threaded build of OpenBLAS has one global work buffer: serialise calls. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void multiply_by_library(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b,
                                bool add, real *c, size_t c_stride)
{
    static _Thread_local bool single;
    if (!single) { /* its own threads would change the bits */
        openblas_set_num_threads(1);
        single = true;
    }
    assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX);
    bool in_turn = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
    if (in_turn)
        pthread_mutex_lock(&turn);
#ifdef LINNET_DOUBLE
#define cblas_gemm cblas_dgemm
#else
#define cblas_gemm cblas_sgemm
#endif
    cblas_gemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
               b.transposed ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, alpha, a.at,
               (int)a.stride, b.at, (int)b.stride, add, c, (int)c_stride);
    if (in_turn)
        pthread_mutex_unlock(&turn);
}

#ifdef LINNET_DOUBLE
/* No kernels for double. */
static void multiply_by_kernel(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b,
                               bool add, real *c, size_t c_stride)
{
    multiply_by_library(m, n, k, alpha, a, b, add, c, c_stride);
}

static void multiply_by_bfloats(size_t m, size_t n, size_t k, Factor a, Factor b, bool add,
                                real *c, size_t c_stride)
{
    multiply_by_library(m, n, k, 1, a, b, add, c, c_stride);
}

static Factor pack(uint16_t *packed, Factor x, GemmSide side, size_t count, size_t depth)
{
    (void)packed, (void)side, (void)count, (void)depth;
    assert(false);
    return x;
}

static void pack_panels(real *panels, Factor b, size_t depth, size_t columns)
{
    (void)panels, (void)b, (void)depth, (void)columns;
    assert(false);
}

void gemm_turn(real *to, size_t to_stride, const real *from, size_t stride, size_t rows,
               size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * to_stride + i] = from[i * stride + j];
}
#else
/* Blocking: a packed DEPTH x WIDTH block of B and HEIGHT rows of A together fit in the L2
 * cache. HEIGHT is a multiple of KERNEL_ROWS. */
enum {
    DEPTH = 256,
    WIDTH = 256 / KERNEL_COLUMNS * KERNEL_COLUMNS,
    HEIGHT = 256 / KERNEL_ROWS * KERNEL_ROWS,
    GAP = 16
};

/* Rows with a stride of so many bytes map to the same few sets of a cache, where they displace
 * each other. */
static bool has_period(Factor x, size_t bytes)
{
    return x.stride * sizeof *x.at % bytes == 0;
}

static Factor copy_compactly(float *copy, Factor a, size_t rows, size_t depth)
{
    size_t lines = a.transposed ? depth : rows, length = a.transposed ? rows : depth;
    size_t stride = (a.transposed ? HEIGHT : DEPTH) + GAP;
    for (size_t i = 0; i < lines; i++)
        memcpy(copy + i * stride, a.at + i * a.stride, length * sizeof *copy);
    return (Factor){.at = copy, .stride = stride, .transposed = a.transposed};
}

static void pack_panels(real *panels, Factor b, size_t depth, size_t columns)
{
    kernel_pack(panels, b.at, b.transposed ? 1 : b.stride, b.transposed ? b.stride : 1, depth,
                columns);
}

/* Multiplies rows of A (m, depths) by all columns in `panels`. A block of A whose rows collide
 * is first copied to a better stride. */
static void multiply_rows(size_t m, size_t columns, size_t depths, real alpha, Factor a,
                          const float *panels, size_t panel_row, size_t panel_next, bool add,
                          float *c, size_t c_stride)
{
    static _Thread_local _Alignas(64) float copy[(DEPTH + GAP) * (HEIGHT + GAP)];
    enum { PERIOD = 2048 };
    bool awkward = has_period(a, PERIOD) && m > GEMM_FEW;
    for (size_t row = 0; row < m; row += HEIGHT) {
        size_t rows = m - row < HEIGHT ? m - row : HEIGHT;
        Factor part = part_of(a, row, 0);
        if (awkward)
            part = copy_compactly(copy, part, rows, depths);
        kernel_multiply(rows, columns, depths, alpha, part.at, a.transposed ? 1 : part.stride,
                        a.transposed ? part.stride : 1, panels, panel_row, panel_next, add,
                        c + row * c_stride, c_stride);
    }
}

/* Multiplies by some columns of B. They are packed if B is transposed, and where its rows
 * collide in the cache: narrow vectors reuse a panel more often, and many rows of A need it in
 * L1. So are the last columns, if they do not fill a panel; all others are read in place. */
static void multiply_columns(size_t m, size_t columns, size_t depths, real alpha, Factor a,
                             Factor b, bool add, real *c, size_t c_stride)
{
    static _Thread_local _Alignas(64) float panels[DEPTH * WIDTH];
    enum { PERIOD = KERNEL_LANES < 16 ? 1024 : 4096, MANY = 256 };
    bool in_place = !b.transposed && (m < MANY || !has_period(b, PERIOD));
    size_t ready = in_place ? columns / KERNEL_COLUMNS * KERNEL_COLUMNS : 0;
    if (ready > 0)
        multiply_rows(m, ready, depths, alpha, a, b.at, b.stride, KERNEL_COLUMNS, add, c,
                      c_stride);
    if (ready == columns)
        return;
    b = part_of(b, 0, ready);
    pack_panels(panels, b, depths, columns - ready);
    multiply_rows(m, columns - ready, depths, alpha, a, panels, KERNEL_COLUMNS,
                  depths * KERNEL_COLUMNS, add, c + ready, c_stride);
}

static void multiply_by_kernel(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b,
                               bool add, real *c, size_t c_stride)
{
    if (m <= GEMM_FEW && b.transposed && !b.packed && !a.transposed) {
        kernel_dots(m, n, k, alpha, a.at, a.stride, b.at, b.stride, add, c, c_stride);
        return;
    }
    for (size_t column = 0; column < n; column += WIDTH)
        for (size_t depth = 0; depth < k; depth += DEPTH) {
            size_t columns = team_extent(n, WIDTH, column / WIDTH);
            size_t depths = team_extent(k, DEPTH, depth / DEPTH);
            Factor x = part_of(a, 0, depth), y = part_of(columns_from(b, column), depth, 0);
            if (b.packed)
                multiply_rows(m, columns, depths, alpha, x,
                              (const real *)y.packed + depth * KERNEL_COLUMNS, KERNEL_COLUMNS,
                              b.band, add || depth > 0, c + column, c_stride);
            else
                multiply_columns(m, columns, depths, alpha, x, y, add || depth > 0, c + column,
                                 c_stride);
        }
}

void gemm_turn(real *to, size_t to_stride, const real *from, size_t stride, size_t rows,
               size_t columns)
{
    kernel_turn(to, to_stride, from, stride, rows, columns);
}

/* --- in bf16 --- */

/* Converts an A of `count` rows or a B of `count` columns. */
static Factor pack(uint16_t *packed, Factor x, GemmSide side, size_t count, size_t depth)
{
    bool along = x.transposed == (side == GEMM_B);
    BfloatSource source = {x.at, along ? x.stride : 1, along ? 1 : x.stride, count, depth};
    bfloat_pack(packed, parts_of_weights(), source,
                side == GEMM_A ? BFLOAT_LEFT : BFLOAT_RIGHT);
    x.packed = packed;
    x.band = BFLOAT_ONE_BAND(parts_of_weights(), depth);
    return x;
}

/* Part of a packed factor: `count` rows or columns from `first` on, and so much of the depth.
 * What is not packed yet is packed into `memory`. */
static Factor packed_part(Factor x, uint16_t *memory, GemmSide side, size_t first, size_t count,
                          size_t depth, size_t depths)
{
    bool ready = x.packed;
    x = side == GEMM_A ? part_of(rows_from(x, first), 0, depth)
                       : part_of(columns_from(x, first), depth, 0);
    if (!ready)
        return pack(memory, x, side, count, depths);
    x.packed = (const uint16_t *)x.packed +
               depth / BFLOAT_STEP * parts_of_weights() * BFLOAT_TILE;
    return x;
}

/* Also blocked, where the factors are not packed yet. */
static void multiply_by_bfloats(size_t m, size_t n, size_t k, Factor a, Factor b, bool add,
                                real *c, size_t c_stride)
{
    enum { DEEP = 1024, WIDE = 256, HIGH = 64 };
    static _Thread_local _Alignas(64) uint16_t left[BFLOAT_PACKED(BFLOAT_PAIR, HIGH, DEEP)],
        right[BFLOAT_PACKED(BFLOAT_PAIR, WIDE, DEEP)];
    size_t wide = b.packed ? n : WIDE, high = a.packed ? m : HIGH;
    for (size_t column = 0; column < n; column += wide)
        for (size_t depth = 0; depth < k; depth += DEEP) {
            size_t columns = team_extent(n, wide, column / wide);
            size_t depths = team_extent(k, DEEP, depth / DEEP);
            Factor y = packed_part(b, right, GEMM_B, column, columns, depth, depths);
            for (size_t row = 0; row < m; row += high) {
                size_t rows = team_extent(m, high, row / high);
                Factor x = packed_part(a, left, GEMM_A, row, rows, depth, depths);
                bfloat_multiply(rows, columns, depths, parts_of_weights(), x.packed, x.band,
                                y.packed, y.band, add || depth > 0, c + row * c_stride + column,
                                c_stride);
            }
        }
}
#endif

void gemm(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, GemmInto into, real *c,
          size_t c_stride)
{
    if (uses_library())
        multiply_by_library(m, n, k, alpha, a, b, into == GEMM_ADD, c, c_stride);
    else
        multiply_by_kernel(m, n, k, alpha, a, b, into == GEMM_ADD, c, c_stride);
}

void gemm_weights(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
                  size_t c_stride)
{
    if (weights_precision != GEMM_SINGLE && m > GEMM_FEW)
        multiply_by_bfloats(m, n, k, a, b, into == GEMM_ADD, c, c_stride);
    else
        gemm(m, n, k, 1, a, b, into, c, c_stride);
}

/* --- factors of several products --- */

static size_t packed_reals(size_t count, size_t depth)
{
    return BFLOAT_PACKED(parts_of_weights(), count, depth) / (sizeof(real) / sizeof(uint16_t));
}

static size_t panels_reals(size_t depth, size_t columns)
{
    return team_tiles(columns, KERNEL_COLUMNS) * KERNEL_COLUMNS * depth;
}

/* Whether single precision packs a factor. OpenBLAS packs everything itself. */
static bool pays(GemmSide side, bool transposed)
{
    return side == GEMM_B && transposed && !uses_library();
}

size_t gemm_share_reals(GemmSide side, bool transposed, size_t rows, size_t columns)
{
    if (weights_precision != GEMM_SINGLE)
        return side == GEMM_A ? packed_reals(rows, columns) : packed_reals(columns, rows);
    return pays(side, transposed) ? panels_reals(rows, columns) : 0;
}

Factor gemm_share(real *memory, Factor factor, GemmSide side, size_t rows, size_t columns)
{
    if (weights_precision != GEMM_SINGLE)
        return side == GEMM_A ? pack((uint16_t *)memory, factor, side, rows, columns)
                              : pack((uint16_t *)memory, factor, side, columns, rows);
    if (!pays(side, factor.transposed))
        return factor;
    pack_panels(memory, factor, rows, columns);
    factor.packed = memory;
    factor.band = rows * KERNEL_COLUMNS;
    return factor;
}

/* --- products of the team --- */

static struct {
    real *memory;
    size_t reals;
} lent;

void gemm_lend(real *memory, size_t reals)
{
    lent.memory = memory;
    lent.reals = reals;
}

size_t gemm_team_reals(size_t m, size_t n, size_t k, bool b_transposed)
{
    size_t b = gemm_share_reals(GEMM_B, b_transposed, k, n);
    return weights_precision == GEMM_SINGLE ? b : packed_reals(m, k) + b;
}

typedef struct Product {
    size_t m, n, k;
    Factor a, b;
    GemmInto into;
    real *c;
    size_t c_stride;
    void (*finish)(const GemmTile *tile, const void *context);
    const void *context;
    size_t tile_rows, tile_columns, across; /* across: tiles per row */
} Product;

static void do_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Product *p = job;
    size_t down = index / p->across, right = index % p->across;
    GemmTile tile = {.c_stride = p->c_stride,
                     .row = down * p->tile_rows,
                     .rows = team_extent(p->m, p->tile_rows, down),
                     .column = right * p->tile_columns,
                     .columns = team_extent(p->n, p->tile_columns, right)};
    tile.c = p->c + tile.row * p->c_stride + tile.column;
    gemm_weights(tile.rows, tile.columns, p->k, rows_from(p->a, tile.row),
                 columns_from(p->b, tile.column), p->into, tile.c, p->c_stride);
    if (p->finish)
        p->finish(&tile, p->context);
}

enum { AT_ONCE = 2 * BFLOAT_SQUARE };

/* Rows of A or, after these, columns of B. */
static void pack_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Product *p = job;
    size_t tiles = team_tiles(p->m, AT_ONCE);
    GemmSide side = index < tiles ? GEMM_A : GEMM_B;
    size_t first = (side == GEMM_A ? index : index - tiles) * AT_ONCE;
    size_t left = (side == GEMM_A ? p->m : p->n) - first;
    Factor part = side == GEMM_A ? rows_from(p->a, first) : columns_from(p->b, first);
    real *memory = lent.memory + (side == GEMM_A ? 0 : packed_reals(p->m, p->k));
    pack((uint16_t *)(memory + packed_reals(first, p->k)), part, side,
         left < AT_ONCE ? left : AT_ONCE, p->k);
}

enum { COLUMNS_AT_ONCE = 4 * KERNEL_COLUMNS };

/* Columns of B. */
static void panels_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Product *p = job;
    size_t first = index * COLUMNS_AT_ONCE;
    pack_panels(lent.memory + panels_reals(p->k, first), part_of(p->b, 0, first), p->k,
                team_extent(p->n, COLUMNS_AT_ONCE, index));
}

/* Prepares the factors for all tiles, if there is memory for that. */
static void prepare(Product *p)
{
    if (p->m <= GEMM_FEW || gemm_team_reals(p->m, p->n, p->k, p->b.transposed) > lent.reals)
        return;
    if (weights_precision != GEMM_SINGLE) {
        team_run(team_tiles(p->m, AT_ONCE) + team_tiles(p->n, AT_ONCE), pack_tile, p);
        p->a.packed = lent.memory;
        p->b.packed = lent.memory + packed_reals(p->m, p->k);
        p->a.band = p->b.band = BFLOAT_ONE_BAND(parts_of_weights(), p->k);
    } else if (!uses_library() && panels_reals(p->k, p->n) <= lent.reals) {
        team_run(team_tiles(p->n, COLUMNS_AT_ONCE), panels_tile, p);
        p->b.packed = lent.memory;
        p->b.band = p->k * KERNEL_COLUMNS;
    }
}

/* Splits into nearly equal tiles of about `most` at the largest: whole panels and bands. */
static size_t tile_extent(size_t whole, size_t most)
{
    enum { UNIT = BFLOAT_SQUARE % KERNEL_COLUMNS == 0 ? BFLOAT_SQUARE : KERNEL_COLUMNS };
    size_t extent = team_tiles(whole, team_tiles(whole, most));
    return (extent + UNIT - 1) / UNIT * UNIT;
}

/* Large tiles amortise packing; small products need small tiles for parallelism. With few rows
 * nothing is packed, and each worker should read an equal share of B. */
static void choose_tiles(Product *p)
{
    enum { LARGE = 256, MIDDLE = 256, SMALL = 128, SHARES = 16 };
    size_t share = p->n / SHARES < MIDDLE ? p->n / SHARES + 1 : MIDDLE;
    bool few = p->m <= GEMM_FEW, tall = p->m >= 4 * LARGE;
    p->tile_rows = tile_extent(p->m, tall ? LARGE : MIDDLE);
    p->tile_columns = tile_extent(p->n, few ? share : tall ? LARGE : SMALL);
    p->across = team_tiles(p->n, p->tile_columns);
}

void gemm_team(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
               size_t c_stride, void (*finish)(const GemmTile *tile, const void *context),
               const void *context)
{
    Product product = {.m = m, .n = n, .k = k, .a = a, .b = b, .into = into, .c = c};
    product.c_stride = c_stride;
    product.finish = finish;
    product.context = context;
    choose_tiles(&product);
    prepare(&product);
    team_run(team_tiles(m, product.tile_rows) * product.across, do_tile, &product);
}

double gemm_spin(size_t rounds)
{
    enum { PRODUCTS_OF_PAIRS = 3 };
    return weights_precision == GEMM_SINGLE ? kernel_spin(rounds)
           : weights_precision == GEMM_BF16 ? bfloat_spin(rounds)
                                            : bfloat_spin(rounds) / PRODUCTS_OF_PAIRS;
}
