#include "src/layers/embedding.h"
#include "src/layers/rows.h"
#include "src/team.h"

#include <math.h>

#define TILE_COLUMNS ((size_t)32)

typedef struct Job {
    real *x, *dtokens, *dpositions;
    const real *dx, *tokens, *positions;
    const int32_t *ids;
    Dropout words, dropout;
    size_t rows, length, width;
} Job;

/* Returns the word dropout factor of a row's token. */
static real word_factor(const Job *job, size_t row)
{
    Dropout words = job->words;
    return dropout_factor(words.key, (uint32_t)job->ids[row], dropout_threshold(words.rate),
                          1 / (1 - words.rate));
}

static void forward_row(const void *context, size_t row)
{
    const Job *job = context;
    const real *token = job->tokens + (size_t)job->ids[row] * job->width;
    real *restrict x = job->x + row * job->width, factor = word_factor(job, row);
    for (size_t i = 0; i < job->width; i++)
        x[i] = factor * token[i];
    if (!job->positions)
        return;
    const real *position = job->positions + row % job->length * job->width;
    for (size_t i = 0; i < job->width; i++)
        x[i] += position[i];
}

void embedding_forward(real *x, const real *tokens, const real *positions, const int32_t *ids,
                       Dropout words, Dropout dropout, size_t rows, size_t length, size_t width)
{
    Job job = {.x = x,
               .tokens = tokens,
               .positions = positions,
               .ids = ids,
               .words = words,
               .rows = rows,
               .length = length,
               .width = width};
    rows_run(rows, ROWS_TILE, forward_row, &job);
    if (dropout.rate > 0)
        dropout_add(x, NULL, x, dropout, rows, width);
}

/* A token can occur in many rows, so a tile owns a group of columns of all tokens and sums the
 * rows in order. */
static void backward_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t first = tile * TILE_COLUMNS, count = team_extent(job->width, TILE_COLUMNS, tile);
    uint32_t threshold = dropout_threshold(job->dropout.rate);
    real scale = 1 / (1 - job->dropout.rate);
    for (size_t row = 0; row < job->rows; row++) {
        size_t start = row * job->width + first;
        real *restrict dtoken = job->dtokens + (size_t)job->ids[row] * job->width + first;
        real gradient[TILE_COLUMNS];
        for (size_t i = 0; i < count; i++)
            gradient[i] = job->dx[start + i] * dropout_factor(job->dropout.key,
                                                              (uint32_t)(start + i), threshold,
                                                              scale);
        real factor = word_factor(job, row);
        for (size_t i = 0; i < count; i++)
            dtoken[i] += factor * gradient[i];
        if (!job->dpositions)
            continue;
        real *restrict dposition = job->dpositions + row % job->length * job->width + first;
        for (size_t i = 0; i < count; i++)
            dposition[i] += gradient[i];
    }
}

void embedding_backward(real *dtokens, real *dpositions, const real *dx, const int32_t *ids,
                        Dropout words, Dropout dropout, size_t rows, size_t length,
                        size_t width)
{
    Job job = {.dtokens = dtokens,
               .dpositions = dpositions,
               .dx = dx,
               .ids = ids,
               .words = words,
               .dropout = dropout,
               .rows = rows,
               .length = length,
               .width = width};
    team_run(team_tiles(width, TILE_COLUMNS), backward_tile, &job);
}

void embedding_sinusoids(real *row, size_t position, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        double frequency = pow(10000.0, -(double)(i / 2 * 2) / (double)width);
        double angle = (double)position * frequency;
        row[i] = (real)(i % 2 ? cos(angle) : sin(angle));
    }
}
