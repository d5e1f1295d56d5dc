#include "src/math/gemm_blocks.h"
#include "src/math/kernel.h"
#include "src/math/team.h"

#include <assert.h>

typedef struct Lent {
    real *memory;
    size_t reals;
} Lent;

/* Of the thread that calls gemm_team; its workers find it in the Product. */
static _Thread_local Lent lent;

void gemm_lend(real *memory, size_t reals)
{
    lent = (Lent){memory, reals};
}

size_t gemm_team_reals(size_t m, size_t n, size_t k, bool b_transposed)
{
    size_t b = gemm_share_reals(GEMM_B, b_transposed, k, n);
    return gemm_precision() == GEMM_SINGLE ? b : gemm_bands_reals(m, k) + b;
}

typedef struct Product {
    size_t m, n, k;
    Factor a, b;
    GemmInto into;
    real *c;
    size_t c_stride;
    GemmExtra extra;
    Lent lent;
    size_t tile_rows, tile_columns, across; /* across: tiles per row */
    size_t place; /* of the tiles of a thread, in reals, or 0: every tile has its own */
} Product;

static void do_tile(void *job, size_t index, size_t worker)
{
    const Product *p = job;
    size_t down = index / p->across, right = index % p->across;
    GemmTile tile = {.c_stride = p->place ? gemm_stride(p->tile_columns) : p->c_stride,
                     .row = down * p->tile_rows,
                     .rows = team_extent(p->m, p->tile_rows, down),
                     .column = right * p->tile_columns,
                     .columns = team_extent(p->n, p->tile_columns, right)};
    tile.c = p->c + (p->place ? worker * p->place : tile.row * p->c_stride + tile.column);
    GemmStart start = {p->into == GEMM_ADD ? tile.c : NULL, tile.c_stride};
    if (p->extra.bias)
        start = (GemmStart){p->extra.bias + tile.column, 0};
    gemm_weights_from(start, tile.rows, tile.columns, p->k, gemm_rows_from(p->a, tile.row),
                      gemm_columns_from(p->b, tile.column), tile.c, tile.c_stride);
    if (p->extra.finish.call)
        p->extra.finish.call(&tile, p->extra.finish.context);
}

enum { AT_ONCE = 2 * BFLOAT_SQUARE, COLUMNS_AT_ONCE = 4 * KERNEL_COLUMNS };

/* Rows of A or, after these, columns of B. */
static void pack_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Product *p = job;
    size_t tiles = team_tiles(p->m, AT_ONCE);
    GemmSide side = index < tiles ? GEMM_A : GEMM_B;
    size_t first = (side == GEMM_A ? index : index - tiles) * AT_ONCE;
    size_t left = (side == GEMM_A ? p->m : p->n) - first;
    Factor part = side == GEMM_A ? gemm_rows_from(p->a, first) : gemm_columns_from(p->b, first);
    real *memory = p->lent.memory + (side == GEMM_A ? 0 : gemm_bands_reals(p->m, p->k));
    gemm_pack_bands(memory + gemm_bands_reals(first, p->k), part, side,
                    left < AT_ONCE ? left : AT_ONCE, p->k);
}

/* Columns of B. */
static void panels_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Product *p = job;
    size_t first = index * COLUMNS_AT_ONCE;
    gemm_pack_panels(p->lent.memory + gemm_panels_reals(p->k, first), gemm_part(p->b, 0, first),
                     p->k, team_extent(p->n, COLUMNS_AT_ONCE, index));
}

/* Prepares the factors for all tiles, if there is memory for that: panels of B only if several
 * rows of tiles share them. */
static void prepare(Product *p)
{
    if (p->m <= GEMM_FEW || gemm_team_reals(p->m, p->n, p->k, p->b.transposed) > p->lent.reals)
        return;
    if (gemm_precision() != GEMM_SINGLE) {
        team_run(team_tiles(p->m, AT_ONCE) + team_tiles(p->n, AT_ONCE), pack_tile, p);
        p->a = gemm_in_bands(p->lent.memory, p->a, p->k);
        p->b = gemm_in_bands(p->lent.memory + gemm_bands_reals(p->m, p->k), p->b, p->k);
    } else if (p->m > p->tile_rows && gemm_panels_reals(p->k, p->n) <= p->lent.reals) {
        team_run(team_tiles(p->n, COLUMNS_AT_ONCE), panels_tile, p);
        p->b = gemm_in_panels(p->lent.memory, p->b, p->k);
    }
}

enum { UNIT = BFLOAT_SQUARE % KERNEL_COLUMNS == 0 ? BFLOAT_SQUARE : KERNEL_COLUMNS };

/* Rounded up to whole panels and bands. */
static size_t whole_units(size_t extent)
{
    return (extent + UNIT - 1) / UNIT * UNIT;
}

/* Splits into nearly equal tiles of about `most` at the largest. */
static size_t tile_extent(size_t whole, size_t most)
{
    return whole_units(team_tiles(whole, team_tiles(whole, most)));
}

/* Where A is packed, every tile packs its rows of A and columns of B. So they are as large as
 * leaves TILES of them: the longer side is halved until there are as many. */
static void halve_tiles(Product *p)
{
    enum { TILES = 8, SMALL = 128 };
    size_t rows = p->m, columns = p->n;
    while (team_tiles(p->m, rows) * team_tiles(p->n, columns) < TILES) {
        size_t *longer = rows > columns ? &rows : &columns;
        if (*longer < 2 * SMALL)
            break;
        *longer = *longer / 2;
    }
    p->tile_rows = whole_units(rows);
    p->tile_columns = whole_units(columns);
}

/* Large tiles amortise packing; small products need small tiles for parallelism. With few rows
 * nothing is packed, and each worker should read an equal share of B. */
static void choose_tiles(Product *p)
{
    enum { LARGE = 256, SMALL = 128, SHARES = 16 };
    size_t share = p->n / SHARES < LARGE ? p->n / SHARES + 1 : LARGE;
    bool few = p->m <= GEMM_FEW, tall = p->m >= 4 * LARGE;
    p->tile_rows = tile_extent(p->m, LARGE);
    p->tile_columns = tile_extent(p->n, few ? share : tall ? LARGE : SMALL);
    if (!few && gemm_packs(p->a))
        halve_tiles(p);
    while (!few && p->m % p->tile_rows > 0 && p->m % p->tile_rows <= GEMM_FEW)
        p->tile_rows += UNIT; /* the last rows would take the path for decoding */
    p->across = team_tiles(p->n, p->tile_columns);
}

/* A place for the tiles of each thread, where C has room for all of them. */
static void share_places(Product *p)
{
    size_t place = p->tile_rows * gemm_stride(p->tile_columns);
    if (team_size() * place <= (p->m - 1) * p->c_stride + p->n)
        p->place = place;
}

void gemm_team(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
               size_t c_stride, GemmExtra extra)
{
    assert((!extra.bias && !extra.transient) || into == GEMM_SET);
    Product product = {.m = m, .n = n, .k = k, .a = a, .b = b, .into = into, .c = c};
    product.c_stride = c_stride;
    product.extra = extra;
    product.lent = lent;
    choose_tiles(&product);
    if (extra.transient)
        share_places(&product);
    prepare(&product);
    team_run(team_tiles(m, product.tile_rows) * product.across, do_tile, &product);
}
