#include "src/math/bfloat_kernels.h"

#ifdef BFLOAT_KERNELS

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TILES __attribute__((target("amx-tile,amx-bf16")))

enum { LINE_BYTES = 64 };

static bool processor_has_tiles(void)
{
    enum { FEATURES = 7, BF16_TILES = 22, TILES_AT_ALL = 24 };
    unsigned a, b, c, d;
    return __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) &&
           (d >> BF16_TILES & d >> TILES_AT_ALL & 1);
}

bool bfloat_tiles_exist(void)
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

TILES void bfloat_square_by_tiles(BfloatParts parts, size_t steps, const uint16_t *a,
                                  size_t a_band, const uint16_t *b, size_t b_band,
                                  const float *start, size_t start_row, float *c, size_t c_row)
{
    enum { HIGH, LOW };
    configure();
    __asm__ volatile(
        "" ::
            : "memory"); /* the intrinsics do not tell the compiler what they read */
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

TILES double bfloat_spin_by_tiles(size_t rounds)
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

#endif
