/* The thread team and parallel matrix products: every tile once, bit-identical for any number
 * of threads. */
#include "src/math/bfloat.h"
#include "src/math/gemm.h"
#include "src/base/error.h"
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/math/team.h"
#include "tests/tests.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SUITE("team");

/* --- the team --- */

enum { TILES = 100 };

typedef struct Tally {
    atomic_uint times[TILES];
    atomic_bool stranger; /* not a member of the team */
} Tally;

static void count_tile(void *job, size_t tile, size_t worker)
{
    Tally *tally = job;
    atomic_fetch_add(&tally->times[tile], 1);
    if (worker >= team_size())
        atomic_store(&tally->stranger, true);
}

static void check_rounds(size_t rounds)
{
    for (size_t round = 0; round < rounds; round++) {
        Tally tally = {0};
        size_t tiles = round % (TILES + 1);
        team_run(tiles, count_tile, &tally);
        for (size_t i = 0; i < TILES; i++)
            if (atomic_load(&tally.times[i]) != (i < tiles))
                ck_abort_msg("tile %zu of %zu was done %u times", i, tiles,
                             atomic_load(&tally.times[i]));
        if (atomic_load(&tally.stranger))
            ck_abort_msg("a worker who is not on the team took a tile");
    }
}

TEST(every_tile_runs_once)
{
    static const size_t sizes[] = {1, 2, 3, 8};
    check_rounds(10); /* before team_start */
    for (size_t i = 0; i < COUNT(sizes); i++) {
        team_start(sizes[i]);
        ck_assert_uint_eq(team_size(), sizes[i]);
        check_rounds(3000);
        team_stop();
    }
    ck_assert_uint_eq(team_size(), 1);
    check_rounds(10); /* nor after team_stop */
}

TEST(teams_come_and_go)
{
    for (size_t i = 0; i < 200; i++) {
        team_start(1 + i % 5);
        check_rounds(i % 3);
        if (i % 2) /* starting again stops the old team */
            team_stop();
    }
    team_stop();
    team_stop();
    team_start(0);
    ck_assert_uint_eq(team_size(), team_processors());
    team_stop();
}

/* One tile of a hundred dies, on whichever thread takes it. */
static void die_in_tile(void *job, size_t tile, size_t worker)
{
    (void)worker;
    if (tile == *(const size_t *)job)
        die("tile %zu is missing", tile);
}

static bool run_and_die(void *tile, Error *error)
{
    team_run(TILES, die_in_tile, tile);
    return error_set(error, "nobody died");
}

static bool return_true(void *nothing, Error *error)
{
    (void)nothing, (void)error;
    return true;
}

TEST(a_tile_that_dies_fails_its_round_only)
{
    for (size_t threads = 1; threads <= 3; threads++) {
        team_start(threads);
        for (size_t tile = 0; tile < TILES; tile++) {
            Error error;
            ck_assert(!error_catch(run_and_die, &tile, &error));
            ck_assert_msg(strstr(error.text, " is missing"), "%s", error.text);
            ck_assert(error_catch(return_true, NULL, &error));
            check_rounds(3);
        }
        team_stop();
    }
}

#if defined __SSE__ || defined __aarch64__
static real product_of_small(void)
{
    volatile real small = sizeof(real) == sizeof(float) ? (real)1e-30 : (real)1e-200;
    return small * (sizeof(real) == sizeof(float) ? (real)1e-10 : (real)1e-120);
}

static void store_product(void *products, size_t tile, size_t worker)
{
    (void)worker;
    ((real *)products)[tile] = product_of_small();
}

TEST(denormals_are_zero_in_tiles_and_nowhere_else)
{
    for (size_t threads = 1; threads <= 4; threads++) {
        real products[TILES];
        team_start(threads);
        for (size_t i = 0; i < TILES; i++)
            products[i] = 1;
        team_run(TILES, store_product, products);
        for (size_t i = 0; i < TILES; i++)
            ck_assert(products[i] == 0);
        ck_assert(product_of_small() > 0);
        team_stop();
    }
}
#endif

/* Threads with teams of their own, of which each computes as if it were alone. */
static void *use_own_team(void *threads)
{
    Team *team = team_make(*(const size_t *)threads);
    ck_assert_ptr_null(team_use(team));
    ck_assert_uint_eq(team_size(), *(const size_t *)threads);
    check_rounds(1000);
    ck_assert_ptr_eq(team_use(NULL), team);
    check_rounds(10);
    team_free(team);
    return NULL;
}

TEST(teams_work_side_by_side)
{
    static const size_t sizes[] = {1, 2, 3};
    pthread_t threads[COUNT(sizes)];
    for (size_t i = 0; i < COUNT(sizes); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use_own_team, (void *)&sizes[i]), 0);
    team_start(2);
    check_rounds(1000);
    team_stop();
    for (size_t i = 0; i < COUNT(sizes); i++)
        pthread_join(threads[i], NULL);
}

/* Counts the tiles of workers that leave a signal to others; `job` is which. */
static atomic_size_t others_tiles, left_to_others;

static void look_at_mask(void *job, size_t tile, size_t worker)
{
    sigset_t mask;
    (void)tile;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    others_tiles += worker > 0;
    left_to_others += worker > 0 && sigismember(&mask, *(int *)job);
    usleep(100); /* so that workers get tiles */
}

TEST(signals_interrupt_the_thread_that_made_the_team)
{
    int numbers[] = {SIGTERM, SIGINT, SIGSEGV, SIGBUS};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        team_start(3);
        others_tiles = left_to_others = 0;
        while (others_tiles == 0)
            team_run(20, look_at_mask, &numbers[i]);
        ck_assert_uint_eq(left_to_others, i < 2 ? others_tiles : 0);
        team_stop();
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        ck_assert(!sigismember(&mask, numbers[i]));
    }
}

TEST(tiles_cover_the_whole)
{
    for (size_t whole = 0; whole <= 40; whole++)
        for (size_t extent = 1; extent <= 45; extent++) {
            size_t covered = 0, tiles = team_tiles(whole, extent);
            for (size_t tile = 0; tile < tiles; tile++) {
                ck_assert_uint_ge(team_extent(whole, extent, tile), 1);
                covered += team_extent(whole, extent, tile);
            }
            ck_assert_uint_eq(covered, whole);
        }
}

/* --- products --- */

typedef struct Shape {
    size_t m, n, k;
} Shape;

static const Shape shapes[] = {{1, 1, 1},    {3, 5, 7},       {17, 300, 33}, {130, 257, 65},
                               {64, 64, 64}, {2050, 530, 12}, {1, 1000, 40}, {700, 1, 3}};

/* Matrices inside wider ones: strides are larger than widths. */
typedef struct ProductRig {
    Shape shape;
    Factor a, b;
    real *a_memory, *b_memory, *c, *start;
    size_t c_stride, c_size;
} ProductRig;

static real *random_reals(size_t count, uint64_t stream)
{
    real *reals = memory_new(count, sizeof *reals, "a test");
    for (size_t i = 0; i < count; i++)
        reals[i] = (real)(2 * random_uniform(random_key(1, RANDOM_TEST, stream), i) - 1);
    return reals;
}

static void product_rig_make(ProductRig *rig, Shape shape, bool a_turned, bool b_turned)
{
    size_t a_rows = a_turned ? shape.k : shape.m, b_rows = b_turned ? shape.n : shape.k;
    size_t a_stride = (a_turned ? shape.m : shape.k) + 3;
    size_t b_stride = (b_turned ? shape.k : shape.n) + 5;
    *rig = (ProductRig){.shape = shape, .c_stride = shape.n + 2};
    rig->a_memory = random_reals(a_rows * a_stride, 1);
    rig->b_memory = random_reals(b_rows * b_stride, 2);
    rig->a = (Factor){.data = rig->a_memory, .stride = a_stride, .transposed = a_turned};
    rig->b = (Factor){.data = rig->b_memory, .stride = b_stride, .transposed = b_turned};
    rig->c_size = shape.m * rig->c_stride;
    rig->c = random_reals(rig->c_size, 3);
    rig->start = random_reals(rig->c_size, 3);
}

static void product_rig_free(ProductRig *rig)
{
    free(rig->a_memory);
    free(rig->b_memory);
    free(rig->c);
    free(rig->start);
}

static double at(Factor f, size_t row, size_t column)
{
    return (double)(f.transposed ? f.data[column * f.stride + row]
                                 : f.data[row * f.stride + column]);
}

static void check_product_to(double epsilon, const ProductRig *rig, const real *c, double alpha,
                             GemmInto into)
{
    double near = epsilon * (4 + (double)rig->shape.k);
    for (size_t i = 0; i < rig->shape.m; i++)
        for (size_t j = 0; j < rig->c_stride; j++) {
            size_t index = i * rig->c_stride + j;
            double before = (double)rig->start[index], sum = 0;
            for (size_t l = 0; l < rig->shape.k && j < rig->shape.n; l++)
                sum += at(rig->a, i, l) * at(rig->b, l, j);
            double expected = alpha * sum + (into == GEMM_ADD ? before : 0);
            if (j >= rig->shape.n && c[index] != rig->start[index])
                ck_abort_msg("row %zu: element %zu between the rows was written", i, j);
            if (j < rig->shape.n && !(fabs((double)c[index] - expected) <= near))
                ck_abort_msg("element (%zu, %zu) is %.9g, should be %.9g", i, j,
                             (double)c[index], expected);
        }
}

static void check_product(const ProductRig *rig, const real *c, double alpha, GemmInto into)
{
    check_product_to(REAL_EPSILON * 2, rig, c, alpha, into);
}

TEST(products_match_three_loops)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int turned = 0; turned < 4; turned++) {
            ProductRig rig;
            product_rig_make(&rig, shapes[s], turned & 1, turned & 2);
            real alpha = s % 2 ? 1 : (real)0.5;
            GemmInto into = turned % 2 ? GEMM_ADD : GEMM_SET;
            gemm(rig.shape.m, rig.shape.n, rig.shape.k, alpha, rig.a, rig.b, into, rig.c,
                 rig.c_stride);
            check_product(&rig, rig.c, (double)alpha, into);
            product_rig_free(&rig);
        }
}

TEST(team_products_are_bit_identical_for_any_team)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int turned = 0; turned < 4; turned++) {
            ProductRig rig;
            product_rig_make(&rig, shapes[s], turned & 1, turned & 2);
            size_t bytes = rig.c_size * sizeof(real);
            real *first = memory_new(bytes, 1, "a test");
            size_t reals = gemm_workspace_reals(rig.shape.m, rig.shape.n, rig.shape.k,
                                                turned & 2);
            real *room = memory_new(reals + 1, sizeof *room, "a test");
            for (size_t threads = 1; threads <= 4; threads++) {
                team_start(threads);
                memcpy(rig.c, rig.start, bytes);
                gemm_set_workspace(room, threads % 2 ? 0 : reals);
                gemm_team(rig.shape.m, rig.shape.n, rig.shape.k, rig.a, rig.b, GEMM_ADD, rig.c,
                          rig.c_stride, (GemmExtra){0});
                team_stop();
                if (threads == 1)
                    memcpy(first, rig.c, bytes);
                ck_assert_mem_eq(rig.c, first, bytes);
            }
            gemm_set_workspace(NULL, 0);
            check_product(&rig, first, 1, GEMM_ADD);
            free(room);
            free(first);
            product_rig_free(&rig);
        }
}

/* Selects a precision; false if unsupported here, with a one-line error. */
static bool use_precision(GemmPrecision precision)
{
    Error error;
    const char *before = gemm_kernels();
    if (gemm_set_precision(precision, &error))
        return true;
    if (!strstr(error.text, "--precision single"))
        ck_abort_msg("this does not tell what to do: %s", error.text);
    ck_assert_str_eq(gemm_kernels(), before);
    return false;
}

static void multiply_weights(const ProductRig *rig, GemmInto into, size_t row, size_t rows)
{
    Factor part = rig->a;
    part.data += row * (part.transposed ? 1 : part.stride);
    gemm_weights(rows, rig->shape.n, rig->shape.k, part, rig->b, into,
                 rig->c + row * rig->c_stride, rig->c_stride);
}

/* Large and ragged. */
static const Shape large[] = {{64, 64, 64},   {130, 257, 65}, {40, 600, 300},
                              {290, 33, 513}, {45, 1, 1},     {100, 31, 32}};

/* Computing the rows in two parts gives the same bits. */
static void check_product_of_weights(double epsilon, ProductRig *rig, GemmInto into)
{
    size_t bytes = rig->c_size * sizeof(real);
    real *whole = memory_new(bytes, 1, "a test");
    multiply_weights(rig, into, 0, rig->shape.m);
    check_product_to(epsilon, rig, rig->c, 1, into);
    memcpy(whole, rig->c, bytes);
    memcpy(rig->c, rig->start, bytes);
    multiply_weights(rig, into, 0, GEMM_FEW + 1);
    multiply_weights(rig, into, GEMM_FEW + 1, rig->shape.m - GEMM_FEW - 1);
    ck_assert_mem_eq(whole, rig->c, bytes);
    free(whole);
}

/* So few rows that single precision computes them. */
static const Shape few[] = {{1, 40, 64}, {GEMM_FEW, 33, 70}};

typedef void ProductCheck(ProductRig *rig, GemmPrecision precision);

/* The check for every transposition, in each supported precision from `first` on. */
static void each_product_of(const Shape *these, size_t count, GemmPrecision first,
                            ProductCheck *check)
{
    Error error;
    for (int precision = (int)first; precision <= GEMM_BF16; precision++)
        for (size_t s = 0; s < count && use_precision((GemmPrecision)precision); s++)
            for (int turned = 0; turned < 4; turned++) {
                ProductRig rig;
                product_rig_make(&rig, these[s], turned & 1, turned & 2);
                check(&rig, (GemmPrecision)precision);
                product_rig_free(&rig);
            }
    ck_assert(gemm_set_precision(GEMM_SINGLE, &error));
}

static void each_large_product(GemmPrecision first, ProductCheck *check)
{
    each_product_of(large, COUNT(large), first, check);
}

static void check_to_what_is_promised(ProductRig *rig, GemmPrecision precision)
{
    check_product_of_weights(precision == GEMM_PAIR ? 0x1p-16 : 0x1p-8, rig,
                             rig->a.transposed ? GEMM_ADD : GEMM_SET);
}

TEST(bf16_products_have_the_promised_precision)
{
    each_large_product(GEMM_PAIR, check_to_what_is_promised);
}

/* Memory for prepared factors: aligned as in an arena. */
static real *prepared_memory(size_t reals)
{
    size_t bytes = (reals * sizeof(real) / 64 + 1) * 64;
    real *memory = aligned_alloc(64, bytes);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Tiles prepare their own factors, or the team does for all of them. */
static void check_workspace(ProductRig *rig, GemmPrecision precision)
{
    (void)precision;
    size_t m = rig->shape.m, n = rig->shape.n, k = rig->shape.k;
    size_t bytes = rig->c_size * sizeof(real),
           reals = gemm_workspace_reals(m, n, k, rig->b.transposed);
    real *alone = memory_new(bytes, 1, "a test"), *workspace = prepared_memory(reals);
    gemm_team(m, n, k, rig->a, rig->b, GEMM_ADD, rig->c, rig->c_stride, (GemmExtra){0});
    memcpy(alone, rig->c, bytes);
    gemm_set_workspace(workspace, reals);
    memcpy(rig->c, rig->start, bytes);
    gemm_team(m, n, k, rig->a, rig->b, GEMM_ADD, rig->c, rig->c_stride, (GemmExtra){0});
    gemm_set_workspace(NULL, 0);
    ck_assert_mem_eq(rig->c, alone, bytes);
    free(workspace);
    free(alone);
}

static void check_prepacked(ProductRig *rig, GemmPrecision precision)
{
    (void)precision;
    size_t m = rig->shape.m, n = rig->shape.n, k = rig->shape.k;
    size_t bytes = rig->c_size * sizeof(real);
    real *alone = memory_new(bytes, 1, "a test");
    gemm_weights(m, n, k, rig->a, rig->b, GEMM_ADD, rig->c, rig->c_stride);
    memcpy(alone, rig->c, bytes);
    real *a = prepared_memory(gemm_prepack_reals(GEMM_A, rig->a.transposed, m, k));
    real *b = prepared_memory(gemm_prepack_reals(GEMM_B, rig->b.transposed, k, n));
    Factor packed_a = gemm_prepack(a, rig->a, GEMM_A, m, k);
    Factor packed_b = gemm_prepack(b, rig->b, GEMM_B, k, n);
    memcpy(rig->c, rig->start, bytes);
    gemm_weights(m, n, k, packed_a, packed_b, GEMM_ADD, rig->c, rig->c_stride);
    ck_assert_mem_eq(rig->c, alone, bytes);
    free(a);
    free(b);
    free(alone);
}

TEST(prepared_factors_give_the_same_bits)
{
    each_large_product(GEMM_SINGLE, check_workspace);
    each_large_product(GEMM_SINGLE, check_prepacked);
    each_product_of(few, COUNT(few), GEMM_PAIR, check_prepacked);
}

/* With the factors packed for both products, as without memory for that. */
static void check_backward(GemmPrecision precision, size_t rows, size_t in, size_t out)
{
    if (!use_precision(precision))
        return;
    real *x = random_reals(rows * in, 1), *dy = random_reals(rows * out, 2),
         *w = random_reals(in * out, 3), *dx = random_reals(rows * in, 4),
         *dw = random_reals(in * out, 5), *dw_of_two = random_reals(in * out, 5);
    size_t reals = gemm_backward_workspace_reals(rows, in, out);
    real *workspace = prepared_memory(reals);
    gemm_team(in, out, rows, transposed(x, in), plain(dy, out), GEMM_ADD, dw_of_two, out,
              (GemmExtra){0});
    gemm_team(rows, in, out, plain(dy, out), transposed(w, out), GEMM_SET, dx, in,
              (GemmExtra){0});
    gemm_set_workspace(workspace, reals);
    gemm_team_backward(rows, in, out, plain(x, in), plain(dy, out), plain(w, out), dw, out,
                       GEMM_SET, x, in, (GemmExtra){0}); /* dX in the place of X */
    gemm_set_workspace(NULL, 0);
    ck_assert_mem_eq(dw, dw_of_two, in * out * sizeof *dw);
    ck_assert_mem_eq(x, dx, rows * in * sizeof *dx);
    real *const all[] = {x, dy, w, dx, dw, dw_of_two, workspace};
    for (size_t i = 0; i < COUNT(all); i++)
        free(all[i]);
    ck_assert(use_precision(GEMM_SINGLE));
}

TEST(a_backward_pass_has_the_bits_of_its_two_products)
{
    for (GemmPrecision precision = GEMM_SINGLE; precision <= GEMM_BF16; precision++) {
        check_backward(precision, 128, 64, 96);
        check_backward(precision, 203, 70, 33); /* ragged */
        check_backward(precision, GEMM_FEW, 70, 33);
    }
}

/* Rounds to values that bf16 represents exactly, and whose sums fit a float. */
static void shorten(real *reals, size_t count)
{
    const real bits = 128;
    for (size_t i = 0; i < count; i++)
        reals[i] = (real)lround((double)(reals[i] * bits)) / bits;
}

static void shorten_rig(ProductRig *rig)
{
    shorten(rig->a_memory, (rig->a.transposed ? rig->shape.k : rig->shape.m) * rig->a.stride);
    shorten(rig->b_memory, (rig->b.transposed ? rig->shape.n : rig->shape.k) * rig->b.stride);
}

static void check_exactly(ProductRig *rig, GemmPrecision precision)
{
    (void)precision;
    shorten_rig(rig);
    check_product_of_weights(0, rig, GEMM_SET);
}

TEST(bf16_products_of_exact_values_are_exact)
{
    each_large_product(GEMM_PAIR, check_exactly);
}

/* Tests all kernels that exist, although only one is in use. */
TEST(every_bf16_kernel_is_correct)
{
    enum { DEPTH = 3 * BFLOAT_STEP };
    static _Alignas(64) uint16_t a[BFLOAT_PACKED(BFLOAT_PAIR, BFLOAT_SQUARE, DEPTH)],
        b[BFLOAT_PACKED(BFLOAT_PAIR, BFLOAT_SQUARE, DEPTH)];
    ProductRig rig;
    product_rig_make(&rig, (Shape){BFLOAT_SQUARE, BFLOAT_SQUARE, DEPTH}, false, false);
    shorten_rig(&rig);
    const BfloatKernel *kernel;
    for (size_t i = 0; (kernel = bfloat_kernel(i / 2)); i++) {
        BfloatParts parts = i % 2 ? BFLOAT_PAIR : BFLOAT_ONE;
        size_t band = BFLOAT_ONE_BAND(parts, DEPTH);
        kernel->pack(a, band, parts,
                     (BfloatSource){rig.a.data, rig.a.stride, 1, BFLOAT_SQUARE, DEPTH},
                     BFLOAT_LEFT);
        kernel->pack(b, band, parts,
                     (BfloatSource){rig.b.data, 1, rig.b.stride, BFLOAT_SQUARE, DEPTH},
                     BFLOAT_RIGHT);
        kernel->multiply(parts, DEPTH / BFLOAT_STEP, a, band, b, band, NULL, 0, rig.c,
                         rig.c_stride);
        check_product_to(0, &rig, rig.c, 1, GEMM_SET);
    }
    product_rig_free(&rig);
}

TEST(the_gain_of_a_precision_is_measured)
{
    Error error;
    ck_assert_double_eq(gemm_gain(), 1);
    if (use_precision(GEMM_BF16)) {
        double gain = gemm_gain();
        ck_assert_double_gt(gain, 0.1);
        ck_assert(use_precision(GEMM_PAIR));
        ck_assert_double_lt(gemm_gain(), gain); /* three products instead of one */
    }
    ck_assert(gemm_set_precision(GEMM_SINGLE, &error));
}

/* In every precision, also where the depth has several blocks. */
static void check_bias(ProductRig *rig, GemmPrecision precision)
{
    size_t m = rig->shape.m, n = rig->shape.n, k = rig->shape.k;
    real *bias = random_reals(n, 4);
    gemm_team(m, n, k, rig->a, rig->b, GEMM_SET, rig->c, rig->c_stride, (GemmExtra){0});
    real *plain_product = memory_new(rig->c_size, sizeof *plain_product, "a test");
    memcpy(plain_product, rig->c, rig->c_size * sizeof *rig->c);
    gemm_team(m, n, k, rig->a, rig->b, GEMM_SET, rig->c, rig->c_stride,
              (GemmExtra){.bias = bias});
    double near = REAL_EPSILON * (4 + (double)k) * (precision == GEMM_SINGLE ? 2 : 4);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            size_t at = i * rig->c_stride + j;
            ck_assert_double_eq_tol((double)rig->c[at], (double)(plain_product[at] + bias[j]),
                                    near);
        }
    free(plain_product);
    free(bias);
}

TEST(a_bias_is_added_to_every_row)
{
    each_large_product(GEMM_SINGLE, check_bias);
    each_product_of(few, COUNT(few), GEMM_SINGLE, check_bias);
}

TEST(gemm_set_overwrites_c)
{
    ProductRig rig;
    product_rig_make(&rig, shapes[3], false, true);
    for (size_t i = 0; i < rig.c_size; i++)
        rig.c[i] = i % rig.c_stride < rig.shape.n ? (real)NAN : rig.start[i];
    gemm_team(rig.shape.m, rig.shape.n, rig.shape.k, rig.a, rig.b, GEMM_SET, rig.c,
              rig.c_stride, (GemmExtra){0});
    check_product(&rig, rig.c, 1, GEMM_SET);
    product_rig_free(&rig);
}

typedef struct Finished {
    const ProductRig *rig;
    unsigned char *times; /* (m, n) how often each element was finished */
} Finished;

static void mark(const GemmTile *tile, const void *context)
{
    const Finished *finished = context;
    const ProductRig *rig = finished->rig;
    if (tile->c != rig->c + tile->row * tile->c_stride + tile->column)
        ck_abort_msg("a tile is not where it says");
    for (size_t i = 0; i < tile->rows; i++)
        for (size_t j = 0; j < tile->columns; j++) {
            finished->times[(tile->row + i) * rig->shape.n + tile->column + j]++;
            tile->c[i * tile->c_stride + j] *= 2;
        }
}

TEST(finish_sees_every_element_once)
{
    team_start(3);
    for (size_t s = 0; s < COUNT(shapes); s++) {
        ProductRig rig;
        product_rig_make(&rig, shapes[s], false, false);
        size_t elements = rig.shape.m * rig.shape.n;
        Finished finished = {&rig, memory_new(elements, 1, "a test")};
        gemm_team(rig.shape.m, rig.shape.n, rig.shape.k, rig.a, rig.b, GEMM_SET, rig.c,
                  rig.c_stride, (GemmExtra){.finish = {mark, &finished}});
        for (size_t i = 0; i < elements; i++)
            if (finished.times[i] != 1)
                ck_abort_msg("element %zu was finished %u times", i, finished.times[i]);
        check_product(&rig, rig.c, 2, 0);
        free(finished.times);
        product_rig_free(&rig);
    }
    team_stop();
}

typedef struct Kept {
    const ProductRig *rig;
    real *c;           /* a copy of what finish saw */
    atomic_bool moved; /* a tile was elsewhere than in C */
} Kept;

static void keep(const GemmTile *tile, const void *context)
{
    Kept *kept = (Kept *)context;
    size_t stride = kept->rig->c_stride, at = tile->row * stride + tile->column;
    if (tile->c != kept->rig->c + at)
        kept->moved = true;
    for (size_t i = 0; i < tile->rows; i++)
        memcpy(kept->c + at + i * stride, tile->c + i * tile->c_stride,
               tile->columns * sizeof *tile->c);
}

/* Where C has room, the tiles of a thread overwrite one another. */
TEST(finish_sees_every_tile_of_a_transient_product)
{
    bool moved = false;
    team_start(3);
    for (size_t s = 0; s < COUNT(shapes); s++) {
        ProductRig rig;
        product_rig_make(&rig, shapes[s], false, false);
        Kept kept = {.rig = &rig, .c = memory_new(rig.c_size, sizeof(real), "a test")};
        memcpy(kept.c, rig.start, rig.c_size * sizeof(real));
        gemm_team(rig.shape.m, rig.shape.n, rig.shape.k, rig.a, rig.b, GEMM_SET, rig.c,
                  rig.c_stride, (GemmExtra){.finish = {keep, &kept}, .transient = true});
        check_product(&rig, kept.c, 1, GEMM_SET);
        moved = moved || kept.moved;
        free(kept.c);
        product_rig_free(&rig);
    }
    team_stop();
    ck_assert(moved);
}
