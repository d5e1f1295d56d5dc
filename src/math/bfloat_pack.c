/* Packs the factors of products in bf16 (bfloat.h). */
#include "src/math/bfloat.h"

#ifdef BFLOAT_KERNELS

#include <immintrin.h>

enum { LANES = 16 };

/* Mask of the first `count` lanes; all if count is 16 or more. */
INLINE __mmask16 first_lanes(size_t count)
{
    unsigned lanes = count >= LANES ? 0xffff : (1u << count) - 1;
    return (__mmask16)lanes;
}

/* Transposes a square of 4-byte elements, one register per row, in four stages, which
 * interleave rows at distances 1, 2, 4 and 8. */
INLINE void transpose(__m512 r[LANES])
{
    __m512 t[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < LANES; i += 4)
#pragma GCC unroll 2
        for (int j = 0; j < 2; j++) {
            __m512d low = _mm512_castps_pd(t[i + j]), high = _mm512_castps_pd(t[i + j + 2]);
            r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, high));
            r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, high));
        }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    }
}

/* A row of a tile is 16 bf16 pairs; both elements of a pair are neighbours along k. In the
 * left factor, a row also runs along k; in the right factor, it spans 16 columns. So a tile is
 * a 16 x 16 square of pairs, and one layout is the transpose of the other. */
typedef struct Squares {
    __m512i high[BFLOAT_BAND], low[BFLOAT_BAND];
} Squares;

/* Converts 16 bf16 to float. */
INLINE __m512 widen(__m256i halves)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

/* Splits 32 consecutive elements along k into pairs. */
INLINE void split_along(Squares *squares, BfloatParts parts, size_t i, __m512 first,
                        __m512 second)
{
    __m512i high = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    squares->high[i] = high;
    if (parts == BFLOAT_ONE)
        return;
    first = _mm512_sub_ps(first, widen(_mm512_castsi512_si256(high)));
    second = _mm512_sub_ps(second, widen(_mm512_extracti64x4_epi64(high, 1)));
    squares->low[i] = (__m512i)_mm512_cvtne2ps_pbh(second, first);
}

/* Splits two rows of 16 elements, adjacent in k, and interleaves them into pairs. */
INLINE void split_across(Squares *squares, BfloatParts parts, size_t i, __m512 first,
                         __m512 second)
{
    const __m512i weave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25,
                                           9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2,
                                           17, 1, 16, 0);
    split_along(squares, parts, i, first, second);
    squares->high[i] = _mm512_permutexvar_epi16(weave, squares->high[i]);
    if (parts == BFLOAT_PAIR)
        squares->low[i] = _mm512_permutexvar_epi16(weave, squares->low[i]);
}

/* One step of a band, from a source that starts there; zero-padded beyond its end. */
INLINE void split_step(Squares *squares, BfloatParts parts, BfloatSource source)
{
    size_t lines = source.along == 1 ? source.count : source.depth;
    size_t length = source.along == 1 ? source.depth : source.count;
    size_t stride = source.along == 1 ? source.across : source.along;
    __mmask16 left = first_lanes(length),
              right = length > LANES ? first_lanes(length - LANES) : 0;
    for (size_t i = 0; i < BFLOAT_BAND; i++) {
        if (source.along == 1) {
            const float *line = source.data + i * stride;
            bool exists = i < lines;
            _mm_prefetch(line + 2 * BFLOAT_STEP, _MM_HINT_T0);
            _mm_prefetch(line + 2 * BFLOAT_STEP + LANES, _MM_HINT_T0);
            split_along(squares, parts, i, _mm512_maskz_loadu_ps(exists ? left : 0, line),
                        _mm512_maskz_loadu_ps(exists ? right : 0, line + LANES));
        } else {
            const float *line = source.data + 2 * i * stride;
            _mm_prefetch(line + 2 * LANES, _MM_HINT_T0);
            _mm_prefetch(line + 2 * LANES + stride, _MM_HINT_T0);
            bool one = 2 * i < lines, both = 2 * i + 1 < lines;
            split_across(squares, parts, i, _mm512_maskz_loadu_ps(one ? left : 0, line),
                         _mm512_maskz_loadu_ps(both ? left : 0, line + stride));
        }
    }
}

INLINE void store(uint16_t *tile, const __m512i square[BFLOAT_BAND])
{
#pragma GCC unroll 16
    for (size_t i = 0; i < BFLOAT_BAND; i++)
        _mm512_store_si512(tile + i * BFLOAT_STEP, square[i]);
}

/* One step of one band. */
INLINE void pack_step(uint16_t *packed, BfloatParts parts, BfloatSource source, BfloatSide side)
{
    Squares squares;
    split_step(&squares, parts, source);
    if ((source.along == 1) != (side == BFLOAT_LEFT)) {
        transpose((__m512 *)squares.high);
        if (parts == BFLOAT_PAIR)
            transpose((__m512 *)squares.low);
    }
    store(packed, squares.high);
    if (parts == BFLOAT_PAIR)
        store(packed + BFLOAT_TILE, squares.low);
}

/* Reads the source in memory order. */
INLINE void pack(uint16_t *packed, size_t of_band, BfloatParts parts, BfloatSource source,
                 BfloatSide side)
{
    size_t bands = (source.count + BFLOAT_SQUARE - 1) / BFLOAT_SQUARE *
                   (BFLOAT_SQUARE / BFLOAT_BAND);
    size_t steps = BFLOAT_STEPS(source.depth);
    bool along = source.along == 1;
    size_t outer = along ? bands : steps, inner = along ? steps : bands;
    for (size_t i = 0; i < outer; i++)
        for (size_t j = 0; j < inner; j++) {
            size_t band = along ? i : j, step = along ? j : i;
            BfloatSource part = source;
            part.data += band * BFLOAT_BAND * source.across + step * BFLOAT_STEP * source.along;
            part.count = band * BFLOAT_BAND < source.count ? source.count - band * BFLOAT_BAND
                                                           : 0;
            part.depth -= step * BFLOAT_STEP;
            pack_step(packed + band * of_band + step * parts * BFLOAT_TILE, parts, part, side);
        }
}

/* Two instances, each with `parts` as a compile-time constant. */
VECTORS void bfloat_pack(uint16_t *packed, size_t band, BfloatParts parts, BfloatSource source,
                         BfloatSide side)
{
    if (parts == BFLOAT_ONE)
        pack(packed, band, BFLOAT_ONE, source, side);
    else
        pack(packed, band, BFLOAT_PAIR, source, side);
}

#endif
