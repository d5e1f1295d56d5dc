/* Hedgehog (Zhang et al. 2024), in the form of LoLCATs (Zhang et al. 2024): softmax for the
 * near past and learned features for the rest, in one denominator. Models that were trained
 * with softmax are converted to it. Near are the positions of the same chunk of 64. With s_ij =
 * q_i . k_j / sqrt(D), and m_i the largest near s_ij:
 *
 *   w_ij = exp(s_ij - m_i)    for near j
 *   w_ij = f(q_i) . f(k_j)    for j before the chunk,   f(x) = softmax(W x), softmax(-W x)
 *   o_i  = sum over j <= i of w_ij v_j / sum over j <= i of w_ij
 *
 * Each head has a W for q and one for k, (D, D), which start as the identity. There is no scale
 * 1 / D^(1/4), as in both papers: sharper features are closer to a softmax. Near weights sum to
 * 1 at least. A state cannot be carried into another context window, whose chunks begin
 * elsewhere.
 *
 * Shapes: y (D); p, a (count). */
#include "src/attention/features.h"
#include "src/attention/online_softmax.h"
#include "src/math/gemm.h"

static size_t features_of(const AttentionHead *head)
{
    return 2 * head->width;
}

/* --- W, that of q before that of k --- */

static size_t param_count(const AttentionHead *head)
{
    return 2 * head->width * head->width;
}

static void start_params(real *params, const AttentionHead *head, RandomKey key)
{
    (void)key;
    vector_zero(params, param_count(head));
    for (size_t i = 0; i < 2 * head->width; i++)
        params[i * head->width + i % head->width] = 1;
}

/* The start of the W of q or of k. */
static size_t params_start(const FeatureRows *rows)
{
    return rows->keys ? param_count(rows->chunk->head) / 2 : 0;
}

/* --- features --- */

static void softmax(real *y, size_t width)
{
    real sum = online_softmax_exp(y, width, vector_max(y, width));
    for (size_t j = 0; j < width; j++)
        y[j] /= sum;
}

static void forward(const FeatureRows *rows)
{
    const AttentionHead *head = rows->chunk->head;
    size_t width = head->width;
    /* Z = X W^T, into the first half of the rows */
    gemm(rows->chunk->rows, width, width, 1, plain(rows->x, head->stride),
         transposed(rows->chunk->data.params + params_start(rows), width), GEMM_SET, rows->y,
         2 * width);
    for (size_t i = 0; i < rows->chunk->rows; i++) {
        real *z = rows->y + i * 2 * width;
        chunk_fetch_next(rows->chunk, rows->x, head->stride, i);
        for (size_t j = 0; j < width; j++)
            z[width + j] = -z[j];
        softmax(z, width);
        softmax(z + width, width);
    }
}

static void backward(const FeatureRows *rows)
{
    const AttentionHead *head = rows->chunk->head;
    size_t width = head->width, count = rows->chunk->rows;
    for (size_t i = 0; i < count; i++) {
        const real *y = rows->y + i * 2 * width;
        real *dz = rows->dy + i * 2 * width;
        online_softmax_whole_backward(dz, y, width);
        online_softmax_whole_backward(dz + width, y + width, width);
        vector_add_scaled(dz, dz + width, -1, width);
    }
    /* dX = dZ W    dW += dZ^T X */
    gemm(count, width, width, 1, plain(rows->dy, 2 * width),
         plain(rows->chunk->data.params + params_start(rows), width), GEMM_SET, rows->dx,
         head->stride);
    gemm(width, width, count, 1, transposed(rows->dy, 2 * width), plain(rows->x, head->stride),
         GEMM_ADD, rows->chunk->data.dparams + params_start(rows), width);
}

static double flop(const AttentionHead *head)
{
    return 2 * (double)head->length * (double)param_count(head);
}

/* --- near pairs --- */

static real exp_weights(real *p, size_t count, real scale)
{
    real most = vector_max(p, count), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        p[j] = vector_exp(scale * (p[j] - most));
        sum += p[j];
    }
    return sum;
}

/* ds_j = w_j dw_j, less the sum of these for the largest, which all were compared with. */
static void exp_weights_backward(real *restrict p, real *restrict a, real dn, size_t count,
                                 real scale)
{
    size_t largest = 0;
    real sum = 0;
    for (size_t j = 1; j < count; j++)
        largest = p[j] > p[largest] ? j : largest;
    exp_weights(p, count, scale);
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < count; j++) {
        a[j] = scale * p[j] * (a[j] + dn);
        sum += a[j];
    }
    a[largest] -= sum;
}

const AttentionKind attention_hedgehog = {
    .name = "hedgehog",
    .source = "Zhang et al. 2024, arXiv 2402.04347 and 2410.10254",
    .help = "softmax in chunks of 64, linear attention before them; for --convert",
    .cost = "2 D^2",
    .normalised = true,
    .param_count = {.more = param_count},
    .start_params = start_params,
    .engine = &features_near_engine,
    .engine_options = &(const FeatureMap){.width = features_of,
                                          .forward = forward,
                                          .backward = backward,
                                          .scale = attention_scale,
                                          .flop = flop,
                                          .near = true,
                                          .pair_weights = exp_weights,
                                          .pair_weights_backward = exp_weights_backward},
};
