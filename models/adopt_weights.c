/* Which tokens are the same; copies weights and starts new parts. adopt.h says how. */
#include "models/adopt.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- tokens --- */

typedef struct Piece {
    const char *bytes;
    size_t length;
    int32_t id;
} Piece;

static int by_bytes(const void *left, const void *right)
{
    const Piece *a = left, *b = right;
    size_t least = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, least);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* The text of a token, which for <eos> is a line end with every tokenizer. */
static Piece piece_of(const Vocabulary *vocabulary, int32_t id)
{
    Piece piece = {.id = id};
    piece.length = vocabulary_piece(vocabulary, id, &piece.bytes);
    return piece;
}

int32_t *adopt_ids(const Vocabulary *vocabulary, const Vocabulary *from, size_t *shared)
{
    Piece *pieces = memory_new(from->count, sizeof *pieces, "the vocabulary");
    int32_t *ids = memory_new(vocabulary->count, sizeof *ids, "the vocabulary");
    for (size_t i = 0; i < from->count; i++)
        pieces[i] = piece_of(from, (int32_t)i);
    qsort(pieces, from->count, sizeof *pieces, by_bytes);
    *shared = 0;
    for (size_t i = 0; i < vocabulary->count; i++) {
        Piece wanted = piece_of(vocabulary, (int32_t)i);
        const Piece *found = bsearch(&wanted, pieces, from->count, sizeof *pieces, by_bytes);
        bool unknown = wanted.id == vocabulary->unk && from->unk != TOKEN_NONE;
        ids[i] = unknown ? from->unk : found ? found->id : TOKEN_NONE;
        *shared += ids[i] != TOKEN_NONE;
    }
    free(pieces);
    return ids;
}

/* --- rows of tokens and positions --- */

static bool is_named(const ParamRow *row, const char *name)
{
    return strcmp(row->name, name) == 0;
}

static bool is_of_tokens(const ParamRow *row)
{
    return is_named(row, "wte.weight") || is_named(row, "lm_head.weight") ||
           is_named(row, "lm_head.bias");
}

static bool load(real *to, const Checkpoint *from, const ParamRow *source, Error *error)
{
    return safetensors_load(&from->file, source->name, TENSOR_REAL, source->rank, source->shape,
                            to, error);
}

/* Rows (count, width) of known tokens are copied. Their mean is added to the initial values of
 * the others, unless these are token frequencies. */
static void map_rows(real *to, const real *rows, size_t count, size_t width, const int32_t *ids,
                     size_t tokens, bool adds_mean)
{
    double *mean = memory_new(width, sizeof *mean, "the mean of the embeddings");
    for (size_t i = 0; adds_mean && i < count * width; i++)
        mean[i % width] += (double)rows[i] / (double)count;
    for (size_t token = 0; token < tokens; token++) {
        real *row = to + token * width;
        if (ids[token] != TOKEN_NONE)
            memcpy(row, rows + (size_t)ids[token] * width, width * sizeof *row);
        for (size_t i = 0; ids[token] == TOKEN_NONE && i < width; i++)
            row[i] += (real)mean[i];
    }
    free(mean);
}

/* Tensors with a row for each token or position, of which the model has others. */
static bool load_rows(Model *model, const ParamRow *row, const Checkpoint *from,
                      const ParamRow *source, const int32_t *ids, Error *error)
{
    real *rows = memory_new(source->count, sizeof *rows, source->name);
    real *to = model->base + row->offset;
    bool good = load(rows, from, source, error);
    bool unigram = is_named(row, "lm_head.bias") &&
                   model->config.head_bias == HEAD_BIAS_UNIGRAM;
    if (good && is_of_tokens(row))
        map_rows(to, rows, source->shape[0], row->rank == 2 ? row->shape[1] : 1, ids,
                 row->shape[0], !unigram);
    else if (good) /* positions */
        memcpy(to, rows,
               (row->count < source->count ? row->count : source->count) * sizeof *to);
    free(rows);
    return good;
}

/* --- all --- */

bool adopt_weights(Model *model, const Checkpoint *from, const int32_t *ids, Error *error)
{
    bool good = true, neutral;
    for (size_t i = 0; good && i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        const ParamRow *source = adopt_source(row, &model->config, from, &neutral);
        real *to = model->base + row->offset;
        if (ids && is_named(row, "ngrams.weight")) /* of other tokens */
            source = NULL;
        if (!source && is_named(row, "lm_head.weight"))
            source = param_table_find(&from->table, "wte.weight");
        if (!source && neutral)
            memset(to, 0, row->count * sizeof *to);
        else if (source && ((ids && is_of_tokens(row)) || is_named(row, "wpe.weight")))
            good = load_rows(model, row, from, source, ids, error);
        else if (source)
            good = load(to, from, source, error);
    }
    return good;
}
