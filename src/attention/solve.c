#include "src/attention/solve.h"
#include "src/vector.h"

/* Rows of a block are solved one by one; the rest are products with solved rows. Products with
 * this few rows need no packing. */
#define BLOCK ((size_t)8)

static size_t block_rows(Triangle l, size_t first)
{
    return l.rows - first < BLOCK ? l.rows - first : BLOCK;
}

void solve_lower(Triangle l, real *x, size_t stride, size_t width)
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

void solve_lower_transposed(Triangle l, real *x, size_t stride, size_t width)
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
