#include "src/math/kernel.h"

#include <string.h>

enum { LANES = KERNEL_LANES, ROWS = KERNEL_ROWS, VECTORS = KERNEL_VECTORS };

/* A vector register, and one in memory at any address. */
typedef real Lanes __attribute__((vector_size(KERNEL_LANES * sizeof(real))));
typedef real Loose
    __attribute__((vector_size(sizeof(Lanes)), aligned(sizeof(real)), may_alias));

#define INLINE __attribute__((always_inline)) static inline

INLINE Lanes load(const real *at)
{
    return *(const Loose *)at;
}

INLINE void store(real *at, Lanes value)
{
    *(Loose *)at = value;
}

/* The first `count` lanes; the others are zero. */
INLINE Lanes load_some(const real *at, size_t count)
{
    real lanes[LANES] = {0};
    memcpy(lanes, at, count * sizeof *lanes);
    return load(lanes);
}

/* --- packing --- */

/* The first halves of two vectors, interleaved, and the second halves. */
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef KERNEL_LANES_OF(int32_t, int64_t) Indices __attribute__((vector_size(sizeof(Lanes))));
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (Indices){__VA_ARGS__})
#endif
#define WEAVE_2(a, b, i) SHUFFLE(a, b, i, i + 2)
#define WEAVE_4(a, b, i) SHUFFLE(a, b, i, i + 4, i + 1, i + 5)
#define WEAVE_8(a, b, i) SHUFFLE(a, b, i, i + 8, i + 1, i + 9, i + 2, i + 10, i + 3, i + 11)
#define WEAVE_16(a, b, i)                                                                \
    SHUFFLE(a, b, i, i + 16, i + 1, i + 17, i + 2, i + 18, i + 3, i + 19, i + 4, i + 20, \
            i + 5, i + 21, i + 6, i + 22, i + 7, i + 23)
#define JOIN(name, lanes) name##lanes
#define WEAVE(lanes)      JOIN(WEAVE_, lanes)

/* Transposes a square of vectors. Weaving row i with row i + LANES / 2 moves the leading bit of
 * a number's row to the end of its lane, and the leading bit of its lane to the end of its row;
 * once for each bit, rows and lanes have changed places. */
INLINE void transpose(Lanes square[LANES])
{
    for (size_t bit = 1; bit < LANES; bit *= 2) {
        Lanes old[LANES];
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            old[i] = square[i];
#pragma GCC unroll 8
        for (size_t i = 0; i < LANES / 2; i++) {
            square[2 * i] = WEAVE(KERNEL_LANES)(old[i], old[i + LANES / 2], 0);
            square[2 * i + 1] = WEAVE(KERNEL_LANES)(old[i], old[i + LANES / 2], LANES / 2);
        }
    }
}

/* Reads B row by row, as it lies in memory. */
static void pack_rows(real *panels, const real *b, size_t b_row, size_t k, size_t n)
{
    for (size_t i = 0; i < k; i++, b += b_row) {
        real *to = panels + i * KERNEL_COLUMNS;
        size_t column = 0;
        for (; column + KERNEL_COLUMNS <= n; column += KERNEL_COLUMNS, to += k * KERNEL_COLUMNS)
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                store(to + v * LANES, load(b + column + v * LANES));
        if (column < n) {
            memset(to, 0, KERNEL_COLUMNS * sizeof *to);
            memcpy(to, b + column, (n - column) * sizeof *to);
        }
    }
}

/* A square at a time; what is left at the edges number by number. */
void kernel_transpose(real *to, size_t to_row, const real *from, size_t from_row, size_t rows,
                      size_t columns)
{
    size_t whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES;
    for (size_t i = 0; i < whole_rows; i += LANES)
        for (size_t j = 0; j < whole_columns; j += LANES) {
            Lanes square[LANES];
#pragma GCC unroll 16
            for (size_t lane = 0; lane < LANES; lane++)
                square[lane] = load(from + (i + lane) * from_row + j);
            transpose(square);
#pragma GCC unroll 16
            for (size_t lane = 0; lane < LANES; lane++)
                store(to + (j + lane) * to_row + i, square[lane]);
        }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            to[j * to_row + i] = from[i * from_row + j];
}

static void pack_columns(real *panel, const real *b, size_t b_next, size_t k, size_t columns)
{
    kernel_transpose(panel, KERNEL_COLUMNS, b, b_next, columns, k);
    for (size_t i = 0; i < k && columns < KERNEL_COLUMNS; i++)
        memset(panel + i * KERNEL_COLUMNS + columns, 0,
               (KERNEL_COLUMNS - columns) * sizeof *panel);
}

KernelPanels kernel_pack(real *panels, const real *b, size_t b_row, size_t b_next, size_t k,
                         size_t n)
{
    size_t panel = k * KERNEL_COLUMNS;
    if (b_next == 1)
        pack_rows(panels, b, b_row, k, n);
    else
        for (size_t column = 0; column < n; column += KERNEL_COLUMNS) {
            size_t columns = n - column < KERNEL_COLUMNS ? n - column : KERNEL_COLUMNS;
            pack_columns(panels + column / KERNEL_COLUMNS * panel, b + column * b_next, b_next,
                         k, columns);
        }
    return (KernelPanels){.data = panels, .row = KERNEL_COLUMNS, .next = panel};
}

/* Some rows of A transposed, next to each other, so that each strip is opened once for them. A
 * vector may be wider than a strip: what it stores behind a row is overwritten by the next. */
INLINE void pack_strip_rows(size_t count, real *to, size_t strip, const real *a, size_t a_next,
                            size_t m)
{
    enum { PIECES = (ROWS + LANES - 1) / LANES, SPAN = PIECES * LANES };
    size_t row = 0;
    for (; row + SPAN <= m; row += ROWS, to += strip)
#pragma GCC unroll 4
        for (size_t i = 0; i < count; i++)
#pragma GCC unroll 2
            for (size_t piece = 0; piece < PIECES; piece++)
                store(to + i * ROWS + piece * LANES,
                      load(a + i * a_next + row + piece * LANES));
    for (; row < m; row += ROWS, to += strip)
        for (size_t i = 0; i < count; i++)
            memcpy(to + i * ROWS, a + i * a_next + row,
                   (m - row < ROWS ? m - row : ROWS) * sizeof *to);
}

static void pack_lines(real *strips, size_t strip, const real *a, size_t a_next, size_t m,
                       size_t k)
{
    enum { AT_ONCE = 4 };
    size_t i = 0;
    for (; i + AT_ONCE <= k; i += AT_ONCE)
        pack_strip_rows(AT_ONCE, strips + i * ROWS, strip, a + i * a_next, a_next, m);
    for (; i < k; i++)
        pack_strip_rows(1, strips + i * ROWS, strip, a + i * a_next, a_next, m);
}

/* One strip of rows of A, transposed some squares at a time, which together may be wider than
 * the strip; in place of missing rows stands the last. */
static void pack_square_rows(real *to, const real *a, size_t a_row, size_t rows, size_t k)
{
    enum { SQUARES = (ROWS + LANES - 1) / LANES };
    for (size_t p = 0; p < k; p += LANES) {
        const size_t count = k - p < LANES ? k - p : LANES;
        Lanes square[SQUARES][LANES];
#pragma GCC unroll 2
        for (size_t s = 0; s < SQUARES; s++) {
#pragma GCC unroll 16
            for (size_t lane = 0; lane < LANES; lane++) {
                const size_t row = s * LANES + lane;
                const real *from = a + (row < rows ? row : rows - 1) * a_row + p;
                square[s][lane] = count == LANES ? load(from) : load_some(from, count);
            }
            transpose(square[s]);
        }
        for (size_t i = 0; i < count; i++)
#pragma GCC unroll 2
            for (size_t s = 0; s < SQUARES; s++)
                store(to + (p + i) * ROWS + s * LANES, square[s][i]);
    }
}

KernelStrips kernel_pack_strips(real *strips, const real *a, size_t a_row, size_t a_next,
                                size_t m, size_t k)
{
    const size_t strip = kernel_strip_size(k);
    if (a_row == 1)
        pack_lines(strips, strip, a, a_next, m, k);
    else
        for (size_t row = 0; row < m; row += ROWS)
            pack_square_rows(strips + row / ROWS * strip, a + row * a_row, a_row, m - row, k);
    return (KernelStrips){strips, 1, ROWS, strip};
}

/* --- multiplying --- */

/* Factors of a strip of C: some rows of A, and a panel of B. */
typedef struct Factors {
    size_t k;
    real alpha;
    const real *a;
    size_t a_row, a_next;
    const real *panel;
    size_t panel_row;
    size_t panel_ahead; /* what to prefetch of B, for strips of fewer rows */
} Factors;

/* What to prefetch of A. The processor's own prefetchers do not follow as many rows as a strip
 * of wide vectors has. A cache line holds LINE numbers of one row: at each step the line after
 * next of another row is fetched. If A is transposed, every step reads a new line, and the
 * one of STEPS steps later is fetched. A strip of narrow vectors has few rows, and its time
 * goes to instructions. */
enum { LINE = 16, STEPS = 16, PREFETCHES = KERNEL_LANES >= 16 };

typedef struct Ahead {
    const real *line;
    size_t row, next;
} Ahead;

INLINE Ahead ahead_of(const Factors *f)
{
    bool plain = f->a_next == 1;
    return (Ahead){f->a + (plain ? 2 * LINE : STEPS * f->a_next), plain ? f->a_row : 0,
                   f->a_next};
}

INLINE void fetch_ahead(Ahead ahead, size_t step)
{
    if (PREFETCHES)
        __builtin_prefetch(ahead.line + step * ahead.next + step % LINE * ahead.row);
}

/* `rows` is a compile-time constant in every copy, so that all sums stay in registers. clang
 * unrolls loops before it makes the copies: so they run to ROWS, and the copy for fewer rows
 * leaves out the others. */
INLINE void strip(size_t rows, bool packed, Factors f, KernelStart start, real *c, size_t c_row)
{
    Ahead ahead = ahead_of(&f);
    Lanes sum[ROWS][VECTORS];
#pragma GCC unroll 14
    for (size_t i = 0; i < ROWS; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            if (i < rows) {
                sum[i][v] = (Lanes){0};
                __builtin_prefetch(c + i * c_row + v * LANES, 1);
            }
#pragma GCC unroll 1
    for (size_t p = 0; p < f.k; p++) {
        Lanes row[VECTORS];
        if (!packed)
            fetch_ahead(ahead, p);
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) {
            row[v] = load(f.panel + v * LANES);
            if (rows < ROWS)
                __builtin_prefetch(f.panel + f.panel_ahead + v * LANES);
        }
#pragma GCC unroll 14
        for (size_t i = 0; i < ROWS; i++)
            if (i < rows) {
                real one = f.a[i * f.a_row];
#pragma GCC unroll 4
                for (size_t v = 0; v < VECTORS; v++)
                    sum[i][v] += one * row[v];
            }
        f.a += f.a_next;
        f.panel += f.panel_row;
    }
#pragma GCC unroll 14
    for (size_t i = 0; i < ROWS; i++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            if (i < rows) {
                Lanes old = start.data ? load(start.data + i * start.row + v * LANES)
                                       : (Lanes){0};
                store(c + i * c_row + v * LANES, f.alpha * sum[i][v] + old);
            }
}

/* Some rows, but at most ROWS, times a whole panel. */
static void multiply_strip(size_t rows, Factors f, KernelStart start, real *c, size_t c_row)
{
#define STRIP(n)                                                    \
    case n:                                                         \
        if (n <= ROWS)                                              \
            strip(n <= ROWS ? n : ROWS, false, f, start, c, c_row); \
        break
    switch (rows) {
        STRIP(1);
        STRIP(2);
        STRIP(3);
        STRIP(4);
        STRIP(5);
        STRIP(6);
        STRIP(7);
        STRIP(8);
        STRIP(9);
        STRIP(10);
        STRIP(11);
        STRIP(12);
        STRIP(13);
        STRIP(14);
    }
}

/* A whole strip of a packed A: its strides are known, and the processor itself sees what comes
 * next. */
static void multiply_packed_strip(Factors f, KernelStart start, real *c, size_t c_row)
{
    f.a_row = 1;
    f.a_next = ROWS;
    strip(ROWS, true, f, start, c, c_row);
}

static void copy_block(real *to, size_t to_row, const real *from, size_t from_row, size_t rows,
                       size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(to + i * to_row, from + i * from_row, columns * sizeof *to);
}

/* At the right edge of C a whole strip is computed in a buffer. */
static void multiply_edge(size_t rows, size_t columns, Factors f, KernelStart start, real *c,
                          size_t c_row)
{
    real block[ROWS * KERNEL_COLUMNS] = {0};
    KernelStart inside = {start.data ? block : NULL, KERNEL_COLUMNS};
    if (start.data)
        copy_block(block, KERNEL_COLUMNS, start.data, start.row, rows, columns);
    multiply_strip(rows, f, inside, block, KERNEL_COLUMNS);
    copy_block(c, c_row, block, KERNEL_COLUMNS, rows, columns);
}

void kernel_multiply(size_t m, size_t n, size_t k, real alpha, KernelStrips a, KernelPanels b,
                     KernelStart start, real *c, size_t c_row)
{
    /* Strips that prefetch B have fewer rows. */
    const size_t strips = (m + ROWS - 2) / (ROWS - 1);
    const size_t high = b.ahead > 0 ? (m + strips - 1) / strips : ROWS;
    const size_t next_strip = b.ahead > 0 ? high * a.row : a.strip;
    for (size_t column = 0; column < n; column += KERNEL_COLUMNS, b.data += b.next) {
        size_t columns = n - column < KERNEL_COLUMNS ? n - column : KERNEL_COLUMNS;
        const real *strip = a.data;
        for (size_t row = 0; row < m; row += high, strip += next_strip) {
            size_t rows = m - row < high ? m - row : high;
            Factors f = {k, alpha, strip, a.row, a.next, b.data, b.row, row > 0 ? 0 : b.ahead};
            KernelStart part = kernel_start_at(start, row, column);
            real *at = c + row * c_row + column;
            if (columns == KERNEL_COLUMNS && rows == ROWS && a.row == 1 && a.next == ROWS)
                multiply_packed_strip(f, part, at, c_row);
            else if (columns == KERNEL_COLUMNS)
                multiply_strip(rows, f, part, at, c_row);
            else
                multiply_edge(rows, columns, f, part, at, c_row);
        }
    }
}

/* --- inner products --- */

/* LANES products: of `across` rows of A, 1 or 2, and LANES / across rows of B. In place of
 * missing rows of B stands the last. Two rows of A need each number of B only once from the
 * cache. */
INLINE Lanes dots(size_t across, size_t k, const real *a, size_t a_row, const real *b,
                  size_t b_row, size_t rows)
{
    const size_t along = LANES / across;
    Lanes sum[LANES];
    const real *row[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        sum[i] = (Lanes){0};
#pragma GCC unroll 16
    for (size_t j = 0; j < along; j++)
        row[j] = b + (j < rows ? j : rows - 1) * b_row;
    for (size_t p = 0; p < k; p += LANES) {
        const size_t count = k - p;
        const bool whole = count >= LANES;
        Lanes one[2];
#pragma GCC unroll 2
        for (size_t i = 0; i < across; i++)
            one[i] = whole ? load(a + i * a_row + p) : load_some(a + i * a_row + p, count);
#pragma GCC unroll 16
        for (size_t j = 0; j < along; j++) {
            Lanes other = whole ? load(row[j] + p) : load_some(row[j] + p, count);
#pragma GCC unroll 2
            for (size_t i = 0; i < across; i++)
                sum[i * along + j] += one[i] * other;
        }
    }
    transpose(sum);
#pragma GCC unroll 4
    for (size_t half = LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (size_t i = 0; i < half; i++)
            sum[i] += sum[i + half];
    return sum[0];
}

static Lanes dots_of_one(size_t k, const real *a, const real *b, size_t b_row, size_t rows)
{
    return dots(1, k, a, 0, b, b_row, rows);
}

static Lanes dots_of_two(size_t k, const real *a, size_t a_row, const real *b, size_t b_row,
                         size_t rows)
{
    return dots(2, k, a, a_row, b, b_row, rows);
}

/* The last row, if there is no other beside it, is computed twice. */
void kernel_dots(size_t m, size_t n, size_t k, real alpha, const real *a, size_t a_row,
                 const real *b, size_t b_row, KernelStart start, real *c, size_t c_row)
{
    const size_t across = m > 1 ? 2 : 1, along = LANES / across;
    for (size_t column = 0; column < n; column += along) {
        const size_t columns = n - column < along ? n - column : along;
        const real *from = b + column * b_row;
        for (size_t first = 0; first < m; first += across) {
            real sums[LANES];
            const real *rows = a + first * a_row;
            store(sums, across == 1 ? dots_of_one(k, rows, from, b_row, columns)
                                    : dots_of_two(k, rows, first + 1 < m ? a_row : 0, from,
                                                  b_row, columns));
            for (size_t i = 0; i < across && first + i < m; i++) {
                real *at = c + (first + i) * c_row + column;
                KernelStart part = kernel_start_at(start, first + i, column);
                for (size_t j = 0; j < columns; j++)
                    at[j] = alpha * sums[i * along + j] + (part.data ? part.data[j] : 0);
            }
        }
    }
}

/* --- the peak --- */

double kernel_spin(size_t rounds)
{
    enum { SUMS = ROWS * VECTORS };
    Lanes by = 0.9999f + (Lanes){0}, plus = 0.5f + (Lanes){0}, sum[SUMS], all = {0};
#pragma GCC unroll 28
    for (size_t i = 0; i < SUMS; i++)
        sum[i] = plus * (real)i;
    for (size_t round = 0; round < rounds; round++)
#pragma GCC unroll 28
        for (size_t i = 0; i < SUMS; i++)
            sum[i] = sum[i] * by + plus;
#pragma GCC unroll 28
    for (size_t i = 0; i < SUMS; i++)
        all += sum[i];
    __asm__ volatile("" ::"m"(all)); /* so that the sums are needed */
    return 2.0 * SUMS * LANES * (double)rounds;
}
