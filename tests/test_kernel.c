/* The kernels of matrix products against plain loops, bit for bit: every number of rows and
 * columns around the block's, depths around a vector's, any alignment. The matrices lie
 * between pages that nobody may touch, once at the beginning and once at the end. */
#include "src/math/kernel.h"
#include "src/math/random.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

SUITE("kernel");

enum {
    MOST_ROWS = KERNEL_ROWS + 3, /* strips are packed by vectors from KERNEL_ROWS + 2 rows on */
    MOST_COLUMNS = KERNEL_COLUMNS + KERNEL_LANES + 1,
    MOST_DEPTH = 2 * KERNEL_LANES + 1,
    GAP = 3 /* unused numbers between rows: strides exceed widths */
};

/* --- matrices between pages that nobody may touch --- */

typedef struct Fenced {
    real *data;
    size_t count, pages; /* numbers, and bytes between the fences */
    char *map;
} Fenced;

static Fenced fence(size_t count, bool at_the_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = count * sizeof(real);
    Fenced fenced = {.count = count, .pages = (bytes + page - 1) / page * page};
    size_t whole = fenced.pages + 2 * page;
    fenced.map = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(fenced.map, MAP_FAILED);
    ck_assert_int_eq(mprotect(fenced.map + page, fenced.pages, PROT_READ | PROT_WRITE), 0);
    fenced.data = (void *)(fenced.map + page + (at_the_end ? fenced.pages - bytes : 0));
    for (size_t i = 0; i < count; i++)
        fenced.data[i] = (real)(2 * random_uniform(random_key(1, RANDOM_TEST, count), i) - 1);
    return fenced;
}

static void unfence(Fenced *fenced)
{
    munmap(fenced->map, fenced->pages + 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* The numbers of rows that are GAP longer than `length`, the last of which is not. */
static size_t numbers_of(size_t rows, size_t length)
{
    return (rows - 1) * (length + GAP) + length;
}

/* --- one product --- */

/* a b + c: where the compiler joins the two in the kernels, it does so here, and rounds once.
 */
__attribute__((noinline)) static real multiply_add(real a, real b, real c)
{
    return a * b + c;
}

typedef struct Case {
    size_t m, n, k;
    bool a_turned, b_turned, add, at_the_end, a_packed;
} Case;

static void compare(const Case *this, const real *c, const real *expected, const char *what)
{
    if (memcmp(c, expected, numbers_of(this->m, this->n) * sizeof *c) != 0)
        ck_abort_msg("%s: (%zu, %zu) by (%zu, %zu)%s%s%s differs from the plain loop", what,
                     this->m, this->k, this->k, this->n,
                     this->a_packed   ? ", A packed"
                     : this->a_turned ? ", A turned"
                                      : "",
                     this->b_turned ? ", B turned" : "", this->add ? ", added" : "");
}

static void check_multiply(const Case *this, real alpha)
{
    size_t m = this->m, n = this->n, k = this->k;
    Fenced a = fence(this->a_turned ? numbers_of(k, m) : numbers_of(m, k), this->at_the_end);
    Fenced b = fence(this->b_turned ? numbers_of(n, k) : numbers_of(k, n), this->at_the_end);
    Fenced c = fence(numbers_of(m, n), this->at_the_end);
    size_t panels = (n + KERNEL_COLUMNS - 1) / KERNEL_COLUMNS;
    Fenced packed = fence(panels * KERNEL_COLUMNS * k, false);
    size_t strips = (m + KERNEL_ROWS - 1) / KERNEL_ROWS;
    Fenced packed_a = fence(strips * kernel_strip_size(k), this->at_the_end);
    size_t a_row = this->a_turned ? 1 : k + GAP, a_next = this->a_turned ? m + GAP : 1;
    size_t b_row = this->b_turned ? 1 : n + GAP, b_next = this->b_turned ? k + GAP : 1;

    real *expected = malloc(c.count * sizeof *expected);
    memcpy(expected, c.data, c.count * sizeof *expected);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            real *at = expected + i * (n + GAP) + j, sum = 0;
            for (size_t l = 0; l < k; l++)
                sum = multiply_add(a.data[i * a_row + l * a_next],
                                   b.data[l * b_row + j * b_next], sum);
            *at = multiply_add(alpha, sum, this->add ? *at : 0);
        }
    KernelStrips left = this->a_packed
                            ? kernel_pack_strips(packed_a.data, a.data, a_row, a_next, m, k)
                            : kernel_strips(a.data, a_row, a_next);
    kernel_multiply(m, n, k, alpha, left, kernel_pack(packed.data, b.data, b_row, b_next, k, n),
                    (KernelStart){this->add ? c.data : NULL, n + GAP}, c.data, n + GAP);
    compare(this, c.data, expected, "a product");
    free(expected);
    unfence(&a);
    unfence(&b);
    unfence(&c);
    unfence(&packed);
    unfence(&packed_a);
}

/* One element: the products of each lane are summed first, then the halves of the lanes. */
static real plain_dot(const real *a, const real *b, size_t k)
{
    real lanes[KERNEL_LANES] = {0};
    for (size_t l = 0; l < k; l++)
        lanes[l % KERNEL_LANES] = multiply_add(a[l], b[l], lanes[l % KERNEL_LANES]);
    for (size_t half = KERNEL_LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

static void check_dots(const Case *this, real alpha)
{
    size_t m = this->m, n = this->n, k = this->k;
    Fenced a = fence(numbers_of(m, k), this->at_the_end);
    Fenced b = fence(numbers_of(n, k), this->at_the_end);
    Fenced c = fence(numbers_of(m, n), this->at_the_end);
    real *expected = malloc(c.count * sizeof *expected);
    memcpy(expected, c.data, c.count * sizeof *expected);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            real *at = expected + i * (n + GAP) + j;
            real dot = plain_dot(a.data + i * (k + GAP), b.data + j * (k + GAP), k);
            *at = multiply_add(alpha, dot, this->add ? *at : 0);
        }
    kernel_dots(m, n, k, alpha, a.data, k + GAP, b.data, k + GAP,
                (KernelStart){this->add ? c.data : NULL, n + GAP}, c.data, n + GAP);
    compare(this, c.data, expected, "inner products");
    free(expected);
    unfence(&a);
    unfence(&b);
    unfence(&c);
}

/* --- tests --- */

/* Calls the check for every shape, in every form; those are the bits of `forms`. */
static void each_case(void (*check)(const Case *this, real alpha), unsigned forms)
{
    static const size_t depths[] = {
        1, 2, KERNEL_LANES - 1, KERNEL_LANES, KERNEL_LANES + 1, MOST_DEPTH};
    for (size_t m = 1; m <= MOST_ROWS; m++)
        for (size_t n = 1; n <= MOST_COLUMNS; n++)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
                for (unsigned form = 0; form < 16; form++)
                    if (!(form & ~forms)) {
                        bool at_the_end = (m + n + d) % 2;
                        Case this = {m,        n,        depths[d],  form & 1,
                                     form & 2, form & 4, at_the_end, form & 8};
                        check(&this, form & 1 ? 1 : 0.37f);
                    }
}

TEST(products_equal_a_plain_loop)
{
    each_case(check_multiply, 15);
}

TEST(inner_products_equal_a_plain_loop)
{
    each_case(check_dots, 4);
}

/* Also with strips of fewer rows, which prefetch what lies ahead, and beyond the end. */
TEST(panels_in_place_give_the_same_product)
{
    enum { DEPTH = 5, COLUMNS = 3 * KERNEL_COLUMNS, STRIDE = COLUMNS + GAP };
    Fenced a = fence(numbers_of(MOST_ROWS, DEPTH), true);
    Fenced b = fence(numbers_of(DEPTH, COLUMNS), true);
    Fenced packed = fence(COLUMNS * DEPTH, false);
    real from_packed[MOST_ROWS * COLUMNS], in_place[MOST_ROWS * COLUMNS];
    KernelStrips left = kernel_strips(a.data, DEPTH + GAP, 1);
    KernelPanels right = kernel_pack(packed.data, b.data, STRIDE, 1, DEPTH, COLUMNS);
    kernel_multiply(MOST_ROWS, COLUMNS, DEPTH, 1, left, right, (KernelStart){0}, from_packed,
                    COLUMNS);
    for (size_t rows = 1; rows <= MOST_ROWS; rows++)
        for (size_t ahead = 0; ahead <= 2 * STRIDE; ahead += 2 * STRIDE) {
            right = (KernelPanels){b.data, STRIDE, KERNEL_COLUMNS, ahead};
            memset(in_place, 0, sizeof in_place);
            kernel_multiply(rows, COLUMNS, DEPTH, 1, left, right, (KernelStart){0}, in_place,
                            COLUMNS);
            ck_assert_mem_eq(in_place, from_packed, rows * COLUMNS * sizeof *in_place);
        }
    unfence(&a);
    unfence(&b);
    unfence(&packed);
}

/* The bias lies before a page that nobody may touch. */
TEST(every_row_may_begin_with_the_same_numbers)
{
    enum { DEPTH = 5, COLUMNS = KERNEL_COLUMNS + 3 };
    Fenced a = fence(numbers_of(MOST_ROWS, DEPTH), true);
    Fenced b = fence(numbers_of(DEPTH, COLUMNS), true);
    Fenced bias = fence(COLUMNS, true);
    Fenced packed = fence(2 * KERNEL_COLUMNS * DEPTH, false);
    real together[MOST_ROWS * COLUMNS], apart[MOST_ROWS * COLUMNS];
    for (size_t i = 0; i < MOST_ROWS; i++)
        memcpy(apart + i * COLUMNS, bias.data, COLUMNS * sizeof *apart);
    KernelStrips left = kernel_strips(a.data, DEPTH + GAP, 1);
    KernelPanels right = kernel_pack(packed.data, b.data, COLUMNS + GAP, 1, DEPTH, COLUMNS);
    kernel_multiply(MOST_ROWS, COLUMNS, DEPTH, 1, left, right, (KernelStart){bias.data, 0},
                    together, COLUMNS);
    kernel_multiply(MOST_ROWS, COLUMNS, DEPTH, 1, left, right, (KernelStart){apart, COLUMNS},
                    apart, COLUMNS);
    ck_assert_mem_eq(together, apart, sizeof apart);
    unfence(&a);
    unfence(&b);
    unfence(&bias);
    unfence(&packed);
}

TEST(a_transposed_matrix_has_its_numbers_in_their_places)
{
    enum { MOST = 2 * KERNEL_LANES + 1 };
    for (size_t rows = 1; rows <= MOST; rows++)
        for (size_t columns = 1; columns <= MOST; columns++) {
            Fenced from = fence(numbers_of(rows, columns), true);
            Fenced to = fence(numbers_of(columns, rows), true);
            kernel_transpose(to.data, rows + GAP, from.data, columns + GAP, rows, columns);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < columns; j++)
                    ck_assert_double_eq(to.data[j * (rows + GAP) + i],
                                        from.data[i * (columns + GAP) + j]);
            unfence(&from);
            unfence(&to);
        }
}

TEST(the_peak_counts_its_operations)
{
    ck_assert_double_eq(kernel_spin(3), 3 * kernel_spin(1));
    ck_assert_double_ge(kernel_spin(1), 2.0 * KERNEL_ROWS * KERNEL_COLUMNS);
}
