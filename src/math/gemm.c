#include "src/math/gemm_blocks.h"
#include "src/math/kernel.h"
#include "src/base/phase.h"

#include <math.h>

/* --- precision --- */

/* Set once, before any thread starts. */
static GemmPrecision weights_precision = GEMM_SINGLE;

const char *gemm_precision_name(size_t index)
{
    static const char *const names[] = {"single", "pair", "bf16"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

bool gemm_set_precision(GemmPrecision precision, Error *error)
{
    const char *name = gemm_precision_name(precision);
    if (precision != GEMM_SINGLE && bfloat_means() == BFLOAT_NONE)
        return error_set(error,
                         "--precision %s: needs Linux on an x86-64 processor with AVX512_BF16; "
                         "use --precision single",
                         name);
    weights_precision = precision;
    return true;
}

const char *gemm_kernels(void)
{
    return weights_precision != GEMM_SINGLE
               ? bfloat_means() == BFLOAT_TILES ? "linnet-amx" : "linnet-avx512-bf16"
               : "linnet-" KERNEL_NAME;
}

GemmPrecision gemm_precision(void)
{
    return weights_precision;
}

BfloatParts gemm_bfloat_parts(void)
{
    return weights_precision == GEMM_PAIR ? BFLOAT_PAIR : BFLOAT_ONE;
}

/* --- products --- */

static GemmStart start_of(GemmInto into, const real *c, size_t c_stride)
{
    return into == GEMM_ADD ? (GemmStart){c, c_stride} : (GemmStart){0};
}

void gemm(size_t m, size_t n, size_t k, real alpha, Factor a, Factor b, GemmInto into, real *c,
          size_t c_stride)
{
    gemm_by_kernel(m, n, k, alpha, a, b, start_of(into, c, c_stride), c, c_stride);
}

void gemm_weights_from(GemmStart start, size_t m, size_t n, size_t k, Factor a, Factor b,
                       real *c, size_t c_stride)
{
    if (weights_precision != GEMM_SINGLE && m > GEMM_FEW) {
        gemm_by_bfloats(m, n, k, a, b, start, c, c_stride);
        return;
    }
    if (weights_precision != GEMM_SINGLE)
        a.packed = b.packed = NULL; /* in bf16: the originals are read */
    gemm_by_kernel(m, n, k, 1, a, b, start, c, c_stride);
}

void gemm_weights(size_t m, size_t n, size_t k, Factor a, Factor b, GemmInto into, real *c,
                  size_t c_stride)
{
    gemm_weights_from(start_of(into, c, c_stride), m, n, k, a, b, c, c_stride);
}

/* --- factors of several products --- */

/* Whether single precision packs a factor. */
static bool pays(GemmSide side, bool transposed)
{
    return side == GEMM_B && transposed;
}

size_t gemm_share_reals(GemmSide side, bool transposed, size_t rows, size_t columns)
{
    if (weights_precision != GEMM_SINGLE)
        return side == GEMM_A ? gemm_bands_reals(rows, columns)
                              : gemm_bands_reals(columns, rows);
    return pays(side, transposed) ? gemm_panels_reals(rows, columns) : 0;
}

Factor gemm_share(real *memory, Factor factor, GemmSide side, size_t rows, size_t columns)
{
    if (weights_precision != GEMM_SINGLE)
        return side == GEMM_A ? gemm_pack_bands(memory, factor, side, rows, columns)
                              : gemm_pack_bands(memory, factor, side, columns, rows);
    if (!pays(side, factor.transposed))
        return factor;
    return gemm_pack_panels(memory, factor, rows, columns);
}

/* --- the peak --- */

static double spin(GemmPrecision precision, size_t rounds)
{
    enum { PRODUCTS_OF_PAIRS = 3 };
    return precision == GEMM_SINGLE ? kernel_spin(rounds)
           : precision == GEMM_BF16 ? bfloat_spin(rounds)
                                    : bfloat_spin(rounds) / PRODUCTS_OF_PAIRS;
}

double gemm_spin(size_t rounds)
{
    return spin(weights_precision, rounds);
}

/* Floating-point operations per second, the most of several turns. */
static double speed(GemmPrecision precision)
{
    enum { TURNS = 5, ROUNDS = 1 << 17 };
    double most = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        double start = clock_seconds(), done = spin(precision, ROUNDS);
        most = fmax(most, done / (clock_seconds() - start));
    }
    return most;
}

double gemm_gain(void)
{
    return weights_precision == GEMM_SINGLE ? 1 : speed(weights_precision) / speed(GEMM_SINGLE);
}
