#include "src/kernel.h"

#if defined(__x86_64__) && !defined(LINNET_DOUBLE)

#include "src/square.h"

/* Always compiled for AVX-512, whatever the target of the build; called only where supported.
 */
#define WIDE   __attribute__((target("avx512f")))
#define INLINE __attribute__((target("avx512f"), always_inline)) static inline

enum { LANES = 16 };

bool kernel_exists(void)
{
    return __builtin_cpu_supports("avx512f");
}

/* --- packing --- */

WIDE static void pack_rows(float *panel, const float *b, size_t b_row, size_t k, size_t columns)
{
    __mmask16 left = first_lanes(columns);
    __mmask16 right = columns > LANES ? first_lanes(columns - LANES) : 0;
    for (size_t i = 0; i < k; i++) {
        _mm512_store_ps(panel + i * KERNEL_COLUMNS, _mm512_maskz_loadu_ps(left, b + i * b_row));
        _mm512_store_ps(panel + i * KERNEL_COLUMNS + LANES,
                        _mm512_maskz_loadu_ps(right, b + i * b_row + LANES));
    }
}

WIDE static void pack_columns(float *panel, const float *b, size_t b_next, size_t k,
                              size_t columns)
{
    for (size_t half = 0; half < KERNEL_COLUMNS; half += LANES)
        for (size_t i = 0; i < k; i += LANES) {
            size_t rows = k - i < LANES ? k - i : LANES;
            __m512 square[LANES];
#pragma GCC unroll 16
            for (size_t j = 0; j < LANES; j++)
                square[j] = half + j < columns
                                ? _mm512_maskz_loadu_ps(first_lanes(rows),
                                                        b + (half + j) * b_next + i)
                                : _mm512_setzero_ps();
            square_transpose(square);
#pragma GCC unroll 16
            for (size_t j = 0; j < LANES; j++)
                if (j < rows)
                    _mm512_store_ps(panel + (i + j) * KERNEL_COLUMNS + half, square[j]);
        }
}

WIDE void kernel_pack(float *panels, const float *b, size_t b_row, size_t b_next, size_t k,
                      size_t n)
{
    for (size_t column = 0; column < n; column += KERNEL_COLUMNS) {
        size_t columns = n - column < KERNEL_COLUMNS ? n - column : KERNEL_COLUMNS;
        if (b_next == 1)
            pack_rows(panels, b + column, b_row, k, columns);
        else
            pack_columns(panels, b + column * b_next, b_next, k, columns);
        panels += k * KERNEL_COLUMNS;
    }
}

/* --- multiplying --- */

/* `rows` is a compile-time constant in every copy, so that all accumulators stay in registers.
 */
INLINE void strip(size_t rows, size_t columns, size_t k, float alpha, const float *a,
                  size_t a_row, size_t a_next, const float *panel, size_t panel_row, bool add,
                  float *c, size_t c_row)
{
    __m512 sum[KERNEL_ROWS][2];
#pragma GCC unroll 14
    for (size_t i = 0; i < rows; i++)
        sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (size_t p = 0; p < k; p++) {
        __m512 left = _mm512_loadu_ps(panel), right = _mm512_loadu_ps(panel + LANES);
#pragma GCC unroll 14
        for (size_t i = 0; i < rows; i++) {
            __m512 one = _mm512_set1_ps(a[i * a_row]);
            sum[i][0] = _mm512_fmadd_ps(one, left, sum[i][0]);
            sum[i][1] = _mm512_fmadd_ps(one, right, sum[i][1]);
        }
        a += a_next;
        panel += panel_row;
    }
    __mmask16 left = first_lanes(columns);
    __mmask16 right = columns > LANES ? first_lanes(columns - LANES) : 0;
    __m512 factor = _mm512_set1_ps(alpha);
#pragma GCC unroll 14
    for (size_t i = 0; i < rows; i++) {
        float *row = c + i * c_row;
        __m512 low = add ? _mm512_maskz_loadu_ps(left, row) : _mm512_setzero_ps();
        __m512 high = add ? _mm512_maskz_loadu_ps(right, row + LANES) : _mm512_setzero_ps();
        _mm512_mask_storeu_ps(row, left, _mm512_fmadd_ps(factor, sum[i][0], low));
        _mm512_mask_storeu_ps(row + LANES, right, _mm512_fmadd_ps(factor, sum[i][1], high));
    }
}

#define STRIP(rows)                                                                        \
    WIDE static void strip_##rows(size_t columns, size_t k, float alpha, const float *a,   \
                                  size_t a_row, size_t a_next, const float *panel,         \
                                  size_t panel_row, bool add, float *c, size_t c_row)      \
    {                                                                                      \
        strip(rows, columns, k, alpha, a, a_row, a_next, panel, panel_row, add, c, c_row); \
    }
/* clang-format off */
STRIP(1) STRIP(2) STRIP(3) STRIP(4) STRIP(5) STRIP(6) STRIP(7)
STRIP(8) STRIP(9) STRIP(10) STRIP(11) STRIP(12) STRIP(13) STRIP(14)
    /* clang-format on */

    WIDE void kernel_multiply(size_t m, size_t n, size_t k, float alpha, const float *a,
                              size_t a_row, size_t a_next, const float *panels,
                              size_t panel_row, bool add, float *c, size_t c_row)
{
    static void (*const strips[])(size_t, size_t, float, const float *, size_t, size_t,
                                  const float *, size_t, bool, float *, size_t) = {
        strip_1, strip_2, strip_3,  strip_4,  strip_5,  strip_6,  strip_7,
        strip_8, strip_9, strip_10, strip_11, strip_12, strip_13, strip_14};
    for (size_t column = 0; column < n; column += KERNEL_COLUMNS) {
        size_t columns = n - column < KERNEL_COLUMNS ? n - column : KERNEL_COLUMNS;
        for (size_t row = 0; row < m; row += KERNEL_ROWS) {
            size_t rows = m - row < KERNEL_ROWS ? m - row : KERNEL_ROWS;
            strips[rows - 1](columns, k, alpha, a + row * a_row, a_row, a_next, panels,
                             panel_row, add, c + row * c_row + column, c_row);
        }
        panels += k * panel_row;
    }
}

/* --- inner products --- */

/* One row of A times 16 rows of B; missing rows of B are replaced by the last. */
WIDE static __m512 dots(size_t k, const float *a, const float *b, size_t b_row, size_t rows)
{
    __m512 sum[LANES];
    const float *row[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++) {
        sum[i] = _mm512_setzero_ps();
        row[i] = b + (i < rows ? i : rows - 1) * b_row;
    }
    for (size_t p = 0; p < k; p += LANES) {
        __mmask16 lanes = first_lanes(k - p);
        __m512 one = _mm512_maskz_loadu_ps(lanes, a + p);
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            sum[i] = _mm512_fmadd_ps(one, _mm512_maskz_loadu_ps(lanes, row[i] + p), sum[i]);
    }
    square_transpose(sum);
#pragma GCC unroll 4
    for (size_t half = LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (size_t i = 0; i < half; i++)
            sum[i] = _mm512_add_ps(sum[i], sum[i + half]);
    return sum[0];
}

WIDE void kernel_dots(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                      const float *b, size_t b_row, bool add, float *c, size_t c_row)
{
    __m512 factor = _mm512_set1_ps(alpha);
    for (size_t column = 0; column < n; column += LANES) {
        size_t columns = n - column < LANES ? n - column : LANES;
        __mmask16 lanes = first_lanes(columns);
        for (size_t row = 0; row < m; row++) {
            float *at = c + row * c_row + column;
            __m512 sum = dots(k, a + row * a_row, b + column * b_row, b_row, columns);
            __m512 old = add ? _mm512_maskz_loadu_ps(lanes, at) : _mm512_setzero_ps();
            _mm512_mask_storeu_ps(at, lanes, _mm512_fmadd_ps(factor, sum, old));
        }
    }
}

#else

#include <assert.h>

bool kernel_exists(void)
{
    return false;
}

void kernel_pack(float *panels, const float *b, size_t b_row, size_t b_next, size_t k, size_t n)
{
    (void)panels, (void)b, (void)b_row, (void)b_next, (void)k, (void)n;
    assert(false);
}

void kernel_multiply(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                     size_t a_next, const float *panels, size_t panel_row, bool add, float *c,
                     size_t c_row)
{
    (void)panel_row, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)a_row, (void)a_next,
        (void)panels;
    (void)add, (void)c, (void)c_row;
    assert(false);
}

void kernel_dots(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                 const float *b, size_t b_row, bool add, float *c, size_t c_row)
{
    (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)a_row, (void)b, (void)b_row;
    (void)add, (void)c, (void)c_row;
    assert(false);
}

#endif
