#include "src/tiles.h"

#if defined(__x86_64__) && defined(__linux__) && !defined(LINNET_DOUBLE)

#include "src/square.h"

#include <cpuid.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Built for tiles whatever the rest is built for; called only where the processor has them. */
#define TILES  __attribute__((target("avx512f,avx512bw,avx512bf16,amx-tile,amx-bf16")))
#define INLINE __attribute__((always_inline)) TILES static inline

enum {
    LANES = 16,
    BAND = 16, /* rows of a tile */
    TILE = BAND * TILES_STEP,
    LINE_BYTES = 64
};

/* --- what the processor and the system have --- */

static bool processor_has_tiles(void)
{
    enum { FEATURES = 7, BF16_TILES = 22, TILES_AT_ALL = 24, BF16_VECTORS = 5 };
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx512bw") &&
           __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) &&
           (d >> BF16_TILES & d >> TILES_AT_ALL & 1) &&
           __get_cpuid_count(FEATURES, 1, &a, &b, &c, &d) && (a >> BF16_VECTORS & 1);
}

bool tiles_exist(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    static atomic_int answer; /* 0: not asked yet */
    if (answer == 0)
        answer = processor_has_tiles() &&
                         syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0
                     ? 1
                     : 2;
    return answer == 1;
}

/* --- packing --- */

/* A line of a tile is 16 pairs of numbers that follow each other in the depth. Of the left
 * factor the pairs of a line follow each other in the depth as well; of the right they are of
 * 16 columns. So a tile is a square of 16 by 16 pairs, and the one kind is the other
 * transposed. */
typedef struct Squares {
    __m512i high[BAND], low[BAND];
} Squares;

/* Sixteen numbers of 8 bits, as floats. */
INLINE __m512 widen(__m256i halves)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

/* From a line along the depth, 32 numbers, its pairs. */
INLINE void split_along(Squares *squares, size_t i, __m512 first, __m512 second)
{
    __m512i high = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    first = _mm512_sub_ps(first, widen(_mm512_castsi512_si256(high)));
    second = _mm512_sub_ps(second, widen(_mm512_extracti64x4_epi64(high, 1)));
    squares->high[i] = high;
    squares->low[i] = (__m512i)_mm512_cvtne2ps_pbh(second, first);
}

/* From two lines across it, 16 numbers each, the pairs of one with the other. */
INLINE void split_across(Squares *squares, size_t i, __m512 first, __m512 second)
{
    const __m512i weave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25,
                                           9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2,
                                           17, 1, 16, 0);
    split_along(squares, i, first, second);
    squares->high[i] = _mm512_permutexvar_epi16(weave, squares->high[i]);
    squares->low[i] = _mm512_permutexvar_epi16(weave, squares->low[i]);
}

/* The step of a band, from a source that begins there. Beyond its end there are zeros. */
INLINE void split_step(Squares *squares, TileSource source)
{
    size_t lines = source.along == 1 ? source.count : source.depth;
    size_t length = source.along == 1 ? source.depth : source.count;
    size_t stride = source.along == 1 ? source.across : source.along;
    __mmask16 left = first_lanes(length),
              right = length > LANES ? first_lanes(length - LANES) : 0;
    for (size_t i = 0; i < BAND; i++) {
        if (source.along == 1) {
            const float *line = source.at + i * stride;
            bool exists = i < lines;
            _mm_prefetch(line + 2 * TILES_STEP, _MM_HINT_T0);
            _mm_prefetch(line + 2 * TILES_STEP + LANES, _MM_HINT_T0);
            split_along(squares, i, _mm512_maskz_loadu_ps(exists ? left : 0, line),
                        _mm512_maskz_loadu_ps(exists ? right : 0, line + LANES));
        } else {
            const float *line = source.at + 2 * i * stride;
            _mm_prefetch(line + 2 * LANES, _MM_HINT_T0);
            _mm_prefetch(line + 2 * LANES + stride, _MM_HINT_T0);
            bool one = 2 * i < lines, both = 2 * i + 1 < lines;
            split_across(squares, i, _mm512_maskz_loadu_ps(one ? left : 0, line),
                         _mm512_maskz_loadu_ps(both ? left : 0, line + stride));
        }
    }
}

INLINE void store(uint16_t *tile, const __m512i square[BAND])
{
#pragma GCC unroll 16
    for (size_t i = 0; i < BAND; i++)
        _mm512_store_si512(tile + i * TILES_STEP, square[i]);
}

/* One step of one band. */
INLINE void pack_step(uint16_t *packed, TileSource source, TileSide side)
{
    Squares squares;
    split_step(&squares, source);
    if ((source.along == 1) != (side == TILES_LEFT)) {
        square_transpose((__m512 *)squares.high);
        square_transpose((__m512 *)squares.low);
    }
    store(packed, squares.high);
    store(packed + TILE, squares.low);
}

/* The source is read in the order of memory. */
TILES void tiles_pack(uint16_t *packed, TileSource source, TileSide side)
{
    size_t bands = (source.count + TILES_SQUARE - 1) / TILES_SQUARE * (TILES_SQUARE / BAND);
    size_t steps = (source.depth + TILES_STEP - 1) / TILES_STEP;
    bool along = source.along == 1;
    size_t outer = along ? bands : steps, inner = along ? steps : bands;
    for (size_t i = 0; i < outer; i++)
        for (size_t j = 0; j < inner; j++) {
            size_t band = along ? i : j, step = along ? j : i;
            TileSource part = source;
            part.at += band * BAND * source.across + step * TILES_STEP * source.along;
            part.count = band * BAND < source.count ? source.count - band * BAND : 0;
            part.depth -= step * TILES_STEP;
            pack_step(packed + (band * steps + step) * 2 * TILE, part, side);
        }
}

/* --- multiplying --- */

/* Eight tiles of full size; a thread keeps them. */
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
        shapes.lines[i] = BAND;
    }
    _tile_loadconfig(&shapes);
    done = true;
}

/* Registers 0 to 3 are the square of C, 4 and 5 two bands of A, 6 and 7 two of B. */
#define EACH_OF_C(what)                                      \
    do {                                                     \
        what(0, c, c_row * sizeof *c);                       \
        what(1, c + BAND, c_row * sizeof *c);                \
        what(2, c + BAND * c_row, c_row * sizeof *c);        \
        what(3, c + BAND * c_row + BAND, c_row * sizeof *c); \
    } while (0)
#define LOAD_A(half)                                        \
    do {                                                    \
        _tile_loadd(4, a + (half)*TILE, LINE_BYTES);        \
        _tile_loadd(5, a + band + (half)*TILE, LINE_BYTES); \
    } while (0)
#define LOAD_B(half)                                        \
    do {                                                    \
        _tile_loadd(6, b + (half)*TILE, LINE_BYTES);        \
        _tile_loadd(7, b + band + (half)*TILE, LINE_BYTES); \
    } while (0)
#define MULTIPLY()               \
    do {                         \
        _tile_dpbf16ps(0, 4, 6); \
        _tile_dpbf16ps(1, 4, 7); \
        _tile_dpbf16ps(2, 5, 6); \
        _tile_dpbf16ps(3, 5, 7); \
    } while (0)

/* A square of C; from one band to the next it is `band`, in A and in B. */
TILES static void square(size_t steps, const uint16_t *a, const uint16_t *b, size_t band,
                         bool add, float *c, size_t c_row)
{
    enum { HIGH, LOW };
    __asm__ volatile("" ::: "memory"); /* the compiler does not know what tiles read */
    if (add) {
        EACH_OF_C(_tile_loadd);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (size_t step = 0; step < steps; step++) {
        LOAD_A(LOW);
        LOAD_B(HIGH);
        MULTIPLY();
        LOAD_A(HIGH);
        MULTIPLY();
        LOAD_B(LOW);
        MULTIPLY();
        a += 2 * TILE;
        b += 2 * TILE;
    }
    EACH_OF_C(_tile_stored);
}

static void copy_square(float *to, size_t to_row, const float *from, size_t from_row,
                        size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, columns * sizeof *to);
}

/* A square that is cut off by the edge of C takes place beside it. */
static void edge(size_t steps, const uint16_t *a, const uint16_t *b, size_t band, bool add,
                 float *c, size_t c_row, size_t rows, size_t columns)
{
    _Alignas(LINE_BYTES) float whole[TILES_SQUARE * TILES_SQUARE];
    if (add)
        copy_square(whole, TILES_SQUARE, c, c_row, rows, columns);
    square(steps, a, b, band, add, whole, TILES_SQUARE);
    copy_square(c, c_row, whole, TILES_SQUARE, rows, columns);
}

TILES void tiles_multiply(size_t m, size_t n, size_t k, const uint16_t *a, const uint16_t *b,
                          bool add, float *c, size_t c_row)
{
    size_t steps = (k + TILES_STEP - 1) / TILES_STEP, band = steps * 2 * TILE;
    configure();
    for (size_t column = 0; column < n; column += TILES_SQUARE)
        for (size_t row = 0; row < m; row += TILES_SQUARE) {
            const uint16_t *left = a + row / BAND * band, *right = b + column / BAND * band;
            float *at = c + row * c_row + column;
            size_t rows = m - row, columns = n - column;
            if (rows >= TILES_SQUARE && columns >= TILES_SQUARE)
                square(steps, left, right, band, add, at, c_row);
            else
                edge(steps, left, right, band, add, at, c_row,
                     rows < TILES_SQUARE ? rows : TILES_SQUARE,
                     columns < TILES_SQUARE ? columns : TILES_SQUARE);
        }
}

#else

#include <assert.h>

bool tiles_exist(void)
{
    return false;
}

void tiles_pack(uint16_t *packed, TileSource source, TileSide side)
{
    (void)packed, (void)source, (void)side;
    assert(false);
}

void tiles_multiply(size_t m, size_t n, size_t k, const uint16_t *a, const uint16_t *b,
                    bool add, float *c, size_t c_row)
{
    (void)m, (void)n, (void)k, (void)a, (void)b, (void)add, (void)c, (void)c_row;
    assert(false);
}

#endif
