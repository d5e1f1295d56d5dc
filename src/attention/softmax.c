/* Softmax attention:
 *
 *   s_ij = q_i . k_j / sqrt(D),   o_i = sum over j <= i of exp(s_ij) v_j / sum of exp(s_ij)
 *
 * Queries are taken in tiles, and for each tile the keys in blocks up to the tile's own end, so
 * that the upper triangle is skipped but for the diagonal, and one panel of scores, a tile by a
 * block, is all the memory there is to it, however long the text. Between blocks a row carries
 * the largest score so far and the sum of the exponentials under it; when a block brings a
 * larger one, what was summed is scaled down. Forward saves the logarithm of each row's sum;
 * backward computes the weights again from it:
 *
 *   p = exp(s - lse)        dv = p^T do        dp = do v^T
 *   ds = p (dp - do . o)    dq = ds k / sqrt(D)    dk = ds^T q / sqrt(D)
 *
 * (do . o is the sum over j of p dp: the output already is the sum of p v.) Dropout multiplies
 * p by a mask m wherever it meets v, and the same identities hold. */
#include "src/attention/attention.h"
#include "src/gemm.h"
#include "src/vector.h"

/* Long texts want large tiles, for which packing keys and values costs little; short ones want
 * small tiles, which waste less on the diagonal. */
enum { SMALL_TILE = 64, LARGE_TILE = 256, LONG_TEXT = 512, BLOCK = 512 };
/* The panel's rows lie further apart than a block, as distances of 2048 bytes suit no cache. */
enum { STRIDE = BLOCK + 16 };

static size_t tile_rows(const AttentionHead *head)
{
    size_t most = head->length > LONG_TEXT ? LARGE_TILE : SMALL_TILE;
    return head->length < most ? head->length : most;
}

static size_t saved_reals(const AttentionHead *head)
{
    return head->length; /* lse */
}

static size_t scratch_reals(const AttentionHead *head)
{
    size_t panels = tile_rows(head) * (2 * STRIDE + 1), step = head->length;
    return panels > step ? panels : step;
}

static real score_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt((double)head->width);
}

/* A tile of queries and a block of keys at work. */
typedef struct Panel {
    const AttentionHead *head;
    size_t query, rows; /* the first query, and how many */
    size_t key, keys;   /* the first key, and how many */
} Panel;

/* How many keys of the block a row may see. */
static size_t visible(const Panel *panel, size_t row)
{
    size_t end = panel->query + row + 1;
    if (end <= panel->key)
        return 0;
    return end - panel->key < panel->keys ? end - panel->key : panel->keys;
}

/* S = Q K^T / sqrt(D) */
static void scores(real *s, const real *q, const real *k, const Panel *panel)
{
    size_t stride = panel->head->stride;
    gemm(panel->rows, panel->keys, panel->head->width, score_scale(panel->head),
         plain(q + panel->query * stride, stride), transposed(k + panel->key * stride, stride),
         GEMM_SET, s, STRIDE);
}

/* The mask of dropout, for the weights of a row. */
static void drop(real *p, const Panel *panel, size_t row, size_t count)
{
    const Dropout *dropout = &panel->head->dropout;
    uint32_t threshold = dropout_threshold(dropout->rate);
    real scale = 1 / (1 - dropout->rate);
    uint32_t first = (uint32_t)((panel->query + row) * panel->head->length + panel->key);
    for (size_t j = 0; j < count; j++)
        p[j] *= dropout_factor(dropout->key, first + (uint32_t)j, threshold, scale);
}

/* --- forward --- */

/* Turns a row of scores into weights under the largest score so far, and brings what the row
 * has summed of earlier blocks under the same. */
static void absorb_row(real *restrict p, real *max, real *sum, real *out, const Panel *panel,
                       size_t row)
{
    size_t count = visible(panel, row);
    if (count > 0) {
        real most = vector_max(p, count);
        if (panel->key == 0) {
            *max = most;
            *sum = 0;
        } else if (most > *max) {
            real factor = vector_exp(*max - most);
            for (size_t i = 0; i < panel->head->width; i++)
                out[i] *= factor;
            *sum *= factor;
            *max = most;
        }
        real top = *max, part = 0;
#pragma omp simd reduction(+ : part)
        for (size_t j = 0; j < count; j++) {
            p[j] = vector_exp(p[j] - top);
            part += p[j];
        }
        *sum += part;
        if (panel->head->dropout.rate > 0)
            drop(p, panel, row, count);
    }
    vector_zero(p + count, panel->keys - count); /* the future */
}

static void forward(real *out, real *lse, real *scratch, const real *q, const real *k,
                    const real *v, const AttentionHead *head)
{
    size_t rows = tile_rows(head), stride = head->stride;
    real *p = scratch, *max = p + rows * STRIDE;
    for (size_t query = 0; query < head->length; query += rows) {
        size_t left = head->length - query;
        Panel panel = {.head = head, .query = query, .rows = left < rows ? left : rows};
        real *sum = lse + query, *out_tile = out + query * head->out_stride;
        size_t end = query + panel.rows;
        for (panel.key = 0; panel.key < end; panel.key += BLOCK) {
            panel.keys = end - panel.key < BLOCK ? end - panel.key : BLOCK;
            scores(p, q, k, &panel);
            for (size_t i = 0; i < panel.rows; i++)
                absorb_row(p + i * STRIDE, &max[i], &sum[i], out_tile + i * head->out_stride,
                           &panel, i);
            /* O += P V */
            gemm(panel.rows, head->width, panel.keys, 1, plain(p, STRIDE),
                 plain(v + panel.key * stride, stride), panel.key ? GEMM_ADD : GEMM_SET,
                 out_tile, head->out_stride);
        }
        for (size_t i = 0; i < panel.rows; i++) {
            real *row = out_tile + i * head->out_stride, share = 1 / sum[i];
            for (size_t j = 0; j < head->width; j++)
                row[j] *= share;
            sum[i] = max[i] + (real)log(sum[i]); /* and is the lse from here on */
        }
    }
}

/* --- backward --- */

/* From scores and dp (which holds do v^T) to the weights as they met v, and ds. */
static void backward_row(real *restrict p, real *restrict dp, real lse, real output_product,
                         const Panel *panel, size_t row)
{
    size_t count = visible(panel, row);
    bool dropping = panel->head->dropout.rate > 0;
    for (size_t j = 0; j < count; j++)
        p[j] = vector_exp(p[j] - lse);
    if (dropping)
        drop(dp, panel, row, count);
    for (size_t j = 0; j < count; j++)
        dp[j] = p[j] * (dp[j] - output_product);
    if (dropping)
        drop(p, panel, row, count);
    vector_zero(p + count, panel->keys - count);
    vector_zero(dp + count, panel->keys - count);
}

/* What one block adds to dQ of the tile and to dK and dV of the block. */
static void products_backward(real *dq, real *dk, real *dv, const real *p, const real *ds,
                              const real *dout, const real *q, const real *k,
                              const Panel *panel)
{
    const AttentionHead *head = panel->head;
    size_t width = head->width, stride = head->stride, out_stride = head->out_stride;
    size_t query = panel->query * stride, key = panel->key * stride;
    real scale = score_scale(head);
    /* dV += P^T dO */
    gemm(panel->keys, width, panel->rows, 1, transposed(p, STRIDE),
         plain(dout + panel->query * out_stride, out_stride), GEMM_ADD, dv + key, stride);
    /* dQ += dS K / sqrt(D) */
    gemm(panel->rows, width, panel->keys, scale, plain(ds, STRIDE), plain(k + key, stride),
         panel->key ? GEMM_ADD : GEMM_SET, dq + query, stride);
    /* dK += dS^T Q / sqrt(D) */
    gemm(panel->keys, width, panel->rows, scale, transposed(ds, STRIDE),
         plain(q + query, stride), GEMM_ADD, dk + key, stride);
}

static void backward(real *dq, real *dk, real *dv, const real *dout, const real *out,
                     const real *lse, real *scratch, const real *q, const real *k,
                     const real *v, const AttentionHead *head)
{
    size_t width = head->width, stride = head->stride, rows = tile_rows(head);
    real *p = scratch, *dp = p + rows * STRIDE, *products = dp + rows * STRIDE;
    for (size_t i = 0; i < head->length; i++) {
        vector_zero(dk + i * stride, width);
        vector_zero(dv + i * stride, width);
    }
    for (size_t query = 0; query < head->length; query += rows) {
        size_t left = head->length - query, first = query * head->out_stride;
        Panel panel = {.head = head, .query = query, .rows = left < rows ? left : rows};
        for (size_t i = 0; i < panel.rows; i++)
            products[i] = vector_dot(dout + first + i * head->out_stride,
                                     out + first + i * head->out_stride, width);
        size_t end = query + panel.rows;
        for (panel.key = 0; panel.key < end; panel.key += BLOCK) {
            panel.keys = end - panel.key < BLOCK ? end - panel.key : BLOCK;
            scores(p, q, k, &panel);
            /* dP = dO V^T */
            gemm(panel.rows, panel.keys, width, 1, plain(dout + first, head->out_stride),
                 transposed(v + panel.key * stride, stride), GEMM_SET, dp, STRIDE);
            for (size_t i = 0; i < panel.rows; i++)
                backward_row(p + i * STRIDE, dp + i * STRIDE, lse[query + i], products[i],
                             &panel, i);
            products_backward(dq, dk, dv, p, dp, dout, q, k, &panel);
        }
    }
}

/* --- decoding --- */

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
