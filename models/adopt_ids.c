/* Which tokens of two vocabularies are the same. */
#include "models/adopt.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>

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
    Piece *pieces = memory_take(from->count, sizeof *pieces, "the vocabulary");
    int32_t *ids = memory_take(vocabulary->count, sizeof *ids, "the vocabulary");
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
