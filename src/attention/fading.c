#include "src/attention/fading.h"
#include "src/attention/rows.h"

#define ROWS ((size_t)FADING_ROWS)

Fading fading_lay_out(Arena *arena)
{
    Fading f = {.between = arena_reals(arena, ROWS * ROWS)};
    ROWS_TAKE(arena, ROWS, &f.decay, &f.from_start, &f.to_end);
    return f;
}

/* Row after row: W_ij = a_i W_(i-1)j. */
void fading_between(const Fading *f, size_t rows)
{
    vector_zero(f->between, ROWS);
    f->between[0] = 1;
    for (size_t i = 1; i < rows; i++) {
        real *row = f->between + i * ROWS;
        const real *before = row - ROWS;
        real decay = f->decay[i];
        for (size_t j = 0; j < ROWS; j++)
            row[j] = vector_clean(before[j] * decay);
        row[i] = 1;
    }
}

void fading_to_ends(const Fading *f, size_t rows)
{
    real product = 1;
    for (size_t i = 0; i < rows; i++)
        f->from_start[i] = product = vector_clean(product * f->decay[i]);
    product = 1;
    for (size_t i = rows; i-- > 0; product = vector_clean(product * f->decay[i]))
        f->to_end[i] = product;
}

/* A row goes on to the end of its cache line, where W is zero and M is finite or will not be
 * read. */
void fading_weigh(const Fading *f, Triangle m)
{
    enum { LINE = 16 };
    for (size_t i = 0; i < m.rows; i++) {
        real *restrict row = m.at + i * ROWS;
        const real *restrict between = f->between + i * ROWS;
        for (size_t j = 0; j < (i / LINE + 1) * LINE; j++)
            row[j] *= between[j];
    }
}
