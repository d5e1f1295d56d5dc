#include "src/attention/triangle.h"

#define BAND ((size_t)32)

static size_t band_rows(Triangle m, size_t first)
{
    return m.rows - first < BAND ? m.rows - first : BAND;
}

/* In a band's own square. */
static void clear_above_diagonal(Triangle m, size_t first)
{
    size_t count = band_rows(m, first);
    for (size_t i = 0; i < count; i++) {
        real *row = m.at + (first + i) * m.stride + first;
        for (size_t j = 0; j < count; j++)
            row[j] = j > i ? 0 : row[j];
    }
}

void triangle_product(Triangle m, Factor a, Factor b, size_t width)
{
    for (size_t first = 0; first < m.rows; first += BAND) { /* bands of columns */
        Factor b_band = transposed(b.at + first * b.stride, b.stride);
        gemm(m.rows - first, band_rows(m, first), width, 1,
             plain(a.at + first * a.stride, a.stride), b_band, GEMM_SET,
             m.at + first * m.stride + first, m.stride);
        clear_above_diagonal(m, first);
    }
}

void triangle_add(real *y, size_t y_stride, Triangle m, Factor x, size_t width)
{
    for (size_t first = 0; first < m.rows; first += BAND) {
        size_t count = band_rows(m, first);
        gemm(count, width, first + count, 1, plain(m.at + first * m.stride, m.stride), x,
             GEMM_ADD, y + first * y_stride, y_stride);
    }
}

void triangle_transposed_add(real *y, size_t y_stride, Triangle m, Factor x, size_t width)
{
    for (size_t first = 0; first < m.rows; first += BAND)
        gemm(band_rows(m, first), width, m.rows - first, 1,
             transposed(m.at + first * m.stride + first, m.stride),
             plain(x.at + first * x.stride, x.stride), GEMM_ADD, y + first * y_stride,
             y_stride);
}
