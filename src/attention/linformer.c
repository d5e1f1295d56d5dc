/* Linformer (Wang et al. 2020) in a causal form. The original compresses the keys and values of
 * the whole sequence to r rows, which leaks the future. Here the sequence is cut into blocks of
 * B positions, and every complete block c is compressed to r entries,
 *
 *   K~_c = E K_c      V~_c = F V_c      E, F: (r, B), parameters of the head
 *
 * A query in block b sees, in one softmax, the positions of its own block up to itself and the
 * entries of all earlier blocks. Their scores get log(B / r) added, so that an entry weighs as
 * much as the B / r positions it stands for. E and F start as means of B / r positions each,
 * plus noise. The gradients:
 *
 *   dE += dK~_c K_c^T      dK_c += E^T dK~_c      and likewise for F, V
 *
 * Pooled attention is the same with r = 1 and plain means: no parameters.
 *
 * Keys rotated by different angles cannot be compressed, so RoPE rotates the entries instead,
 * as if they were at the block's last position.
 *
 * Shapes: x (T, D); entries (blocks, r, D); matrix (r, B). */
#include "src/attention/panel.h"
#include "src/attention/rows.h"
#include "src/math/gemm.h"
#include "src/base/memory.h"

static bool learns(const AttentionHead *head)
{
    return attention_has(&head->kind->param_count);
}

static size_t rank(const AttentionHead *head)
{
    return learns(head) ? head->options->rank : 1;
}

static PanelReach reach(const AttentionHead *head)
{
    size_t segment = head->options->segment;
    return (PanelReach){.window = PANEL_ALL,
                        .block = segment,
                        .entries = rank(head),
                        .bias = (real)log((double)segment / (double)rank(head))};
}

/* --- the compressing matrices --- */

static size_t matrices_reals(const AttentionHead *head)
{
    return 2 * rank(head) * head->options->segment;
}

/* Entry a averages its share of the segment's positions, at least one. */
static void fill_means(real *matrix, size_t entries, size_t segment)
{
    vector_zero(matrix, entries * segment);
    for (size_t a = 0; a < entries; a++) {
        size_t begin = a * segment / entries, end = (a + 1) * segment / entries;
        size_t count = end > begin ? end - begin : 1;
        for (size_t i = begin; i < begin + count; i++)
            matrix[a * segment + i] = 1 / (real)count;
    }
}

/* The noise is a tenth of the size of a mean of random vectors. */
static void start_matrices(real *params, const AttentionHead *head, RandomKey key)
{
    size_t segment = head->options->segment, half = rank(head) * segment;
    double noise = 0.1 * sqrt((double)rank(head)) / (double)segment;
    fill_means(params, rank(head), segment);
    fill_means(params + half, rank(head), segment);
    for (size_t i = 0; i < 2 * half; i++)
        params[i] += (real)(noise * random_normal(key, i));
}

/* --- memory --- */

static size_t blocks(const AttentionHead *head)
{
    return panel_entries(head) / rank(head);
}

/* After the engine's scratch. */
typedef struct Memory {
    real *q, *k;               /* (T, D) rotated */
    real *entry_k, *entry_v;   /* (blocks, r, D), k rotated */
    real *entry_dk, *entry_dv; /* (blocks, r, D) */
    real *means;               /* (B), for pooled attention */
    const real *e, *f;         /* (r, B) */
} Memory;

static Memory lay_out_memory(Arena *arena, const AttentionHead *head)
{
    size_t sequence = head->length * head->width, entries = panel_entries(head) * head->width;
    (void)arena_reals(arena, panel_memory(head).scratch);
    Memory m = {.means = arena_reals(arena, head->options->segment)};
    ARENA_REALS_EACH(arena, sequence, &m.q, &m.k);
    ARENA_REALS_EACH(arena, entries, &m.entry_k, &m.entry_v, &m.entry_dk, &m.entry_dv);
    return m;
}

static AttentionMemory memory(const AttentionHead *head)
{
    Arena arena = {0};
    AttentionMemory memory = panel_memory(head);
    lay_out_memory(&arena, head);
    memory.scratch = arena_used_reals(&arena);
    return memory;
}

static Memory memory_of(const AttentionData *data, const AttentionHead *head)
{
    Arena arena = arena_over(data->scratch);
    Memory m = lay_out_memory(&arena, head);
    size_t segment = head->options->segment;
    m.e = learns(head) ? data->params : m.means;
    m.f = learns(head) ? data->params + rank(head) * segment : m.means;
    if (!learns(head))
        fill_means(m.means, 1, segment);
    return m;
}

/* --- forward --- */

/* X~_c = M X_c */
static void compress(real *entries, const real *matrix, const real *x,
                     const AttentionHead *head)
{
    size_t segment = head->options->segment, r = rank(head), width = head->width;
    for (size_t c = 0; c < blocks(head); c++)
        gemm(r, width, segment, 1, plain(matrix, segment),
             plain(x + c * segment * head->stride, head->stride), GEMM_SET,
             entries + c * r * width, width);
}

/* The position whose angles rotate an entry: the last of its block. */
static size_t angles_of(size_t entry, const AttentionHead *head)
{
    return (entry / rank(head) + 1) * head->options->segment - 1;
}

static void rotate_entries(real *entries, const AttentionHead *head)
{
    for (size_t i = 0; i < panel_entries(head); i++)
        attention_rotate(entries + i * head->width, angles_of(i, head), head);
}

static void rotate_sequence(real *rotated, const real *x, const AttentionHead *head)
{
    for (size_t i = 0; i < head->length; i++)
        attention_rotated_copy(rotated + i * head->width, x + i * head->stride, i, head);
}

static void prepare(PanelSource *source, const AttentionData *data, const AttentionHead *head)
{
    Memory m = memory_of(data, head);
    PanelKeys *entries = &source->keys[PANEL_ENTRIES];
    entries->k = m.entry_k;
    entries->v = m.entry_v;
    entries->dk = m.entry_dk;
    entries->dv = m.entry_dv;
    compress(m.entry_k, m.e, data->k, head);
    compress(m.entry_v, m.f, data->v, head);
    if (head->rotary) {
        rotate_entries(m.entry_k, head);
        rotate_sequence(m.q, data->q, head);
        rotate_sequence(m.k, data->k, head);
        source->q = m.q;
        source->keys[PANEL_SEQUENCE].k = m.k;
        source->q_stride = source->keys[PANEL_SEQUENCE].k_stride = head->width;
    }
}

/* --- backward --- */

static void compress_backward(real *dx, real *dmatrix, const real *dentries, const real *matrix,
                              const real *x, const AttentionHead *head)
{
    size_t segment = head->options->segment, r = rank(head), width = head->width;
    for (size_t c = 0; c < blocks(head); c++) {
        size_t at = c * segment * head->stride;
        Factor dentry = plain(dentries + c * r * width, width);
        /* dX_c += M^T dX~_c */
        gemm(segment, width, r, 1, transposed(matrix, segment), dentry, GEMM_ADD, dx + at,
             head->stride);
        /* dM += dX~_c X_c^T */
        if (dmatrix)
            gemm(r, segment, width, 1, dentry, transposed(x + at, head->stride), GEMM_ADD,
                 dmatrix, segment);
    }
}

static void rotate_entries_back(real *dentries, const AttentionHead *head)
{
    for (size_t i = 0; i < panel_entries(head); i++)
        attention_rotate_back(dentries + i * head->width, angles_of(i, head), head);
}

static void rotate_sequence_back(real *dx, const AttentionHead *head)
{
    for (size_t i = 0; i < head->length; i++)
        attention_rotate_back(dx + i * head->stride, i, head);
}

static void end_backward(const PanelSource *source, const AttentionData *data,
                         const AttentionHead *head)
{
    const PanelKeys *entries = &source->keys[PANEL_ENTRIES];
    Memory m = memory_of(data, head);
    real *de = learns(head) ? data->dparams : NULL;
    real *df = de ? de + rank(head) * head->options->segment : NULL;
    rotate_sequence_back(data->dq, head);
    rotate_sequence_back(data->dk, head);
    rotate_entries_back(entries->dk, head);
    compress_backward(data->dk, de, entries->dk, m.e, data->k, head);
    compress_backward(data->dv, df, entries->dv, m.f, data->v, head);
}

/* --- decoding --- */

/* Adds a position's share to the entries of its block; the last position completes and rotates
 * them. */
static void add_to_entries(const AttentionData *data, const Memory *m, PanelState s,
                           const AttentionHead *head)
{
    size_t position = head->position, segment = head->options->segment, width = head->width,
           place = position % segment;
    for (size_t a = 0; a < rank(head); a++) {
        size_t at = (position / segment * rank(head) + a) * width;
        vector_add_scaled(s.entry_k + at, data->k, m->e[a * segment + place], width);
        vector_add_scaled(s.entry_v + at, data->v, m->f[a * segment + place], width);
        if (place == segment - 1)
            attention_rotate(s.entry_k + at, 0, head);
    }
}

static void step(const AttentionData *data, const AttentionHead *head)
{
    Memory m = memory_of(data, head);
    AttentionData rotated = *data;
    attention_rotated_copy(m.q, data->q, 0, head);
    attention_rotated_copy(m.k, data->k, 0, head);
    rotated.q = m.q;
    rotated.k = m.k;
    panel_step(&rotated, head);
    add_to_entries(data, &m, panel_state(data->state, head), head);
}

/* The pairs, and the products E K and F V. */
static double flop(const AttentionHead *head)
{
    double compressed = (double)(blocks(head) * head->options->segment);
    return panel_flop(head) + 4 * compressed * (double)(rank(head) * head->width);
}

/* Not normalised: the rows of F need not sum to 1. */
static const AttentionEngine engine = PANEL_ENGINE(memory, flop, step);

static const PanelKind panel = {
    .reach = reach, .prepare = prepare, .end_backward = end_backward};

const AttentionKind attention_linformer = {
    .name = "linformer",
    .source = "Wang et al. 2020, arXiv 2006.04768",
    .help =
        "Linformer, causal: softmax over the own block and learned summaries of earlier ones",
    .cost = "(segment + rank T / segment) D",
    .uses = "segment rank",
    .has_weights = true,
    .applies_rope = true,
    .param_count = {.more = matrices_reals},
    .start_params = start_matrices,
    .engine = &engine,
    .engine_options = &panel,
};

const AttentionKind attention_pooled = {
    .name = "pooled",
    .help = "softmax over the own block and the means of earlier blocks",
    .cost = "(segment + T / segment) D",
    .uses = "segment",
    .has_weights = true,
    .normalised = true,
    .applies_rope = true,
    .engine = &engine,
    .engine_options = &panel,
};
