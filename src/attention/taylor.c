/* Linear attention with the first terms of the exponential's Taylor series.
 *
 *   taylor    1 + tau cos(q, k): first order, with normalised rows. tau < 1 keeps weights and
 *             denominators positive.
 *   taylor2   1 + s + s^2 / 2,  s = q . k / sqrt(d): second order, at least 1/2.
 *
 * Either weight is a product of features. Those of taylor are sqrt(tau) x / |x| and 1. With
 * u = x / d^(1/4), those of taylor2 are u, all products u_a u_b with a < b, all squares
 * u_a^2 / sqrt(2), and 1: 153 for d = 16, the most that queries and keys have, as in Based;
 * values have the dimension of the head. Features of rows with a large norm cancel where s is
 * small and leave rounding errors, so the norm of u is clipped to 6, which allows scores up
 * to 36.
 *
 * Inside a chunk, pairs are weighed by their few leading features, x / |x| or u, and the series
 * itself; only the state needs all features. Rows of features are padded with zeros to a
 * multiple of 8.
 *
 * Shapes: x, dx, u, du (d); y, dy (F); p, a (count). */
#include "src/attention/features.h"
#include "src/attention/rows.h"

static size_t padded(size_t features)
{
    return (features + 7) / 8 * 8;
}

/* The feature 1, and zeros to the end of the row. */
static void end_row(real *y, size_t at, size_t features)
{
    y[at] = 1;
    vector_zero(y + at + 1, features - at - 1);
}

/* --- first order --- */

static size_t first_features(const AttentionHead *head)
{
    return padded(head->width + 1);
}

static real slope_root(const AttentionHead *head)
{
    return (real)sqrt(head->options->tau);
}

static void first_row(real *restrict y, const real *restrict x, real slope, size_t width)
{
    real scale = slope * row_unit(x, width);
    for (size_t j = 0; j < width; j++)
        y[j] = scale * x[j];
    end_row(y, width, padded(width + 1));
}

static void first_row_backward(real *restrict dx, const real *restrict dy,
                               const real *restrict y, const real *restrict x, real slope,
                               size_t width)
{
    (void)y;
    for (size_t j = 0; j < width; j++)
        dx[j] = slope * dy[j];
    row_unit_backward(dx, x, row_unit(x, width), width);
}

static const FeatureRow first = {first_row, first_row_backward};

/* p = 1 + s */
static real first_weights(real *p, size_t count, real slope)
{
    (void)slope;
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        p[j] += 1;
        sum += p[j];
    }
    return sum;
}

/* ds = dp */
static void first_weights_backward(real *restrict p, real *restrict a, real dn, size_t count,
                                   real slope)
{
    (void)slope;
    for (size_t j = 0; j < count; j++) {
        p[j] += 1;
        a[j] += dn;
    }
}

const AttentionKind attention_taylor = {
    .name = "taylor",
    .source = "Li et al. 2020, arXiv 2007.14902",
    .help = "first-order Taylor weights 1 + tau cos(q,k), almost uniform",
    .uses = "tau",
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.width = first_features,
                                          .query = &first,
                                          .key = &first,
                                          .scale = slope_root,
                                          .epsilon = (real)1e-6,
                                          .pair_weights = first_weights,
                                          .pair_weights_backward = first_weights_backward},
};

/* --- second order --- */

enum { MOST = 16 }; /* d at most */

static size_t second_features(const AttentionHead *head)
{
    size_t d = head->width;
    return padded(d + d * (d + 1) / 2 + 1);
}

#define LONGEST   ((real)6)
#define HALF_ROOT ((real)0.70710678118654752)

/* Loads u before clipping; returns the factor that clips it. */
static inline real load_row(real *restrict u, const real *restrict x, real scale, size_t d)
{
    for (size_t a = 0; a < d; a++)
        u[a] = scale * x[a];
    return LONGEST / (real)sqrt((double)vector_dot(u, u, d));
}

/* Products u_a u_(a+e) are ordered by the distance e, the largest first. Loops run over the
 * whole row all the same, since u is padded with zeros: the next distance overwrites what is
 * written too far, and what is read too far is multiplied by zero. The last distance, 0, fills
 * the row. */
static inline void products(real *restrict y, const real *restrict u, size_t d)
{
    for (size_t e = d; e-- > 1; y += d - e)
#pragma omp simd
        for (size_t a = 0; a < d; a++)
            y[a] = u[a] * u[a + e];
    for (size_t a = 0; a < d; a++)
        y[a] = HALF_ROOT * u[a] * u[a];
}

/* du += */
static inline void products_backward(real *restrict du, const real *restrict dy,
                                     const real *restrict u, size_t d)
{
    for (size_t e = d; e-- > 1; dy += d - e)
        for (size_t a = 0; a < d; a++)
            du[a] += dy[a] * u[a + e] + (dy - e)[a] * (u - e)[a];
    for (size_t a = 0; a < d; a++)
        du[a] += 2 * HALF_ROOT * dy[a] * u[a];
}

static void second_row(real *restrict y, const real *restrict x, real scale, size_t d)
{
    real zeros_around[3 * MOST] = {0}, *u = zeros_around + MOST;
    real limit = load_row(u, x, scale, d);
    limit = limit < 1 ? limit : 1;
    for (size_t a = 0; a < d; a++)
        y[a] = u[a] *= limit;
    if (d == MOST) /* a length known to the compiler */
        products(y + MOST, u, MOST);
    else
        products(y + d, u, d);
    size_t last = d + d * (d + 1) / 2;
    end_row(y, last, padded(last + 1));
}

static void second_row_backward(real *restrict dx, const real *restrict dy,
                                const real *restrict y, const real *restrict x, real scale,
                                size_t d)
{
    real zeros_around[3 * MOST] = {0}, *u = zeros_around + MOST, du[MOST];
    memcpy(u, y, d * sizeof *u);
    memcpy(du, dy, d * sizeof *du);
    if (d == MOST)
        products_backward(du, dy + MOST, u, MOST);
    else
        products_backward(du, dy + d, u, d);
    real limit = load_row(u, x, scale, d);
    if (limit < 1) {
        for (size_t a = 0; a < d; a++)
            du[a] *= LONGEST;
        row_unit_backward(du, u, limit / LONGEST, d);
    }
    for (size_t a = 0; a < d; a++)
        dx[a] = scale * du[a];
}

static const FeatureRow second = {second_row, second_row_backward};

/* p = 1 + s + s^2 / 2 */
static real second_weights(real *p, size_t count, real scale)
{
    (void)scale;
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        p[j] = 1 + p[j] * (1 + p[j] / 2);
        sum += p[j];
    }
    return sum;
}

/* ds = dp (1 + s) */
static void second_weights_backward(real *restrict p, real *restrict a, real dn, size_t count,
                                    real scale)
{
    (void)scale;
    for (size_t j = 0; j < count; j++) {
        a[j] = (a[j] + dn) * (1 + p[j]);
        p[j] = 1 + p[j] * (1 + p[j] / 2);
    }
}

const AttentionKind attention_taylor2 = {
    .name = "taylor2",
    .source = "Arora et al. 2024, arXiv 2402.18668",
    .help = "second-order Taylor weights 1 + s + s^2/2 (Based), with 16 dimensions of q and k",
    .cost = "153 D",
    .normalised = true,
    .most_keys = MOST,
    .form = 1,
    .changed = "queries and keys have no idle dimensions beyond 16 (since 0.2)",
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.width = second_features,
                                          .query = &second,
                                          .key = &second,
                                          .scale = feature_half_scale,
                                          .pair_weights = second_weights,
                                          .pair_weights_backward = second_weights_backward},
};
