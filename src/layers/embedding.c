#include "src/layers/embedding.h"
#include "src/math/team.h"

#include <math.h>

#define TILE_COLUMNS ((size_t)32)

typedef struct Job {
    real *x;        /* (rows, width) */
    const real *dx; /* (rows, width) */
    EmbeddingTables tables;
    const int32_t *ids;    /* (rows) */
    const uint32_t *slots; /* (rows, order - 1) */
    EmbeddingDropouts dropouts;
    EmbeddingSizes sizes;
} Job;

/* --- n-grams --- */

/* Extends the hash of an n-gram by the token before it. */
static uint32_t extend(uint32_t hash, uint32_t token)
{
    hash = (hash ^ token) * 0x9e3779b1u;
    return hash ^ hash >> 15;
}

/* The token `back` places before row t of a sequence, as id + 1, or 0. Ids beyond 2^24, which a
 * float does not hold exactly, share the numbers of others. */
static uint32_t token_before(const int32_t *ids, const real *before, size_t t, size_t back)
{
    if (back <= t)
        return (uint32_t)ids[t - back] % 0xffffff + 1;
    return before ? (uint32_t)before[back - t - 1] : 0;
}

static void find_in_sequence(uint32_t *slots, const real *before, const int32_t *ids,
                             const EmbeddingSizes *sizes)
{
    for (size_t t = 0; t < sizes->length; t++) {
        uint32_t hash = extend(0, token_before(ids, before, t, 0)), known = 1;
        for (size_t back = 1; back < sizes->order; back++) {
            uint32_t token = token_before(ids, before, t, back);
            known = known && token;
            hash = extend(hash, token);
            *slots++ = known ? hash % (uint32_t)sizes->slots : NGRAM_NONE;
        }
    }
}

void embedding_find_ngrams(uint32_t *slots, real *before, const int32_t *ids,
                           EmbeddingSizes sizes)
{
    size_t kept = sizes.order - 1;
    for (size_t row = 0; kept > 0 && row < sizes.rows; row += sizes.length) {
        real *history = before ? before + row / sizes.length * kept : NULL;
        find_in_sequence(slots + row * kept, history, ids + row, &sizes);
        /* the oldest first: it may move a newer one */
        for (size_t i = kept; history && i-- > 0;)
            history[i] = (real)token_before(ids + row, history, sizes.length - 1, i);
    }
}

/* --- the embedding --- */

/* The factor of all elements of a row of a table. */
static real row_factor(Dropout dropout, size_t row)
{
    return dropout_factor(dropout.key, (uint32_t)row, dropout_threshold(dropout.rate),
                          1 / (1 - dropout.rate));
}

static void add_row(real *restrict x, const real *restrict row, real factor, size_t width)
{
    for (size_t i = 0; i < width; i++)
        x[i] += factor * row[i];
}

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    const EmbeddingSizes *sizes = &job->sizes;
    const EmbeddingTables *from = &job->tables;
    size_t width = sizes->width, id = (size_t)job->ids[row];
    const real *token = from->tokens + id * width;
    real *restrict x = job->x + row * width, factor = row_factor(job->dropouts.words, id);
    for (size_t i = 0; i < width; i++)
        x[i] = factor * token[i];
    if (from->positions)
        add_row(x, from->positions + row % sizes->length * width, 1, width);
    for (size_t n = 0; n + 1 < sizes->order; n++) {
        uint32_t slot = job->slots[row * (sizes->order - 1) + n];
        if (slot != NGRAM_NONE)
            add_row(x, from->ngrams + slot * width, row_factor(job->dropouts.ngrams, slot),
                    width);
    }
}

void embedding_forward(real *x, EmbeddingTables from, const int32_t *ids, const uint32_t *slots,
                       EmbeddingDropouts dropouts, EmbeddingSizes sizes)
{
    Job job = {.x = x,
               .tables = from,
               .ids = ids,
               .slots = slots,
               .dropouts = dropouts,
               .sizes = sizes};
    team_run_rows(sizes.rows, TEAM_ROWS, forward_row, &job);
    if (dropouts.inputs.rate > 0)
        dropout_add(x, NULL, x, dropouts.inputs, sizes.rows, sizes.width);
}

/* The part of a row's gradient in some columns, before its dropout. */
static void read_gradient(real *gradient, const Job *job, size_t row, size_t first,
                          size_t count)
{
    Dropout dropout = job->dropouts.inputs;
    uint32_t threshold = dropout_threshold(dropout.rate);
    real scale = 1 / (1 - dropout.rate);
    size_t start = row * job->sizes.width + first;
    for (size_t i = 0; i < count; i++)
        gradient[i] = job->dx[start + i] *
                      dropout_factor(dropout.key, (uint32_t)(start + i), threshold, scale);
}

/* A token can occur in many rows, so a tile owns a group of columns of all tables and sums the
 * rows in order. */
static void backward_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    const EmbeddingSizes *sizes = &job->sizes;
    const EmbeddingTables *to = &job->tables;
    size_t width = sizes->width, first = tile * TILE_COLUMNS;
    size_t count = team_extent(width, TILE_COLUMNS, tile);
    real gradient[TILE_COLUMNS];
    for (size_t row = 0; row < sizes->rows; row++) {
        size_t id = (size_t)job->ids[row];
        read_gradient(gradient, job, row, first, count);
        add_row(to->tokens + id * width + first, gradient, row_factor(job->dropouts.words, id),
                count);
        if (to->positions)
            add_row(to->positions + row % sizes->length * width + first, gradient, 1, count);
        for (size_t n = 0; n + 1 < sizes->order; n++) {
            uint32_t slot = job->slots[row * (sizes->order - 1) + n];
            if (slot != NGRAM_NONE)
                add_row(to->ngrams + slot * width + first, gradient,
                        row_factor(job->dropouts.ngrams, slot), count);
        }
    }
}

void embedding_backward(EmbeddingTables to, const real *dx, const int32_t *ids,
                        const uint32_t *slots, EmbeddingDropouts dropouts, EmbeddingSizes sizes)
{
    Job job = {.dx = dx,
               .tables = to,
               .ids = ids,
               .slots = slots,
               .dropouts = dropouts,
               .sizes = sizes};
    team_run(team_tiles(sizes.width, TILE_COLUMNS), backward_tile, &job);
}

void embedding_sinusoids(real *row, size_t position, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        double frequency = pow(10000.0, -(double)(i / 2 * 2) / (double)width);
        double angle = (double)position * frequency;
        row[i] = (real)(i % 2 ? cos(angle) : sin(angle));
    }
}
