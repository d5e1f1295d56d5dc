#include "src/math/gemm.h"
#include "src/base/memory.h"
#include "src/base/phase.h"
#include "src/math/bfloat.h"
#include "src/math/team.h"

#include <assert.h>
#include <math.h>

/* --- precision --- */

/* Set once, before any thread starts. */
static GemmPrecision precision = GEMM_SINGLE;

const char *gemm_precision_name(size_t index)
{
    static const char *const names[] = {"single", "pair", "bf16"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

bool gemm_set_precision(GemmPrecision wanted, Error *error)
{
    if (wanted != GEMM_SINGLE && !bfloat_kernel(0))
        return error_set(error,
                         "--precision %s: needs Linux on an x86-64 processor with AVX512_BF16; "
                         "use --precision single",
                         gemm_precision_name(wanted));
    precision = wanted;
    return true;
}

const char *gemm_kernels(void)
{
    return precision == GEMM_SINGLE ? "linnet-" KERNEL_NAME : bfloat_kernel(0)->name;
}

/* --- products --- */

static KernelStart start_of(GemmInto into, const real *c, size_t c_stride)
{
    return into == GEMM_ADD ? (KernelStart){c, c_stride} : (KernelStart){0};
}

void gemm(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, GemmInto into, real *c,
          size_t c_stride)
{
    gemm_by_kernel(m, n, k, alpha, a, b, start_of(into, c, c_stride), c, c_stride);
}

static void multiply_weights(KernelStart start, size_t m, size_t n, size_t k, Factor a,
                             Factor b, real *c, size_t c_stride)
{
    if (precision != GEMM_SINGLE && m > GEMM_FEW) {
        gemm_by_bfloats(precision, m, n, k, a, b, start, c, c_stride);
        return;
    }
    if (precision != GEMM_SINGLE)
        a.packed = b.packed = NULL; /* in bf16: the originals are read */
    gemm_by_kernel(m, n, k, 1, a, b, start, c, c_stride);
}

void gemm_weights(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
                  size_t c_stride)
{
    multiply_weights(start_of(into, c, c_stride), m, n, k, a, b, c, c_stride);
}

/* In bands of rows up to the diagonal. */
void gemm_symmetric(bool exact, size_t side, size_t k, Factor a, Factor b, real *c,
                    size_t c_stride)
{
    exact = exact || precision == GEMM_SINGLE;
    size_t band = exact ? 4 * KERNEL_ROWS : 2 * BFLOAT_SQUARE;
    for (size_t row = 0; row < side; row += band) {
        size_t rows = team_extent(side, band, row / band);
        Factor part = gemm_from(a, GEMM_A, row);
        real *at = c + row * c_stride;
        if (exact)
            gemm(rows, row + rows, k, 1, part, b, GEMM_SET, at, c_stride);
        else
            gemm_weights(rows, row + rows, k, part, b, GEMM_SET, at, c_stride);
        kernel_transpose(c + row, c_stride, at, c_stride, rows, row);
    }
}

/* --- factors of several products --- */

/* Whether it pays to pack a factor. */
static bool pays(GemmSide side, bool transposed)
{
    return precision != GEMM_SINGLE || (side == GEMM_B && transposed);
}

size_t gemm_prepack_reals(GemmSide side, bool transposed, size_t rows, size_t columns)
{
    if (!pays(side, transposed))
        return 0;
    return side == GEMM_A ? gemm_packed_reals(precision, rows, columns)
                          : gemm_packed_reals(precision, columns, rows);
}

Factor gemm_prepack(real *memory, Factor factor, GemmSide side, size_t rows, size_t columns)
{
    if (!pays(side, factor.transposed))
        return factor;
    return side == GEMM_A ? gemm_pack(precision, memory, factor, side, rows, columns)
                          : gemm_pack(precision, memory, factor, side, columns, rows);
}

/* --- products on the thread team --- */

typedef struct Workspace {
    real *memory; /* (reals) */
    size_t reals;
} Workspace;

/* Of the thread that calls gemm_team; its workers find it in the Product. */
static _Thread_local Workspace workspace;

void gemm_set_workspace(real *memory, size_t reals)
{
    workspace = (Workspace){memory, reals};
}

size_t gemm_workspace_reals(size_t m, size_t n, size_t k, bool b_transposed)
{
    size_t b = gemm_prepack_reals(GEMM_B, b_transposed, k, n);
    return precision == GEMM_SINGLE ? b : gemm_packed_reals(precision, m, k) + b;
}

typedef struct Product {
    size_t m, n, k;
    Factor a, b;
    GemmInto into;
    real *c; /* (m, n) */
    size_t c_stride;
    GemmExtra extra;
    Workspace workspace;
    size_t tile_rows, tile_columns, across; /* across: tiles per row */
    size_t private_tile; /* of the tiles of a thread, in reals, or 0: every tile has its own */
} Product;

static void do_tile(void *job, size_t index, size_t worker)
{
    const Product *p = job;
    size_t row = index / p->across, column = index % p->across;
    GemmTile tile = {.c_stride = p->private_tile ? gemm_stride(p->tile_columns) : p->c_stride,
                     .row = row * p->tile_rows,
                     .rows = team_extent(p->m, p->tile_rows, row),
                     .column = column * p->tile_columns,
                     .columns = team_extent(p->n, p->tile_columns, column)};
    tile.c = p->c + (p->private_tile ? worker * p->private_tile
                                     : tile.row * p->c_stride + tile.column);
    KernelStart start = {p->into == GEMM_ADD ? tile.c : NULL, tile.c_stride};
    if (p->extra.bias)
        start = (KernelStart){p->extra.bias + tile.column, 0};
    multiply_weights(start, tile.rows, tile.columns, p->k, gemm_from(p->a, GEMM_A, tile.row),
                     gemm_from(p->b, GEMM_B, tile.column), tile.c, tile.c_stride);
    if (p->extra.finish.call)
        p->extra.finish.call(&tile, p->extra.finish.context);
}

/* Whole panels and bands, and how many rows or columns are packed at a time. */
enum { UNIT = BFLOAT_SQUARE % KERNEL_COLUMNS == 0 ? BFLOAT_SQUARE : KERNEL_COLUMNS };
enum { AT_ONCE = 2 * UNIT };

/* In bf16 both factors are packed, in single precision only B. */
static bool packs_a(void)
{
    return precision != GEMM_SINGLE;
}

/* Packs rows of A or, after these, columns of B. */
static void pack_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Product *p = job;
    size_t a_tiles = packs_a() ? team_tiles(p->m, AT_ONCE) : 0;
    GemmSide side = index < a_tiles ? GEMM_A : GEMM_B;
    size_t tile = side == GEMM_A ? index : index - a_tiles, first = tile * AT_ONCE;
    size_t count = team_extent(side == GEMM_A ? p->m : p->n, AT_ONCE, tile);
    real *memory = p->workspace.memory + gemm_packed_reals(precision, first, p->k);
    if (side == GEMM_B && a_tiles > 0)
        memory += gemm_packed_reals(precision, p->m, p->k);
    gemm_pack(precision, memory, gemm_from(side == GEMM_A ? p->a : p->b, side, first), side,
              count, p->k);
}

/* Packs the factors for all tiles, if there is memory for that: in single precision only if
 * several rows of tiles share them. */
static void pack_factors(Product *p)
{
    size_t a_reals = packs_a() ? gemm_packed_reals(precision, p->m, p->k) : 0;
    size_t reals = a_reals + gemm_packed_reals(precision, p->n, p->k);
    bool ready = p->a.packed && p->b.packed;
    if (ready || p->m <= GEMM_FEW || reals > p->workspace.reals ||
        (!packs_a() && p->m <= p->tile_rows))
        return;
    team_run((packs_a() ? team_tiles(p->m, AT_ONCE) : 0) + team_tiles(p->n, AT_ONCE), pack_tile,
             p);
    if (packs_a())
        p->a = gemm_packed(precision, p->workspace.memory, p->a, p->k);
    p->b = gemm_packed(precision, p->workspace.memory + a_reals, p->b, p->k);
}

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
 * leaves some for each thread: the longer side is halved until there are as many. */
static void halve_tiles(Product *p)
{
    enum { OF_THREAD = 2, SMALL = 128 };
    size_t rows = p->m, columns = p->n;
    while (team_tiles(p->m, rows) * team_tiles(p->n, columns) < OF_THREAD * team_size()) {
        size_t *longer = rows > columns ? &rows : &columns;
        if (*longer < 2 * SMALL)
            break;
        *longer = *longer / 2;
    }
    p->tile_rows = whole_units(rows);
    p->tile_columns = whole_units(columns);
}

/* Large tiles amortise packing; small products need small tiles for parallelism. With few rows
 * nothing is packed, and B is read from memory: each worker should read an equal share, of rows
 * of B as long as can be. */
static void choose_tiles(Product *p)
{
    enum { LARGE = 256, SMALL = 128, SHARES = 16 };
    size_t shares = p->b.transposed ? SHARES : team_size();
    bool few = p->m <= GEMM_FEW, tall = p->m >= 4 * LARGE;
    p->tile_rows = tile_extent(p->m, LARGE);
    p->tile_columns = tile_extent(p->n, few ? p->n / shares + 1 : tall ? LARGE : SMALL);
    if (!few && gemm_packs(p->a, p->n))
        halve_tiles(p);
    while (!few && p->m % p->tile_rows > 0 && p->m % p->tile_rows <= GEMM_FEW)
        p->tile_rows += UNIT; /* the last rows would take the path for decoding */
    p->across = team_tiles(p->n, p->tile_columns);
}

/* A private tile for each thread, where C has room for all of them. */
static void use_private_tiles(Product *p)
{
    size_t private_tile = p->tile_rows * gemm_stride(p->tile_columns);
    if (team_size() * private_tile <= (p->m - 1) * p->c_stride + p->n)
        p->private_tile = private_tile;
}

void gemm_team(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
               size_t c_stride, GemmExtra extra)
{
    assert((!extra.bias && !extra.transient) || into == GEMM_SET);
    Product product = {.m = m, .n = n, .k = k, .a = a, .b = b, .into = into, .c = c};
    product.c_stride = c_stride;
    product.extra = extra;
    product.workspace = workspace;
    choose_tiles(&product);
    if (extra.transient)
        use_private_tiles(&product);
    pack_factors(&product);
    team_run(team_tiles(m, product.tile_rows) * product.across, do_tile, &product);
}

/* --- the products of a backward pass --- */

static Factor turned(Factor x)
{
    x.transposed = !x.transposed;
    return x;
}

/* dY is a factor of both products, once in rows and once in columns. */
typedef struct Backward {
    size_t rows, in, out;
    Factor x, dy, w;
    real *xt_as_a, *dy_as_b, *dy_as_a, *wt_as_b; /* packed */
} Backward;

static void lay_out_backward(Backward *b, Arena *arena)
{
    b->xt_as_a = arena_reals(arena, gemm_packed_reals(precision, b->in, b->rows));
    b->dy_as_b = arena_reals(arena, gemm_packed_reals(precision, b->out, b->rows));
    b->dy_as_a = arena_reals(arena, gemm_packed_reals(precision, b->rows, b->out));
    b->wt_as_b = arena_reals(arena, gemm_packed_reals(precision, b->in, b->out));
}

size_t gemm_backward_workspace_reals(size_t rows, size_t in, size_t out)
{
    Backward backward = {.rows = rows, .in = in, .out = out};
    Arena arena = {0};
    lay_out_backward(&backward, &arena);
    return precision == GEMM_SINGLE ? gemm_workspace_reals(rows, in, out, true)
                                    : arena_used_reals(&arena);
}

/* Packs some rows of X and dY for both products or, after these, columns of W^T. */
static void pack_backward_tile(void *job, size_t index, size_t worker)
{
    (void)worker;
    const Backward *b = job;
    const size_t row_tiles = team_tiles(b->rows, AT_ONCE);
    const size_t tile = index < row_tiles ? index : index - row_tiles, first = tile * AT_ONCE;
    if (index < row_tiles) {
        size_t rows = team_extent(b->rows, AT_ONCE, tile);
        gemm_pack(precision, b->dy_as_a + gemm_packed_reals(precision, first, b->out),
                  gemm_from(b->dy, GEMM_A, first), GEMM_A, rows, b->out);
        gemm_pack_steps(precision, b->dy_as_b, b->dy, GEMM_B, b->out, first, rows, b->rows);
        gemm_pack_steps(precision, b->xt_as_a, turned(b->x), GEMM_A, b->in, first, rows,
                        b->rows);
    } else {
        gemm_pack(precision, b->wt_as_b + gemm_packed_reals(precision, first, b->out),
                  gemm_from(turned(b->w), GEMM_B, first), GEMM_B,
                  team_extent(b->in, AT_ONCE, tile), b->out);
    }
}

void gemm_team_backward(size_t rows, size_t in, size_t out, Factor x, Factor dy, Factor w,
                        real *dw, size_t dw_stride, GemmInto into, real *dx, size_t dx_stride,
                        GemmExtra extra)
{
    Factor xt = turned(x), dy_as_b = dy, dy_as_a = dy, wt = turned(w);
    if (precision != GEMM_SINGLE && rows > GEMM_FEW &&
        gemm_backward_workspace_reals(rows, in, out) <= workspace.reals) {
        Backward b = {.rows = rows, .in = in, .out = out, .x = x, .dy = dy, .w = w};
        Arena arena = arena_over(workspace.memory);
        lay_out_backward(&b, &arena);
        team_run(team_tiles(rows, AT_ONCE) + team_tiles(in, AT_ONCE), pack_backward_tile, &b);
        xt = gemm_packed(precision, b.xt_as_a, xt, rows);
        dy_as_b = gemm_packed(precision, b.dy_as_b, dy, rows);
        dy_as_a = gemm_packed(precision, b.dy_as_a, dy, out);
        wt = gemm_packed(precision, b.wt_as_b, wt, out);
    }
    gemm_team(in, out, rows, xt, dy_as_b, GEMM_ADD, dw, dw_stride, (GemmExtra){0});
    gemm_team(rows, in, out, dy_as_a, wt, into, dx, dx_stride, extra);
}

/* --- the peak --- */

static double spin(GemmPrecision in, size_t rounds)
{
    enum { PRODUCTS_OF_PAIRS = 3 };
    if (in == GEMM_SINGLE)
        return kernel_spin(rounds);
    return bfloat_kernel(0)->spin(rounds) / (in == GEMM_PAIR ? PRODUCTS_OF_PAIRS : 1);
}

double gemm_spin(size_t rounds)
{
    return spin(precision, rounds);
}

/* Floating-point operations per second, the most of several turns. */
static double speed(GemmPrecision in)
{
    enum { TURNS = 5, ROUNDS = 1 << 17 };
    double most = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        double start = clock_seconds(), done = spin(in, ROUNDS);
        most = fmax(most, done / (clock_seconds() - start));
    }
    return most;
}

double gemm_gain(void)
{
    return precision == GEMM_SINGLE ? 1 : speed(precision) / speed(GEMM_SINGLE);
}
