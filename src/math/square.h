/* 16 x 16 matrices of 4-byte elements, one AVX-512 register per row. Call only where AVX-512
 * is supported. */
#ifndef LINNET_SQUARE_H
#define LINNET_SQUARE_H

#include <immintrin.h>
#include <stddef.h>

enum { SQUARE = 16 };

/* Mask of the first `count` lanes; all if count is 16 or more. */
__attribute__((target("avx512f"), always_inline)) static inline __mmask16 first_lanes(
    size_t count)
{
    unsigned lanes = count >= SQUARE ? 0xffff : (1u << count) - 1;
    return (__mmask16)lanes;
}

/* Transposes in four stages, which interleave rows at distances 1, 2, 4 and 8. */
__attribute__((target("avx512f"), always_inline)) static inline void square_transpose(
    __m512 r[SQUARE])
{
    __m512 t[SQUARE];
#pragma GCC unroll 8
    for (int i = 0; i < SQUARE; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < SQUARE; i += 4)
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

#endif
