#include "src/attention/triangle.h"
#include "src/math/vector.h"

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

/* --- systems --- */

/* Rows of a block are solved one by one; the rest are products with solved rows. Products with
 * this few rows need no packing. */
#define BLOCK ((size_t)8)

static size_t block_rows(Triangle l, size_t first)
{
    return l.rows - first < BLOCK ? l.rows - first : BLOCK;
}

void triangle_solve(Triangle l, real *x, size_t stride, size_t width)
{
    for (size_t first = 0; first < l.rows; first += BLOCK) {
        size_t end = first + block_rows(l, first);
        /* X -= L X, with the solved rows above */
        if (first > 0)
            gemm(end - first, width, first, -1, plain(l.at + first * l.stride, l.stride),
                 plain(x, stride), GEMM_ADD, x + first * stride, stride);
        for (size_t i = first + 1; i < end; i++)
            for (size_t j = first; j < i; j++)
                vector_add_scaled(x + i * stride, x + j * stride, -l.at[i * l.stride + j],
                                  width);
    }
}

void triangle_solve_transposed(Triangle l, real *x, size_t stride, size_t width)
{
    size_t blocks = (l.rows + BLOCK - 1) / BLOCK;
    for (size_t first = blocks * BLOCK; first > 0;) {
        first -= BLOCK;
        size_t end = first + block_rows(l, first);
        /* X -= L^T X, with the solved rows below */
        if (end < l.rows)
            gemm(end - first, width, l.rows - end, -1,
                 transposed(l.at + end * l.stride + first, l.stride),
                 plain(x + end * stride, stride), GEMM_ADD, x + first * stride, stride);
        for (size_t i = end; i-- > first;)
            for (size_t j = i + 1; j < end; j++)
                vector_add_scaled(x + i * stride, x + j * stride, -l.at[j * l.stride + i],
                                  width);
    }
}
