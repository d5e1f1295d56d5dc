/* Softmax attention over the keys that a query sees:
 *
 *   s_ij = q_i . k_j / sqrt(D),   o_i = sum over j of exp(s_ij) v_j / sum over j of exp(s_ij)
 *
 * Queries are processed in tiles and, for each tile, keys in blocks. Blocks that no query of
 * the tile sees are skipped. Positions before the sequence (the past) and entries, which stand
 * for parts of the sequence, are keys like others; they come first and last. The only memory
 * for scores is one panel, a tile by a block, for any sequence length (as in FlashAttention).
 * From block to block a row carries its largest score and the sum of exponentials relative to
 * it; when a block has a larger score, the sums are rescaled. Forward saves the logarithm of
 * each row's sum (lse), and backward recomputes the weights from it:
 *
 *   p = exp(s - lse)        dv = p^T do        dp = do v^T
 *   ds = p (dp - do . o)    dq = ds k / sqrt(D)    dk = ds^T q / sqrt(D)
 *
 * (do . o equals the sum over j of p dp, since the output is the sum of p v.) Dropout
 * multiplies p by a mask wherever it meets v, and the same identities hold. An attention sink
 * is one more key with the score b for every query and the value zero: a row starts with b as
 * its largest score and 1 as its sum, and
 *
 *   db = - sum over i of exp(b - lse_i) do_i . o_i
 */
#include "src/attention/panel.h"
#include "src/attention/rows.h"
#include "src/attention/running.h"
#include "src/gemm.h"

/* Large tiles amortise the packing of keys and values over many queries. Small ones waste less
 * at the diagonal, and at the far edge of a sliding window: short reaches use those. */
enum { SHORT_REACH = 128, LONG_REACH = 512 };
enum { SMALL_TILE = 32, MIDDLE_TILE = 64, LARGE_TILE = 256, BLOCK = 512 };
/* A stride of 2048 bytes would make the panel's rows collide in the cache. */
enum { STRIDE = BLOCK + 16 };

/* --- sizes --- */

static size_t tile_rows(const AttentionHead *head)
{
    size_t reach = panel_kept(head), most = reach > LONG_REACH ? LARGE_TILE : MIDDLE_TILE;
    if (reach <= SHORT_REACH && reach < head->length)
        most = SMALL_TILE;
    return head->length < most ? head->length : most;
}

/* Forward saves the lse. */
AttentionMemory panel_memory(const AttentionHead *head)
{
    size_t panels = tile_rows(head) * (2 * STRIDE + 1);
    size_t step = panel_kept(head) + panel_entries(head);
    return (AttentionMemory){.saved = head->length,
                             .scratch = panels > step ? panels : step,
                             .state = panel_state_reals(head)};
}

/* The current head. */
typedef struct Work {
    const AttentionData *data;
    const AttentionHead *head;
    PanelSource from;
    PanelReach reach;
    size_t columns; /* keys of all sets */
    bool has_sink;
    real sink;
    real *p, *dp;   /* (tile, STRIDE) */
    real *max;      /* (tile) each row's largest score so far */
    real *products; /* (tile) do . o; backward has no max */
} Work;

static Work work_of(const AttentionData *data, const AttentionHead *head)
{
    const PanelKind *kind = head->kind->detail;
    size_t width = head->width, stride = head->stride;
    size_t own = head->length, entries = panel_entries(head);
    Work work = {.data = data,
                 .head = head,
                 .from = {.q = data->q, .q_stride = stride},
                 .reach = panel_reach(head),
                 .has_sink = kind->has_sink,
                 .sink = kind->has_sink && data->own ? data->own[0] : 0,
                 .p = data->scratch};
    PanelKeys *keys = work.from.keys;
    keys[PANEL_OWN] = (PanelKeys){data->k, data->v, data->dk, data->dv, stride, stride, 0, 0};
    keys[PANEL_ENTRIES] = (PanelKeys){
        .k_stride = width, .stride = width, .bias = work.reach.bias, .column = own};
    keys[PANEL_PAST] = (PanelKeys){.k_stride = width, .stride = width, .column = own + entries};
    if (kind->prepare)
        kind->prepare(&work.from, data, head);
    work.columns = own + entries + work.from.past;
    work.dp = work.p + tile_rows(head) * STRIDE;
    work.max = work.products = work.dp + tile_rows(head) * STRIDE;
    return work;
}

/* --- panels --- */

/* A tile of queries and a block of keys. */
typedef struct Panel {
    const Work *work;
    const PanelKeys *of;
    size_t query, rows; /* the first query, and how many */
    size_t key, keys;   /* the first key, and how many; 0: the tile is done */
    bool first;         /* of the tile */
} Panel;

typedef struct Range {
    size_t begin, end;
} Range;

/* The first of the past positions that the query sees. */
static size_t first_past_seen(const PanelReach *reach, size_t query, size_t past)
{
    if (query + 1 >= reach->window)
        return past;
    size_t most = reach->window - query - 1;
    return past > most ? past - most : 0;
}

/* The keys of the current set that any query of the tile sees. */
static Range seen_by_tile(const Panel *panel)
{
    const Work *work = panel->work;
    size_t end = panel->query + panel->rows;
    if (panel->of == &work->from.keys[PANEL_PAST])
        return (Range){first_past_seen(&work->reach, panel->query, work->from.past),
                       work->from.past};
    if (panel->of == &work->from.keys[PANEL_OWN])
        return (Range){panel_first_seen(&work->reach, panel->query), end};
    return (Range){0, panel_entries_seen(&work->reach, end - 1)};
}

/* Moves to the next block, if need be of the next set. */
static void next_panel(Panel *panel)
{
    Range range = seen_by_tile(panel);
    size_t next = panel->key + panel->keys;
    while (next == range.end && panel->of < &panel->work->from.keys[PANEL_SETS - 1]) {
        panel->of++;
        range = seen_by_tile(panel);
        next = range.begin;
    }
    panel->key = next;
    panel->keys = range.end - next < BLOCK ? range.end - next : BLOCK;
    panel->first = false;
}

static Panel first_panel(const Work *work, size_t query)
{
    size_t left = work->head->length - query, rows = tile_rows(work->head);
    Panel panel = {.work = work, .of = work->from.keys, .query = query};
    panel.rows = left < rows ? left : rows;
    panel.key = seen_by_tile(&panel).begin;
    next_panel(&panel);
    panel.first = true;
    return panel;
}

static size_t inside(const Panel *panel, size_t key)
{
    if (key <= panel->key)
        return 0;
    return key - panel->key < panel->keys ? key - panel->key : panel->keys;
}

/* The keys of the block that a row sees. */
static Range seen_by(const Panel *panel, size_t row)
{
    const PanelReach *reach = &panel->work->reach;
    size_t query = panel->query + row;
    if (panel->of == &panel->work->from.keys[PANEL_PAST])
        return (Range){inside(panel, first_past_seen(reach, query, panel->work->from.past)),
                       panel->keys};
    if (panel->of == &panel->work->from.keys[PANEL_ENTRIES])
        return (Range){0, inside(panel, panel_entries_seen(reach, query))};
    return (Range){inside(panel, panel_first_seen(reach, query)), inside(panel, query + 1)};
}

/* Zeros the weights of keys that the row does not see. */
static void mask(real *p, Range seen, const Panel *panel)
{
    if (seen.begin > 0)
        vector_zero(p, seen.begin);
    vector_zero(p + seen.end, panel->keys - seen.end);
}

/* S = Q K^T / sqrt(D) */
static void scores(const Panel *panel)
{
    const Work *work = panel->work;
    const PanelKeys *of = panel->of;
    gemm(panel->rows, panel->keys, work->head->width, attention_scale(work->head),
         plain(work->from.q + panel->query * work->from.q_stride, work->from.q_stride),
         transposed(of->k + panel->key * of->k_stride, of->k_stride), GEMM_SET, work->p,
         STRIDE);
}

/* Dropout of a row's weights. */
static void drop(real *p, const Panel *panel, size_t row, Range seen)
{
    const Dropout *dropout = &panel->work->head->dropout;
    uint32_t threshold = dropout_threshold(dropout->rate);
    real scale = 1 / (1 - dropout->rate);
    uint32_t first = (uint32_t)((panel->query + row) * panel->work->columns +
                                panel->of->column + panel->key);
    for (size_t j = seen.begin; j < seen.end; j++)
        p[j] *= dropout_factor(dropout->key, first + (uint32_t)j, threshold, scale);
}

/* --- forward --- */

/* Rescales what a row has summed; the tile's first panel has no output yet. */
static void scale_down(real *restrict out, real *sum, real factor, const Panel *panel)
{
    size_t width = panel->first ? 0 : panel->work->head->width;
    *sum *= factor;
    for (size_t i = 0; i < width; i++)
        out[i] *= factor;
}

/* Turns a row of scores into weights relative to the largest score so far, and rescales what
 * the row has summed if that grows. */
static void absorb_row(real *restrict p, real *max, real *sum, real *out, const Panel *panel,
                       size_t row)
{
    Range seen = seen_by(panel, row);
    mask(p, seen, panel);
    if (seen.begin == seen.end)
        return;
    real bias = panel->of->bias;
    real most = vector_max(p + seen.begin, seen.end - seen.begin) + bias;
    if (most > *max) {
        if (*sum > 0)
            scale_down(out, sum, vector_exp(*max - most), panel);
        *max = most;
    }
    *sum += running_weigh(p + seen.begin, seen.end - seen.begin, *max - bias);
    if (panel->work->head->dropout.rate > 0)
        drop(p, panel, row, seen);
}

/* Divides the rows of a tile by their sums, which the lse replaces. */
static void finish(const Work *work, size_t query, size_t rows)
{
    const AttentionHead *head = work->head;
    real *sum = work->data->saved + query;
    for (size_t i = 0; i < rows; i++)
        running_finish(work->data->out + (query + i) * head->out_stride, head->width,
                       work->max[i], &sum[i]);
}

void panel_forward(const AttentionData *data, const AttentionHead *head)
{
    Work work = work_of(data, head);
    size_t rows = tile_rows(head);
    for (size_t query = 0; query < head->length; query += rows) {
        real *sum = data->saved + query, *out = data->out + query * head->out_stride;
        Panel panel = first_panel(&work, query);
        for (size_t i = 0; i < panel.rows; i++) {
            work.max[i] = work.has_sink ? work.sink : -(real)INFINITY;
            sum[i] = work.has_sink ? 1 : 0;
        }
        for (; panel.keys > 0; next_panel(&panel)) {
            const PanelKeys *of = panel.of;
            scores(&panel);
            for (size_t i = 0; i < panel.rows; i++)
                absorb_row(work.p + i * STRIDE, &work.max[i], &sum[i],
                           out + i * head->out_stride, &panel, i);
            /* O += P V */
            gemm(panel.rows, head->width, panel.keys, 1, plain(work.p, STRIDE),
                 plain(of->v + panel.key * of->stride, of->stride),
                 panel.first ? GEMM_SET : GEMM_ADD, out, head->out_stride);
        }
        finish(&work, query, panel.rows);
    }
}

/* --- backward --- */

/* From scores and do v^T, in p and dp, to the weights after dropout, and ds. */
static void backward_row(real *restrict p, real *restrict dp, real lse, real output_product,
                         const Panel *panel, size_t row)
{
    Range seen = seen_by(panel, row);
    bool dropping = panel->work->head->dropout.rate > 0;
    if (dropping)
        drop(dp, panel, row, seen);
    running_backward(p + seen.begin, dp + seen.begin, seen.end - seen.begin,
                     lse - panel->of->bias, output_product);
    if (dropping)
        drop(p, panel, row, seen);
    mask(p, seen, panel);
    mask(dp, seen, panel);
}

/* Adds a block's share to dQ of the tile and, if it has gradients, to dK and dV of the block.
 */
static void products_backward(const Panel *panel)
{
    const Work *work = panel->work;
    const AttentionHead *head = work->head;
    const PanelKeys *of = panel->of;
    size_t width = head->width, out_stride = head->out_stride, key = panel->key * of->stride;
    real scale = attention_scale(head);
    /* dQ += dS K / sqrt(D) */
    gemm(panel->rows, width, panel->keys, scale, plain(work->dp, STRIDE),
         plain(of->k + panel->key * of->k_stride, of->k_stride),
         panel->first ? GEMM_SET : GEMM_ADD, work->data->dq + panel->query * head->stride,
         head->stride);
    if (!of->dk)
        return;
    /* dV += P^T dO */
    gemm(panel->keys, width, panel->rows, 1, transposed(work->p, STRIDE),
         plain(work->data->dout + panel->query * out_stride, out_stride), GEMM_ADD,
         of->dv + key, of->stride);
    /* dK += dS^T Q / sqrt(D) */
    gemm(panel->keys, width, panel->rows, scale, transposed(work->dp, STRIDE),
         plain(work->from.q + panel->query * work->from.q_stride, work->from.q_stride),
         GEMM_ADD, of->dk + key, of->stride);
}

static void tile_backward(const Work *work, size_t query)
{
    const AttentionData *data = work->data;
    const AttentionHead *head = work->head;
    const real *lse = data->saved + query;
    const real *dout = data->dout + query * head->out_stride;
    Panel panel = first_panel(work, query);
    for (size_t i = 0; i < panel.rows; i++)
        work->products[i] = vector_dot(dout + i * head->out_stride,
                                       data->out + (query + i) * head->out_stride, head->width);
    for (size_t i = 0; work->has_sink && data->down && i < panel.rows; i++)
        data->down[0] -= vector_exp(work->sink - lse[i]) * work->products[i];
    for (; panel.keys > 0; next_panel(&panel)) {
        const PanelKeys *of = panel.of;
        scores(&panel);
        /* dP = dO V^T */
        gemm(panel.rows, panel.keys, head->width, 1, plain(dout, head->out_stride),
             transposed(of->v + panel.key * of->stride, of->stride), GEMM_SET, work->dp,
             STRIDE);
        for (size_t i = 0; i < panel.rows; i++)
            backward_row(work->p + i * STRIDE, work->dp + i * STRIDE, lse[i], work->products[i],
                         &panel, i);
        products_backward(&panel);
    }
}

void panel_backward(const AttentionData *data, const AttentionHead *head)
{
    const PanelKind *kind = head->kind->detail;
    Work work = work_of(data, head);
    const PanelKeys *entries = &work.from.keys[PANEL_ENTRIES];
    rows_zero(data->dk, head->stride, head->length, head->width);
    rows_zero(data->dv, head->stride, head->length, head->width);
    if (entries->dk) {
        vector_zero(entries->dk, panel_entries(head) * head->width);
        vector_zero(entries->dv, panel_entries(head) * head->width);
    }
    for (size_t query = 0; query < head->length; query += tile_rows(head))
        tile_backward(&work, query);
    if (kind->end_backward)
        kind->end_backward(&work.from, data, head);
}
