/* A square of 16 by 16 numbers of four bytes, a vector of AVX-512 for each row. For kernels
 * that are built for such processors and called only there. */
#ifndef LINNET_SQUARE_H
#define LINNET_SQUARE_H

#include <immintrin.h>
#include <stddef.h>

enum { SQUARE = 16 };

/* Of a row's numbers the first `count`, or all of them. */
__attribute__((target("avx512f"), always_inline)) static inline __mmask16 first_lanes(
    size_t count)
{
    unsigned lanes = count >= SQUARE ? 0xffff : (1u << count) - 1;
    return (__mmask16)lanes;
}

/* Turns a square of 16 by 16: pairs of rows are woven together, four times, at distances of 8,
 * 4, 2 and 1 rows. */
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
