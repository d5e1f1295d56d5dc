/* Linear attention with elementwise features, or with one softmax per row; features.c is their
 * engine.
 *
 *   linear        f(x) = elu(x) + 1
 *   relu          f(x) = max(x, 0) + 1/1000
 *   sqrelu        f(x) = max(x, 0)^2 + 1/1000     after normalising rows to mean square 1
 *   exp           f(x) = exp(x / D^(1/4))         arguments clipped to +-15
 *   softmaxfeat   f(x) = softmax(x / D^(1/4))     over the features of a row
 *
 * The 1/1000 of relu and sqrelu keeps denominators positive when no feature is active, and exp
 * cannot vanish, so these need no epsilon. Products of sqrelu features grow with the fourth
 * power of the input, hence the normalisation. The scale 1 / sqrt(D) is shared between q and k.
 */
#include "src/attention/features.h"
#include "src/attention/rows.h"

#define FLOOR ((real)1e-3)

/* --- linear --- */

static void elu_row(real *restrict y, const real *restrict x, real scale, size_t width)
{
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

static void elu_forward(const FeatureRows *rows)
{
    feature_forward_rows(rows, 1, elu_row);
}

static void elu_backward(const FeatureRows *rows)
{
    feature_backward_rows(rows, 1, elu_row_backward);
}

static const FeatureMap elu_map = {
    .forward = elu_forward, .backward = elu_backward, .epsilon = (real)1e-6};

const AttentionKind attention_linear = {
    .name = "linear",
    .help = "linear attention with feature map elu(x)+1; time grows linearly with the length",
    .cost = "D^2",
    .turns_itself = true,
    .flop = features_flop,
    FEATURES_KIND(elu_map),
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

static void relu_forward(const FeatureRows *rows)
{
    feature_forward_rows(rows, 1, relu_row);
}

static void relu_backward(const FeatureRows *rows)
{
    feature_backward_rows(rows, 1, relu_row_backward);
}

static const FeatureMap relu_map = {.forward = relu_forward, .backward = relu_backward};

const AttentionKind attention_relu = {
    .name = "relu",
    .help = "linear attention with the sparse feature map max(x,0)",
    .cost = "D^2",
    .turns_itself = true,
    .flop = features_flop,
    FEATURES_KIND(relu_map),
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

static real root_of_width(const FeatureRows *rows)
{
    return (real)sqrt((double)rows->head->width);
}

static void sqrelu_forward(const FeatureRows *rows)
{
    feature_forward_rows(rows, root_of_width(rows), sqrelu_row);
}

static void sqrelu_backward(const FeatureRows *rows)
{
    feature_backward_rows(rows, root_of_width(rows), sqrelu_row_backward);
}

static const FeatureMap sqrelu_map = {.forward = sqrelu_forward, .backward = sqrelu_backward};

const AttentionKind attention_sqrelu = {
    .name = "sqrelu",
    .help = "linear attention with feature map max(x,0)^2 of normalised q and k",
    .cost = "D^2",
    .turns_itself = true,
    .flop = features_flop,
    FEATURES_KIND(sqrelu_map),
};

/* --- exp --- */

static void exp_forward(const FeatureRows *rows)
{
    feature_forward_rows(rows, feature_half_scale(rows->head), feature_exp);
}

static void exp_backward(const FeatureRows *rows)
{
    feature_backward_rows(rows, feature_half_scale(rows->head), feature_exp_backward);
}

static const FeatureMap exp_map = {.forward = exp_forward, .backward = exp_backward};

const AttentionKind attention_exp = {
    .name = "exp",
    .help = "linear attention with feature map exp(x), elementwise",
    .cost = "D^2",
    .turns_itself = true,
    .flop = features_flop,
    FEATURES_KIND(exp_map),
};

/* --- softmaxfeat --- */

static void softmax_forward(const FeatureRows *rows)
{
    feature_forward_rows(rows, feature_half_scale(rows->head), feature_softmax);
}

static void softmax_backward(const FeatureRows *rows)
{
    feature_backward_rows(rows, feature_half_scale(rows->head), feature_softmax_backward);
}

/* The denominator of rows that share no feature. */
static const FeatureMap softmax_map = {
    .forward = softmax_forward, .backward = softmax_backward, .epsilon = (real)1e-10};

const AttentionKind attention_softmaxfeat = {
    .name = "softmaxfeat",
    .help = "linear attention with feature map softmax(x), over the features of q and of k",
    .cost = "D^2",
    .turns_itself = true,
    .flop = features_flop,
    FEATURES_KIND(softmax_map),
};
