#include "src/math/bfloat_kernels.h"

#ifdef BFLOAT_KERNELS

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

/* Accumulators in registers: two vectors of columns for this many rows at a time. */
enum { ROWS = 8, PAIRS = 16 };

bool bfloat_vectors_exist(void)
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

VECTORS void bfloat_square_by_vectors(BfloatParts parts, size_t steps, const uint16_t *a,
                                      size_t a_band, const uint16_t *b, size_t b_band,
                                      const float *start, size_t start_row, float *c,
                                      size_t c_row)
{
    for (size_t row = 0; row < BFLOAT_SQUARE; row++) {
        _mm_prefetch(c + row * c_row, _MM_HINT_T0);
        _mm_prefetch(c + row * c_row + BFLOAT_BAND, _MM_HINT_T0);
    }
    for (size_t row = 0; row < BFLOAT_SQUARE; row += ROWS)
        multiply_rows(parts, steps,
                      a + row / BFLOAT_BAND * a_band + row % BFLOAT_BAND * BFLOAT_STEP, a_band,
                      b, b_band, start ? start + row * start_row : NULL, start_row,
                      c + row * c_row, c_row);
}

VECTORS double bfloat_spin_by_vectors(size_t rounds)
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

#endif
