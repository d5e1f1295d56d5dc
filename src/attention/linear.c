/* Linear attention with elementwise features, or with one softmax per row; features.c is their
 * engine.
 *
 *   linear        f(x) = elu(x) + 1
 *   relu          f(x) = max(x, 0) + 1/1000
 *   sqrelu        f(x) = max(x, 0)^2 + 1/1000     after normalising rows to mean square 1
 *   exp           f(x) = exp(x / D^(1/4))         arguments clipped to +-15
 *   softmaxfeat   f(x) = softmax(x / D^(1/4))     over the features of a row
 *   efficient     softmax for q, exp for k         and a denominator for every feature
 *
 * The 1/1000 of relu and sqrelu keeps denominators positive when no feature is active, and exp
 * cannot vanish, so these need no epsilon. Products of sqrelu features grow with the fourth
 * power of the input, hence the normalisation. The scale 1 / sqrt(D) is shared between q and k.
 *
 * Shapes: x, y and their gradients (D). */
#include "src/attention/features.h"
#include "src/attention/rows.h"

#define FLOOR ((real)1e-3)

/* --- linear --- */

static void elu_row(real *restrict y, const real *restrict x, real scale, size_t width)
{
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        real a = scale * x[i];
        y[i] = vector_exp(a > 0 ? 0 : a) + (a > 0 ? a : 0);
    }
}

/* f'(x) is 1 where y > 1, and y itself elsewhere. */
static void elu_row_backward(real *restrict dx, const real *restrict dy, const real *restrict y,
                             const real *restrict x, real scale, size_t width)
{
    (void)x;
    for (size_t i = 0; i < width; i++)
        dx[i] = scale * dy[i] * (y[i] < 1 ? y[i] : 1);
}

static const FeatureRow elu = {elu_row, elu_row_backward};

const AttentionKind attention_linear = {
    .name = "linear",
    .source = "Katharopoulos et al. 2020, arXiv 2006.16236",
    .help = "linear attention with feature map elu(x)+1; time grows linearly with the length",
    .applies_rope = true,
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.query = &elu, .key = &elu, .epsilon = (real)1e-6},
};

/* --- relu --- */

static void relu_row(real *restrict y, const real *restrict x, real scale, size_t width)
{
    for (size_t i = 0; i < width; i++)
        y[i] = (x[i] > 0 ? scale * x[i] : 0) + FLOOR;
}

static void relu_row_backward(real *restrict dx, const real *restrict dy,
                              const real *restrict y, const real *restrict x, real scale,
                              size_t width)
{
    (void)y;
    for (size_t i = 0; i < width; i++)
        dx[i] = x[i] > 0 ? scale * dy[i] : 0;
}

static const FeatureRow relu = {relu_row, relu_row_backward};

const AttentionKind attention_relu = {
    .name = "relu",
    .help = "linear attention with the sparse feature map max(x,0)",
    .applies_rope = true,
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.query = &relu, .key = &relu},
};

/* --- sqrelu: x / |x| times sqrt(D), then the square --- */

static void sqrelu_row(real *restrict y, const real *restrict x, real scale, size_t width)
{
    real unit = scale * row_unit(x, width);
    for (size_t i = 0; i < width; i++) {
        real a = x[i] > 0 ? unit * x[i] : 0;
        y[i] = a * a + FLOOR;
    }
}

static void sqrelu_row_backward(real *restrict dx, const real *restrict dy,
                                const real *restrict y, const real *restrict x, real scale,
                                size_t width)
{
    (void)y;
    real unit = row_unit(x, width), slope = 2 * scale * scale * unit;
    for (size_t i = 0; i < width; i++)
        dx[i] = x[i] > 0 ? slope * x[i] * dy[i] : 0;
    row_unit_backward(dx, x, unit, width);
}

static const FeatureRow sqrelu = {sqrelu_row, sqrelu_row_backward};

static real sqrt_width(const AttentionHead *head)
{
    return (real)sqrt((double)head->width);
}

const AttentionKind attention_sqrelu = {
    .name = "sqrelu",
    .help = "linear attention with feature map max(x,0)^2 of normalised q and k",
    .applies_rope = true,
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(
        const FeatureMap){.query = &sqrelu, .key = &sqrelu, .scale = sqrt_width},
};

/* --- exp --- */

/* exp(scale x) with arguments clipped to +-15: neither a feature nor the sum over a long
 * sequence can overflow or vanish. The gradient of a clipped argument is 0. */
#define CLIP ((real)15)

static void exp_row(real *restrict y, const real *restrict x, real scale, size_t width)
{
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
        real a = scale * x[i];
        a = a < -CLIP ? -CLIP : a;
        y[i] = vector_exp(a > CLIP ? CLIP : a);
    }
}

static void exp_row_backward(real *restrict dx, const real *restrict dy, const real *restrict y,
                             const real *restrict x, real scale, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        real a = scale * x[i], inside = a >= -CLIP && a <= CLIP;
        dx[i] = inside * scale * y[i] * dy[i];
    }
}

static const FeatureRow exp_features = {exp_row, exp_row_backward};

const AttentionKind attention_exp = {
    .name = "exp",
    .help = "linear attention with feature map exp(x), elementwise",
    .applies_rope = true,
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.query = &exp_features,
                                          .key = &exp_features,
                                          .scale = feature_half_scale},
};

/* --- softmaxfeat --- */

static void softmax_row(real *restrict y, const real *restrict x, real scale, size_t width)
{
    real most = vector_max(x, width), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < width; i++) {
        y[i] = vector_exp(scale * (x[i] - most));
        sum += y[i];
    }
    real inverse = 1 / sum;
    for (size_t i = 0; i < width; i++)
        y[i] *= inverse;
}

static void softmax_row_backward(real *restrict dx, const real *restrict dy,
                                 const real *restrict y, const real *restrict x, real scale,
                                 size_t width)
{
    (void)x;
    real mean = vector_dot(dy, y, width);
    for (size_t i = 0; i < width; i++)
        dx[i] = scale * y[i] * (dy[i] - mean);
}

static const FeatureRow softmax_features = {softmax_row, softmax_row_backward};

const AttentionKind attention_softmaxfeat = {
    /* epsilon: rows may share no feature */
    .name = "softmaxfeat",
    .help = "linear attention with feature map softmax(x), over the features of q and of k",
    .applies_rope = true,
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.query = &softmax_features,
                                          .key = &softmax_features,
                                          .scale = feature_half_scale,
                                          .epsilon = (real)1e-10},
};

/* --- efficient --- */

/* Causal Efficient Attention (after Shen et al. 2018). The original applies to every feature of
 * the keys a softmax over the whole sequence. To be causal, that softmax must end at the
 * query's position; for each feature c:
 *
 *   p_i = softmax(q_i) over its features,   E_jc = exp(k_jc),   z_ic = sum over j <= i of E_jc
 *   o_i = sum over c of p_ic (sum over j <= i of E_jc v_j) / z_ic
 *
 * The shares p_i / z_i, feature by feature, are the queries of the engine in features.c, and E
 * are its keys; the weights sum to 1 already. With s the shares, backward is
 *
 *   dp = ds / z,    dz = -ds s / z,    and dE_j gets the sum of dz_i from j on.
 *
 * RoPE would break it: rotated shares and keys no longer sum to 1. */

/* z += k,  s = q / z */
static void divide_by_sums(real *restrict shares, real *restrict z, const real *restrict q,
                           const real *restrict k, size_t rows, size_t width)
{
    for (size_t at = 0; at < rows * width; at += width)
        for (size_t i = 0; i < width; i++) {
            z[i] += k[at + i];
            shares[at + i] = q[at + i] / z[i];
        }
}

static void divide_by_sums_backward(real *restrict dq, real *restrict dk, real *restrict dz,
                                    real *restrict shares, real *restrict z,
                                    const real *restrict k, size_t rows, size_t width)
{
    for (size_t at = 0; at < rows * width; at += width)
        for (size_t i = 0; i < width; i++) {
            z[i] += k[at + i];
            real gradient = dq[at + i] / z[i];
            dq[at + i] = gradient;
            shares[at + i] *= -gradient; /* now the row's dz */
        }
    for (size_t at = rows * width; at > 0;) {
        at -= width;
        for (size_t i = 0; i < width; i++) {
            dz[i] += shares[at + i];
            dk[at + i] += dz[i];
        }
    }
}

const AttentionKind attention_efficient = {
    .name = "efficient",
    .source = "Shen et al. 2018, arXiv 1812.01243",
    .help = "Efficient Attention, causal: softmax over q's features and over k's positions",
    .no_rotary = true,
    .normalised = true,
    .engine = &features_engine,
    .engine_options = &(const FeatureMap){.query = &softmax_features,
                                          .key = &exp_features,
                                          .divide_queries = divide_by_sums,
                                          .divide_queries_backward = divide_by_sums_backward},
};
