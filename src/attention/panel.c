/* Softmax attention over the keys that a query sees:
 *
 *   s_ij = q_i . k_j / sqrt(D),   o_i = sum over j of exp(s_ij) v_j / sum over j of exp(s_ij)
 *
 * Queries are processed in tiles and, for each tile, keys in blocks. Blocks that no query of
 * the tile sees are skipped. Positions before the sequence (the past) and entries, which stand
 * for parts of the sequence, are keys like others; they come first and last. The only memory
 * for scores is one panel, a block by a tile, for any sequence length (as in FlashAttention).
 * A row of the panel is a key and a column, or lane, a query: so the largest score and the sum
 * of every query are computed for a vector of queries at a time, and of all operands of the
 * products only the tile's queries need to be transposed. Where only part of a panel is seen,
 * products are cut into bands of keys and groups of queries, and leave out most of the rest.
 * From block to block a query carries its largest score and the sum of exponentials relative
 * to it; when a block has a larger score, the sums are rescaled. Forward saves the logarithm of
 * each query's sum (lse), and backward recomputes the weights from it:
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
 *
 * Scores that fade have c_i - c_j added, where c_i is the sum of log decays up to i. A number
 * that is the same for all keys of a query does not change its weights. So i is replaced by the
 * first query of the tile, which keeps rounding errors small, and dc_j is - sum of ds_ij over
 * i.
 *
 * Shapes: p, dp (keys of a block, STRIDE); x, y (T or keys, D) or (D, STRIDE) if transposed;
 * sum, max, lse, products (queries of a tile); out (queries, D). */
#include "src/attention/panel.h"
#include "src/attention/online_softmax.h"
#include "src/attention/rows.h"
#include "src/math/gemm.h"

enum { TILE = 256, BLOCK = 256, BAND = 32 };
/* A stride of 1024 bytes would make the rows of a panel collide in the cache. */
enum { STRIDE = TILE + 16 };

/* --- sizes --- */

static size_t tile_rows(const AttentionHead *head)
{
    return head->length < TILE ? head->length : TILE;
}

/* The past, which `carries` announces, may have any size. */
static size_t block_keys(const AttentionHead *head)
{
    size_t entries = panel_entries(head),
           most = head->length > entries ? head->length : entries;
    return head->carries || most > BLOCK ? BLOCK : most;
}

/* The current head. */
typedef struct Work {
    const AttentionData *data;
    const AttentionHead *head;
    PanelSource source;
    PanelReach reach;
    size_t columns; /* keys of all sets */
    bool has_sink;
    real sink;
    real *p, *dp;   /* (block, STRIDE) */
    real *q, *dout; /* (width, STRIDE) of the tile, transposed */
    real *max;      /* (tile) each query's largest score so far */
    real *products; /* (tile) do . o; backward has no max */
} Work;

static void lay_out(Work *work, Arena *arena)
{
    size_t panel = block_keys(work->head) * STRIDE, queries = work->head->width * STRIDE;
    work->p = arena_reals(arena, panel);
    work->dp = arena_reals(arena, panel);
    work->q = arena_reals(arena, queries);
    work->dout = arena_reals(arena, queries);
    work->max = work->products = arena_reals(arena, TILE);
}

/* Forward saves the lse. */
AttentionMemory panel_memory(const AttentionHead *head)
{
    Work work = {.head = head};
    Arena arena = {0};
    lay_out(&work, &arena);
    size_t step = panel_ring_rows(head) + panel_entries(head),
           panels = arena_used_reals(&arena);
    return (AttentionMemory){.saved = head->length,
                             .scratch = panels > step ? panels : step,
                             .state = panel_state_reals(head)};
}

static Work work_of(const AttentionData *data, const AttentionHead *head)
{
    const PanelKind *kind = head->kind->engine_options;
    size_t width = head->width, stride = head->stride;
    size_t length = head->length, entries = panel_entries(head);
    Work work = {.data = data,
                 .head = head,
                 .source = {.q = data->q, .q_stride = stride},
                 .reach = panel_reach(head),
                 .has_sink = kind->has_sink,
                 .sink = kind->has_sink && data->params ? data->params[0] : 0};
    Arena arena = arena_over(data->scratch);
    lay_out(&work, &arena);
    PanelKeys *keys = work.source.keys;
    keys[PANEL_SEQUENCE] = (PanelKeys){.k = data->k,
                                       .v = data->v,
                                       .dk = data->dk,
                                       .dv = data->dv,
                                       .k_stride = stride,
                                       .stride = stride};
    keys[PANEL_ENTRIES] = (PanelKeys){
        .k_stride = width, .stride = width, .bias = work.reach.bias, .column = length};
    keys[PANEL_PAST] = (PanelKeys){
        .k_stride = width, .stride = width, .column = length + entries};
    if (kind->prepare)
        kind->prepare(&work.source, data, head);
    work.columns = length + entries + work.source.past;
    return work;
}

/* --- panels --- */

typedef struct Range {
    size_t begin, end;
} Range;

/* Part of a panel, relative to its first key and query. */
typedef struct Part {
    Range keys, queries;
} Part;

/* Products go by bands of keys, each with the queries that see any of them, or by groups of
 * queries, each with the keys that any of them sees. So they leave out most masked pairs. */
typedef struct Panel {
    const PanelSource *source;
    const PanelReach *reach;
    const PanelKeys *set; /* the current set of keys */
    size_t query, rows;   /* the first query, and how many */
    size_t key, keys;     /* the first key, and how many; 0: the tile is done */
    bool whole;           /* every query sees every key */
    Part bands[BLOCK / BAND], groups[TILE / BAND];
    size_t band_count, group_count;
} Panel;

_Static_assert((int)TILE == (int)BLOCK, "a band of a whole panel is all of it");

/* The first of the past positions that the query sees. */
static size_t first_past_seen(const PanelReach *reach, size_t query, size_t past)
{
    if (query + 1 >= reach->window)
        return past;
    size_t most = reach->window - query - 1;
    return past > most ? past - most : 0;
}

/* The keys of the current set that a query sees. */
static Range seen_by(const Panel *panel, size_t query)
{
    const PanelReach *reach = panel->reach;
    size_t past = panel->source->past;
    if (panel->set == &panel->source->keys[PANEL_PAST])
        return (Range){first_past_seen(reach, query, past), past};
    if (panel->set == &panel->source->keys[PANEL_SEQUENCE])
        return (Range){panel_first_seen(reach, query), query + 1};
    return (Range){0, panel_entries_seen(reach, query)};
}

static Range seen_by_tile(const Panel *panel)
{
    return (Range){seen_by(panel, panel->query).begin,
                   seen_by(panel, panel->query + panel->rows - 1).end};
}

static size_t clamp_to_block(const Panel *panel, size_t key)
{
    if (key <= panel->key)
        return 0;
    return key - panel->key < panel->keys ? key - panel->key : panel->keys;
}

/* The keys of the block that a row sees. */
static Range seen_by_row(const Panel *panel, size_t row)
{
    Range seen = seen_by(panel, panel->query + row);
    return (Range){clamp_to_block(panel, seen.begin), clamp_to_block(panel, seen.end)};
}

/* The queries that see a key: a range, since from query to query the first and the last key
 * that one sees never come earlier. `before` is the range of an earlier key, or empty. */
static Range queries_seeing(const Panel *panel, size_t key, Range before)
{
    if (panel->whole)
        return (Range){0, panel->rows};
    while (before.begin < panel->rows && seen_by_row(panel, before.begin).end <= key)
        before.begin++;
    while (before.end < panel->rows && seen_by_row(panel, before.end).begin <= key)
        before.end++;
    return before;
}

static void make_bands(Panel *panel)
{
    Range first = seen_by_row(panel, 0), last = seen_by_row(panel, panel->rows - 1);
    panel->whole = last.begin == 0 && first.end == panel->keys;
    panel->band_count = panel->group_count = 0;
    size_t band = panel->whole ? TILE : BAND;
    Range queries = {0, 0};
    for (size_t key = 0; key < panel->keys; key += band) {
        size_t end = key + band < panel->keys ? key + band : panel->keys;
        size_t begin = queries_seeing(panel, key, queries).begin;
        queries = queries_seeing(panel, end - 1, queries);
        if (begin < queries.end)
            panel->bands[panel->band_count++] = (Part){{key, end},
                                                       {begin / BAND * BAND, queries.end}};
    }
    for (size_t query = 0; query < panel->rows; query += band) {
        size_t end = query + band < panel->rows ? query + band : panel->rows;
        Range keys = {seen_by_row(panel, query).begin, seen_by_row(panel, end - 1).end};
        if (keys.begin < keys.end)
            panel->groups[panel->group_count++] = (Part){keys, {query, end}};
    }
}

/* Goes on to the next panel of the tile: block by block, set by set. */
static void next_panel(Panel *panel)
{
    Range range = seen_by_tile(panel);
    size_t next = panel->key + panel->keys;
    while (next == range.end && panel->set < &panel->source->keys[PANEL_SETS - 1]) {
        panel->set++;
        range = seen_by_tile(panel);
        next = range.begin;
    }
    panel->key = next;
    panel->keys = range.end - next < BLOCK ? range.end - next : BLOCK;
    if (panel->keys > 0)
        make_bands(panel);
}

static Panel first_panel(const Work *work, size_t query)
{
    size_t left = work->head->length - query, rows = tile_rows(work->head);
    Panel panel = {.source = &work->source,
                   .reach = &work->reach,
                   .set = work->source.keys,
                   .query = query,
                   .rows = left < rows ? left : rows};
    panel.key = seen_by_tile(&panel).begin;
    next_panel(&panel);
    return panel;
}

/* --- products --- */

/* P = scale X Y^T, with X of the keys and Y of the queries, transposed. */
static void pair_product(const Work *work, const Panel *panel, real *p, real scale,
                         const real *x, size_t stride, const real *queries_transposed)
{
    for (size_t i = 0; i < panel->band_count; i++) {
        Range keys = panel->bands[i].keys, queries = panel->bands[i].queries;
        gemm(keys.end - keys.begin, queries.end - queries.begin, work->head->width, scale,
             plain(x + (panel->key + keys.begin) * stride, stride),
             plain(queries_transposed + queries.begin, STRIDE), GEMM_SET,
             p + keys.begin * STRIDE + queries.begin, STRIDE);
    }
}

/* Y += scale P^T X, with X of the keys and Y of the tile's queries. */
static void add_to_queries(const Work *work, const Panel *panel, const real *p, real scale,
                           const real *x, size_t stride, real *y, size_t y_stride)
{
    for (size_t i = 0; i < panel->group_count; i++) {
        Range keys = panel->groups[i].keys, queries = panel->groups[i].queries;
        gemm(queries.end - queries.begin, work->head->width, keys.end - keys.begin, scale,
             transposed(p + keys.begin * STRIDE + queries.begin, STRIDE),
             plain(x + (panel->key + keys.begin) * stride, stride), GEMM_ADD,
             y + queries.begin * y_stride, y_stride);
    }
}

/* Y += scale P X, with X of the tile's queries and Y of the keys. */
static void add_to_keys(const Work *work, const Panel *panel, const real *p, real scale,
                        const real *x, size_t stride, real *y, size_t y_stride)
{
    for (size_t i = 0; i < panel->band_count; i++) {
        Range keys = panel->bands[i].keys, queries = panel->bands[i].queries;
        gemm(keys.end - keys.begin, work->head->width, queries.end - queries.begin, scale,
             plain(p + keys.begin * STRIDE + queries.begin, STRIDE),
             plain(x + queries.begin * stride, stride), GEMM_ADD,
             y + (panel->key + keys.begin) * y_stride, y_stride);
    }
}

/* What is added to the scores of a key. */
static real bias_of(const Panel *panel, size_t key)
{
    const PanelKeys *set = panel->set;
    return set->logs ? set->bias + set->sums[panel->key + key] : set->bias;
}

static void score(const Work *work, const Panel *panel)
{
    pair_product(work, panel, work->p, attention_scale(work->head), panel->set->k,
                 panel->set->k_stride, work->q);
}

/* Zeros the weights of a key for the queries that do not see it. */
static void mask(real *p, Range queries, const Panel *panel)
{
    vector_zero(p, queries.begin);
    vector_zero(p + queries.end, panel->rows - queries.end);
}

static void drop(const Work *work, real *p, const Panel *panel, size_t key, Range queries)
{
    const Dropout *dropout = &work->head->dropout;
    uint32_t threshold = dropout_threshold(dropout->rate);
    real scale = 1 / (1 - dropout->rate);
    size_t columns = work->columns;
    uint32_t first = (uint32_t)(panel->query * columns + panel->set->column + panel->key + key);
    for (size_t i = queries.begin; i < queries.end; i++)
        p[i] *= dropout_factor(dropout->key, first + (uint32_t)(i * columns), threshold, scale);
}

/* --- forward --- */

/* Raises the largest scores to those of this panel, and rescales what the queries have summed
 * so far. */
static void raise_max(const Work *work, const Panel *panel, real *sum, real *out)
{
    size_t width = work->head->width, stride = work->head->out_stride;
    real *restrict max = work->max, before[TILE];
    memcpy(before, max, panel->rows * sizeof *max);
    Range queries = {0, 0};
    for (size_t key = 0; key < panel->keys; key++) {
        const real *s = work->p + key * STRIDE, bias = bias_of(panel, key);
        queries = queries_seeing(panel, key, queries);
        for (size_t i = queries.begin; i < queries.end; i++)
            max[i] = s[i] + bias > max[i] ? s[i] + bias : max[i];
    }
    for (size_t i = 0; i < panel->rows; i++) {
        if (max[i] <= before[i] || sum[i] == 0)
            continue;
        real factor = vector_exp(before[i] - max[i]);
        sum[i] *= factor;
        for (size_t j = 0; j < width; j++)
            out[i * stride + j] *= factor;
    }
}

/* Turns the scores of a key into weights relative to the largest scores. */
static void exponentiate(real *restrict p, real *restrict sum, const real *restrict max,
                         real bias, Range queries)
{
#pragma omp simd
    for (size_t i = queries.begin; i < queries.end; i++) {
        p[i] = vector_clean(vector_exp(p[i] + bias - max[i]));
        sum[i] += p[i];
    }
}

static void forward_panel(const Work *work, const Panel *panel, real *sum, real *out)
{
    const PanelKeys *set = panel->set;
    Range queries = {0, 0};
    score(work, panel);
    raise_max(work, panel, sum, out);
    for (size_t key = 0; key < panel->keys; key++) {
        real *p = work->p + key * STRIDE;
        queries = queries_seeing(panel, key, queries);
        exponentiate(p, sum, work->max, bias_of(panel, key), queries);
        if (work->head->dropout.rate > 0)
            drop(work, p, panel, key, queries);
        mask(p, queries, panel);
    }
    /* O += P V */
    add_to_queries(work, panel, work->p, 1, set->v, set->stride, out, work->head->out_stride);
}

/* The sums of log decays from each key to the first query of the tile, or back from there. */
static void sum_decays(const Work *work, const Panel *panel)
{
    const PanelKeys *keys = &work->source.keys[PANEL_SEQUENCE];
    double sum = 0;
    if (!keys->logs)
        return;
    for (size_t j = panel->query; j-- > 0;)
        keys->sums[j] = (real)(sum += (double)keys->logs[j + 1]);
    keys->sums[panel->query] = 0;
    sum = 0;
    for (size_t j = panel->query + 1; j < panel->query + panel->rows; j++)
        keys->sums[j] = (real)(sum -= (double)keys->logs[j]);
}

static void transpose_queries(const Work *work, const Panel *panel)
{
    kernel_transpose(work->q, STRIDE, work->source.q + panel->query * work->source.q_stride,
                     work->source.q_stride, panel->rows, work->head->width);
}

void panel_forward(const AttentionData *data, const AttentionHead *head)
{
    Work work = work_of(data, head);
    for (size_t query = 0; query < head->length; query += tile_rows(head)) {
        real *sum = data->saved + query, *out = data->out + query * head->out_stride;
        Panel panel = first_panel(&work, query);
        for (size_t i = 0; i < panel.rows; i++) {
            work.max[i] = work.has_sink ? work.sink : -(real)INFINITY;
            sum[i] = work.has_sink ? 1 : 0;
        }
        rows_zero(out, head->out_stride, panel.rows, head->width);
        sum_decays(&work, &panel);
        transpose_queries(&work, &panel);
        for (; panel.keys > 0; next_panel(&panel))
            forward_panel(&work, &panel, sum, out);
        for (size_t i = 0; i < panel.rows; i++) /* the lse replaces the sum */
            online_softmax_finish(out + i * head->out_stride, head->width, work.max[i],
                                  &sum[i]);
    }
}

/* --- backward --- */

/* From scores and the gradients of weights, in p and dp, to weights and the gradients of
 * scores. */
static void backward_weights(real *restrict p, real *restrict dp, const real *restrict lse,
                             const real *restrict products, real bias, Range queries)
{
#pragma omp simd
    for (size_t i = queries.begin; i < queries.end; i++) {
        p[i] = vector_clean(vector_exp(p[i] + bias - lse[i]));
        dp[i] = p[i] * (dp[i] - products[i]);
    }
}

/* From the scores and do v^T of a key, in p and dp, to the weights after dropout, and ds. */
static void backward_key(const Work *work, const Panel *panel, size_t key, Range queries)
{
    real *p = work->p + key * STRIDE, *dp = work->dp + key * STRIDE;
    bool dropping = work->head->dropout.rate > 0;
    if (dropping)
        drop(work, dp, panel, key, queries);
    backward_weights(p, dp, work->data->saved + panel->query, work->products,
                     bias_of(panel, key), queries);
    if (panel->set->dsums)
        panel->set->dsums[panel->key + key] -= vector_sum(dp + queries.begin,
                                                          queries.end - queries.begin);
    if (dropping)
        drop(work, p, panel, key, queries);
    mask(p, queries, panel);
    mask(dp, queries, panel);
}

static void backward_panel(const Work *work, const Panel *panel)
{
    const AttentionData *data = work->data;
    const AttentionHead *head = work->head;
    const PanelKeys *set = panel->set;
    real scale = attention_scale(head);
    score(work, panel);
    /* dP = dO V^T */
    pair_product(work, panel, work->dp, 1, set->v, set->stride, work->dout);
    Range queries = {0, 0};
    for (size_t key = 0; key < panel->keys; key++) {
        queries = queries_seeing(panel, key, queries);
        backward_key(work, panel, key, queries);
    }
    /* dQ += dS K / sqrt(D) */
    add_to_queries(work, panel, work->dp, scale, set->k, set->k_stride,
                   data->dq + panel->query * head->stride, head->stride);
    if (!set->dk)
        return;
    /* dV += P^T dO,  dK += dS^T Q / sqrt(D) */
    add_to_keys(work, panel, work->p, 1, data->dout + panel->query * head->out_stride,
                head->out_stride, set->dv, set->stride);
    add_to_keys(work, panel, work->dp, scale,
                work->source.q + panel->query * work->source.q_stride, work->source.q_stride,
                set->dk, set->stride);
}

static void tile_backward(const Work *work, size_t query)
{
    const AttentionData *data = work->data;
    const AttentionHead *head = work->head;
    const real *dout = data->dout + query * head->out_stride;
    Panel panel = first_panel(work, query);
    for (size_t i = 0; i < panel.rows; i++)
        work->products[i] = vector_dot(dout + i * head->out_stride,
                                       data->out + (query + i) * head->out_stride, head->width);
    for (size_t i = 0; work->has_sink && data->dparams && i < panel.rows; i++)
        data->dparams[0] -= vector_exp(work->sink - data->saved[query + i]) * work->products[i];
    sum_decays(work, &panel);
    transpose_queries(work, &panel);
    kernel_transpose(work->dout, STRIDE, dout, head->out_stride, panel.rows, head->width);
    for (; panel.keys > 0; next_panel(&panel))
        backward_panel(work, &panel);
}

void panel_backward(const AttentionData *data, const AttentionHead *head)
{
    const PanelKind *kind = head->kind->engine_options;
    Work work = work_of(data, head);
    const PanelKeys *entries = &work.source.keys[PANEL_ENTRIES];
    rows_zero(data->dq, head->stride, head->length, head->width);
    rows_zero(data->dk, head->stride, head->length, head->width);
    rows_zero(data->dv, head->stride, head->length, head->width);
    if (entries->dk) {
        vector_zero(entries->dk, panel_entries(head) * head->width);
        vector_zero(entries->dv, panel_entries(head) * head->width);
    }
    for (size_t query = 0; query < head->length; query += tile_rows(head))
        tile_backward(&work, query);
    if (kind->end_backward)
        kind->end_backward(&work.source, data, head);
}
