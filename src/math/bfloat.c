#include "src/math/bfloat.h"
#include "src/math/kernel.h"

#include <string.h>

#ifdef BFLOAT_KERNELS

#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rows of C are far apart, and nobody else sees them coming. */
static inline void prefetch_square(const float *c, size_t row)
{
    for (size_t i = 0; i < BFLOAT_SQUARE; i++) {
        __builtin_prefetch(c + i * row, true);
        __builtin_prefetch(c + i * row + BFLOAT_BAND, true);
    }
}

/* --- by AMX tiles --- */

#define TILES __attribute__((target("amx-tile,amx-bf16")))

enum { LINE_BYTES = 64 };

static bool processor_has_tiles(void)
{
    enum { FEATURES = 7, BF16_TILES = 22, TILES_AT_ALL = 24 };
    unsigned a, b, c, d;
    return __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) &&
           (d >> BF16_TILES & d >> TILES_AT_ALL & 1);
}

static bool tiles_exist(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return processor_has_tiles() && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Configures eight full-size tiles, once per thread. */
TILES static void configure(void)
{
    static _Thread_local bool done;
    if (done)
        return;
    _Alignas(64) struct {
        uint8_t palette, start_line, reserved[14];
        uint16_t line_bytes[16];
        uint8_t lines[16];
    } shapes = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        shapes.line_bytes[i] = LINE_BYTES;
        shapes.lines[i] = BFLOAT_BAND;
    }
    /* gcc's header tells the compiler that only the first bytes are read. */
    __asm__ volatile("" : : "r"(&shapes) : "memory");
    _tile_loadconfig(&shapes);
    done = true;
}

/* Tile registers 0 to 3 hold the square of C, 4 and 5 two bands of A, 6 and 7 two of B. */
#define EACH_OF_C(what, at, row)                                                 \
    do {                                                                         \
        what(0, at, (row) * sizeof *(at));                                       \
        what(1, (at) + BFLOAT_BAND, (row) * sizeof *(at));                       \
        what(2, (at) + BFLOAT_BAND * (row), (row) * sizeof *(at));               \
        what(3, (at) + BFLOAT_BAND * (row) + BFLOAT_BAND, (row) * sizeof *(at)); \
    } while (0)
#define LOAD_A(half)                                                 \
    do {                                                             \
        _tile_loadd(4, a + (half)*BFLOAT_TILE, LINE_BYTES);          \
        _tile_loadd(5, a + a_band + (half)*BFLOAT_TILE, LINE_BYTES); \
    } while (0)
#define LOAD_B(half)                                                 \
    do {                                                             \
        _tile_loadd(6, b + (half)*BFLOAT_TILE, LINE_BYTES);          \
        _tile_loadd(7, b + b_band + (half)*BFLOAT_TILE, LINE_BYTES); \
    } while (0)
#define MULTIPLY()               \
    do {                         \
        _tile_dpbf16ps(0, 4, 6); \
        _tile_dpbf16ps(1, 4, 7); \
        _tile_dpbf16ps(2, 5, 6); \
        _tile_dpbf16ps(3, 5, 7); \
    } while (0)

TILES static void multiply_by_tiles(BfloatParts parts, size_t steps, const uint16_t *a,
                                    size_t a_band, const uint16_t *b, size_t b_band,
                                    const float *start, size_t start_row, float *c,
                                    size_t c_row)
{
    enum { HIGH, LOW };
    configure();
    __asm__ volatile(
        "" ::
            : "memory"); /* the intrinsics do not tell the compiler what they read */
    prefetch_square(c, c_row);
    if (start) {
        EACH_OF_C(_tile_loadd, start, start_row);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (size_t step = 0; step < steps; step++) {
        LOAD_B(HIGH);
        if (parts == BFLOAT_PAIR) {
            LOAD_A(LOW);
            MULTIPLY();
        }
        LOAD_A(HIGH);
        MULTIPLY();
        if (parts == BFLOAT_PAIR) {
            LOAD_B(LOW);
            MULTIPLY();
        }
        a += parts * BFLOAT_TILE;
        b += parts * BFLOAT_TILE;
    }
    EACH_OF_C(_tile_stored, c, c_row);
}

TILES static double spin_by_tiles(size_t rounds)
{
    enum { PRODUCTS = 4 };
    configure();
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (size_t round = 0; round < rounds; round++)
        MULTIPLY();
    return 2.0 * PRODUCTS * BFLOAT_BAND * BFLOAT_BAND * BFLOAT_STEP * (double)rounds;
}

/* --- by AVX-512 vectors --- */

/* Accumulators in registers: two vectors of columns for this many rows at a time. */
enum { ROWS = 8, PAIRS = 16 };

static bool vectors_exist(void)
{
    enum { FEATURES = 7, BF16_VECTORS = 5 };
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx512bw") &&
           __get_cpuid_count(FEATURES, 1, &a, &b, &c, &d) && (a >> BF16_VECTORS & 1);
}

/* Broadcasts a pair of elements to all lanes. */
INLINE __m512bh everywhere(const uint16_t *pair)
{
    int both;
    memcpy(&both, pair, sizeof both);
    return (__m512bh)_mm512_set1_epi32(both);
}

/* Multiplies ROWS rows of a tile of A by two tiles of B. */
INLINE void add_products(__m512 sums[ROWS][2], const uint16_t *a, const uint16_t *b,
                         size_t band)
{
    for (size_t pair = 0; pair < PAIRS; pair++) {
        __m512bh first = (__m512bh)_mm512_load_si512(b + pair * BFLOAT_STEP);
        __m512bh second = (__m512bh)_mm512_load_si512(b + band + pair * BFLOAT_STEP);
#pragma GCC unroll 8
        for (size_t row = 0; row < ROWS; row++) {
            __m512bh of_row = everywhere(a + row * BFLOAT_STEP + 2 * pair);
            sums[row][0] = _mm512_dpbf16_ps(sums[row][0], of_row, first);
            sums[row][1] = _mm512_dpbf16_ps(sums[row][1], of_row, second);
        }
    }
}

/* Computes ROWS rows of the square. */
INLINE void multiply_rows(BfloatParts parts, size_t steps, const uint16_t *a, size_t a_band,
                          const uint16_t *b, size_t band, const float *start, size_t start_row,
                          float *c, size_t c_row)
{
    const uint16_t *ahead = a + BFLOAT_SQUARE / BFLOAT_BAND * a_band;
    __m512 sums[ROWS][2];
#pragma GCC unroll 8
    for (size_t row = 0; row < ROWS; row++) {
        sums[row][0] = start ? _mm512_loadu_ps(start + row * start_row) : _mm512_setzero_ps();
        sums[row][1] = start ? _mm512_loadu_ps(start + row * start_row + BFLOAT_BAND)
                             : _mm512_setzero_ps();
    }
    for (size_t step = 0; step < steps; step++) {
#pragma GCC unroll 8
        for (size_t row = 0; row < ROWS; row++)
            _mm_prefetch(ahead + row * BFLOAT_STEP, _MM_HINT_T0);
        ahead += parts * BFLOAT_TILE;
        if (parts == BFLOAT_PAIR)
            add_products(sums, a + BFLOAT_TILE, b, band);
        add_products(sums, a, b, band);
        if (parts == BFLOAT_PAIR)
            add_products(sums, a, b + BFLOAT_TILE, band);
        a += parts * BFLOAT_TILE;
        b += parts * BFLOAT_TILE;
    }
#pragma GCC unroll 8
    for (size_t row = 0; row < ROWS; row++) {
        _mm512_storeu_ps(c + row * c_row, sums[row][0]);
        _mm512_storeu_ps(c + row * c_row + BFLOAT_BAND, sums[row][1]);
    }
}

VECTORS static void multiply_by_vectors(BfloatParts parts, size_t steps, const uint16_t *a,
                                        size_t a_band, const uint16_t *b, size_t b_band,
                                        const float *start, size_t start_row, float *c,
                                        size_t c_row)
{
    prefetch_square(c, c_row);
    for (size_t row = 0; row < BFLOAT_SQUARE; row += ROWS)
        multiply_rows(parts, steps,
                      a + row / BFLOAT_BAND * a_band + row % BFLOAT_BAND * BFLOAT_STEP, a_band,
                      b, b_band, start ? start + row * start_row : NULL, start_row,
                      c + row * c_row, c_row);
}

VECTORS static double spin_by_vectors(size_t rounds)
{
    enum { SUMS = 2 * ROWS };
    __m512bh one = (__m512bh)_mm512_set1_epi32(0x3f003f00);
    __m512 sums[SUMS], all = _mm512_setzero_ps();
#pragma GCC unroll 16
    for (size_t i = 0; i < SUMS; i++)
        sums[i] = _mm512_set1_ps((float)i);
    for (size_t round = 0; round < rounds; round++)
#pragma GCC unroll 16
        for (size_t i = 0; i < SUMS; i++)
            sums[i] = _mm512_dpbf16_ps(sums[i], one, one);
#pragma GCC unroll 16
    for (size_t i = 0; i < SUMS; i++)
        all = _mm512_add_ps(all, sums[i]);
    __asm__ volatile("" ::"m"(all)); /* so that the sums are needed */
    return 2.0 * SUMS * 2 * PAIRS * (double)rounds;
}

/* --- which of them --- */

const BfloatKernel *bfloat_kernel(size_t index)
{
    static const BfloatKernel all[] = {
        {"linnet-amx", bfloat_pack, multiply_by_tiles, spin_by_tiles},
        {"linnet-avx512-bf16", bfloat_pack, multiply_by_vectors, spin_by_vectors},
    };
    enum { COUNT = sizeof all / sizeof *all };
    static atomic_int first = -1; /* not determined yet */
    if (first < 0)
        first = !vectors_exist() ? COUNT : !tiles_exist(); /* packing takes vectors */
    return (size_t)first + index < COUNT ? &all[(size_t)first + index] : NULL;
}

#else

const BfloatKernel *bfloat_kernel(size_t index)
{
    (void)index;
    return NULL;
}

#endif

/* --- any size --- */

static void copy_square(real *to, size_t to_row, const real *from, size_t from_row, size_t rows,
                        size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, columns * sizeof *to);
}

/* One square of C, at its edges by way of a buffer. */
static void multiply_square(BfloatParts parts, size_t steps, const uint16_t *a, size_t a_band,
                            const uint16_t *b, size_t b_band, KernelStart start, real *c,
                            size_t c_row, size_t rows, size_t columns)
{
    enum { SIDE = BFLOAT_SQUARE };
    BfloatSquare *square = bfloat_kernel(0)->multiply;
    if (rows == SIDE && columns == SIDE) {
        square(parts, steps, a, a_band, b, b_band, start.data, start.row, c, c_row);
        return;
    }
    _Alignas(64) real whole[SIDE * SIDE];
    if (start.data)
        copy_square(whole, SIDE, start.data, start.row, rows, columns);
    square(parts, steps, a, a_band, b, b_band, start.data ? whole : NULL, SIDE, whole, SIDE);
    copy_square(c, c_row, whole, SIDE, rows, columns);
}

/* Row by row within blocks of A that stay in the caches while all of B passes. */
void bfloat_multiply(size_t m, size_t n, size_t k, BfloatParts parts, const uint16_t *a,
                     size_t a_band, const uint16_t *b, size_t b_band, const real *start,
                     size_t start_row, real *c, size_t c_row)
{
    enum { SIDE = BFLOAT_SQUARE, NUMBERS = 32768, FEWEST = 2 * SIDE };
    const size_t steps = BFLOAT_STEPS(k), fitting = NUMBERS / k / SIDE * SIDE;
    const size_t high = fitting < FEWEST ? FEWEST : fitting;
    const KernelStart all = {start, start_row};
    for (size_t first = 0; first < m; first += high) {
        const size_t end = m - first < high ? m : first + high;
        for (size_t column = 0; column < n; column += SIDE)
            for (size_t row = first; row < end; row += SIDE)
                multiply_square(parts, steps, a + row / BFLOAT_BAND * a_band, a_band,
                                b + column / BFLOAT_BAND * b_band, b_band,
                                kernel_start_at(all, row, column), c + row * c_row + column,
                                c_row, m - row < SIDE ? m - row : SIDE,
                                n - column < SIDE ? n - column : SIDE);
    }
}
