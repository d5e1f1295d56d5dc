/* Softmax attention:
 *
 *   s_ij = q_i . k_j / sqrt(D),   o_i = sum over j <= i of exp(s_ij) v_j / sum of exp(s_ij)
 *
 * Queries are taken in tiles of 64 rows. A tile reads the keys up to its own end only, so the
 * upper triangle is skipped but for the tile on the diagonal, and one panel of scores, 64 by T,
 * is all the memory there is to it. Forward saves the logarithm of each row's sum; backward
 * computes the weights again from it:
 *
 *   p = exp(s - lse)        dv = p^T do        dp = do v^T
 *   ds = p (dp - do . o)    dq = ds k / sqrt(D)    dk = ds^T q / sqrt(D)
 *
 * (do . o is the sum over j of p dp: the output already is the sum of p v.) Dropout multiplies
 * p by a mask m wherever it meets v, and the same identities hold. */
#include "src/attention/attention.h"
#include "src/gemm.h"
#include "src/vector.h"

#define TILE ((size_t)64)

static size_t tile_rows(const AttentionHead *head)
{
    return head->length < TILE ? head->length : TILE;
}

static size_t saved_reals(const AttentionHead *head)
{
    return head->length; /* lse */
}

static size_t scratch_reals(const AttentionHead *head)
{
    return 2 * tile_rows(head) * head->length; /* two panels */
}

static real score_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt((double)head->width);
}

/* S = Q K^T / sqrt(D), for the tile's rows and the keys 0..keys-1 */
static void scores(real *s, const real *q, const real *k, size_t rows, size_t keys,
                   const AttentionHead *head)
{
    gemm(rows, keys, head->width, score_scale(head), plain(q, head->stride),
         transposed(k, head->stride), GEMM_SET, s, head->length);
}

/* The mask of dropout, for the weight of key j at query i. */
static void drop(real *p, size_t query, size_t keys, const AttentionHead *head)
{
    uint32_t threshold = dropout_threshold(head->dropout.rate);
    real scale = 1 / (1 - head->dropout.rate);
    uint32_t first = (uint32_t)(query * head->length);
    for (size_t j = 0; j < keys; j++)
        p[j] *= dropout_factor(head->dropout.key, first + (uint32_t)j, threshold, scale);
}

static void forward(real *out, real *lse, real *scratch, const real *q, const real *k,
                    const real *v, const AttentionHead *head)
{
    real *panel = scratch;
    for (size_t start = 0; start < head->length; start += TILE) {
        size_t end = start + TILE < head->length ? start + TILE : head->length;
        scores(panel, q + start * head->stride, k, end - start, end, head);
        for (size_t i = start; i < end; i++) {
            real *restrict p = panel + (i - start) * head->length;
            real max = vector_max(p, i + 1), sum = 0;
#pragma omp simd reduction(+ : sum)
            for (size_t j = 0; j <= i; j++) {
                p[j] = vector_exp(p[j] - max);
                sum += p[j];
            }
            lse[i] = max + (real)log(sum);
            for (size_t j = 0; j <= i; j++)
                p[j] *= 1 / sum;
            vector_zero(p + i + 1, end - i - 1); /* the future */
            if (head->dropout.rate > 0)
                drop(p, i, i + 1, head);
        }
        /* O = P V */
        gemm(end - start, head->width, end, 1, plain(panel, head->length),
             plain(v, head->stride), GEMM_SET, out + start * head->out_stride,
             head->out_stride);
    }
}

/* From scores and dp (which holds do v^T) to the weights as they met v, and ds. */
static void backward_row(real *restrict p, real *restrict dp, real lse, real output_product,
                         size_t query, size_t end, const AttentionHead *head)
{
    for (size_t j = 0; j <= query; j++)
        p[j] = vector_exp(p[j] - lse);
    vector_zero(p + query + 1, end - query - 1);
    if (head->dropout.rate > 0) {
        drop(dp, query, query + 1, head);
        for (size_t j = 0; j < end; j++)
            dp[j] = j <= query ? p[j] * (dp[j] - output_product) : 0;
        drop(p, query, query + 1, head);
    } else {
        for (size_t j = 0; j < end; j++)
            dp[j] = j <= query ? p[j] * (dp[j] - output_product) : 0;
    }
}

static void backward(real *dq, real *dk, real *dv, const real *dout, const real *out,
                     const real *lse, real *scratch, const real *q, const real *k,
                     const real *v, const AttentionHead *head)
{
    size_t width = head->width, stride = head->stride, length = head->length;
    real *p = scratch, *dp = scratch + tile_rows(head) * length, scale = score_scale(head);
    for (size_t i = 0; i < length; i++) {
        vector_zero(dk + i * stride, width);
        vector_zero(dv + i * stride, width);
    }
    for (size_t start = 0; start < length; start += TILE) {
        size_t end = start + TILE < length ? start + TILE : length, rows = end - start;
        const real *dout_tile = dout + start * head->out_stride;
        scores(p, q + start * stride, k, rows, end, head);
        /* dP = dO V^T */
        gemm(rows, end, width, 1, plain(dout_tile, head->out_stride), transposed(v, stride),
             GEMM_SET, dp, length);
        for (size_t i = start; i < end; i++) {
            real product = vector_dot(dout + i * head->out_stride, out + i * head->out_stride,
                                      width);
            backward_row(p + (i - start) * length, dp + (i - start) * length, lse[i], product,
                         i, end, head);
        }
        /* dV += P^T dO */
        gemm(end, width, rows, 1, transposed(p, length), plain(dout_tile, head->out_stride),
             GEMM_ADD, dv, stride);
        /* dQ = dS K / sqrt(D) */
        gemm(rows, width, end, scale, plain(dp, length), plain(k, stride), GEMM_SET,
             dq + start * stride, stride);
        /* dK += dS^T Q / sqrt(D) */
        gemm(end, width, rows, scale, transposed(dp, length), plain(q + start * stride, stride),
             GEMM_ADD, dk, stride);
    }
}

/* Decoding keeps the keys and values of all positions, and a row of scores as scratch. */
static size_t state_reals(const AttentionHead *head)
{
    return 2 * head->length * head->width;
}

static void step(real *out, real *state, real *scratch, const real *q, const real *k,
                 const real *v, size_t position, const AttentionHead *head)
{
    size_t width = head->width, seen = position + 1;
    real *keys = state, *values = state + head->length * width, *p = scratch;
    memcpy(keys + position * width, k, width * sizeof *k);
    memcpy(values + position * width, v, width * sizeof *v);
    for (size_t j = 0; j < seen; j++)
        p[j] = vector_dot(q, keys + j * width, width) * score_scale(head);
    real max = vector_max(p, seen), sum = 0;
    vector_zero(out, width);
    for (size_t j = 0; j < seen; j++) {
        real e = vector_exp(p[j] - max);
        sum += e;
        vector_add_scaled(out, values + j * width, e, width);
    }
    for (size_t i = 0; i < width; i++)
        out[i] /= sum;
}

/* Two products over the causal half of the pairs. */
static double flop(const AttentionHead *head)
{
    return 2 * (double)head->length * (double)head->length * (double)head->width;
}

const AttentionKind attention_softmax = {
    .name = "softmax",
    .help = "exact softmax attention; time grows with the square of the length",
    .has_weights = true,
    .saved_reals = saved_reals,
    .scratch_reals = scratch_reals,
    .state_reals = state_reals,
    .flop = flop,
    .forward = forward,
    .backward = backward,
    .step = step,
};
