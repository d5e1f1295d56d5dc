#include "data/corpora/pieces.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Tokenizers that cut never put a break inside a token; only those of the others, byte and bpe,
 * can have one. */
void pieces_begin(Pieces *pieces, const Vocabulary *vocabulary)
{
    *pieces = (Pieces){.vocabulary = vocabulary};
    for (size_t id = 0; !vocabulary->tokenizer->cut && id < vocabulary->count; id++) {
        const char *piece;
        size_t length = vocabulary_piece(vocabulary, (int32_t)id, &piece);
        if (utf8_last_break(piece, length))
            arrput(pieces->crossing, (int32_t)id);
    }
}

void pieces_end(Pieces *pieces)
{
    arrfree(pieces->crossing);
}

/* Whether a token may lie across a place of a text. What follows the text may be anything. */
static bool is_crossed(const Pieces *pieces, const char *text, size_t size, size_t at)
{
    for (size_t i = 0; i < arrlenu(pieces->crossing); i++) {
        const char *token;
        size_t length = vocabulary_piece(pieces->vocabulary, pieces->crossing[i], &token);
        for (size_t before = 1; before < length && before <= at; before++) {
            size_t from = at - before, rest = size - from;
            if (memcmp(text + from, token, length < rest ? length : rest) == 0)
                return true;
        }
    }
    return false;
}

size_t pieces_last_break(const Pieces *pieces, const char *text, size_t size)
{
    size_t at = size;
    do
        at = utf8_last_break(text, at);
    while (at && is_crossed(pieces, text, size, at));
    if (at == 0 && size > 1 && pieces->vocabulary->tokenizer->raw)
        return size - 1; /* any place */
    return at;
}

size_t pieces_first(const Pieces *pieces, const char *text, size_t size)
{
    for (size_t most = PIECE; most < size; most *= 2) {
        size_t length = pieces_last_break(pieces, text, most);
        if (length)
            return length;
    }
    return size;
}

/* --- reading --- */

bool piece_reader_open(PieceReader *reader, const char *path, const Vocabulary *vocabulary,
                       size_t room, Error *error)
{
    *reader = (PieceReader){.name = reader_name(path),
                            .input = reader_open(path, vocabulary->tokenizer->raw, error),
                            .room = room};
    if (!reader->input)
        return false;
    pieces_begin(&reader->pieces, vocabulary);
    reader->text = memory_new(room, 1, "a piece of the text");
    return true;
}

void piece_reader_close(PieceReader *reader)
{
    if (reader->input)
        reader_close(reader->input);
    pieces_end(&reader->pieces);
    free(reader->text);
    *reader = (PieceReader){0};
}

static bool fill(PieceReader *r, Error *error)
{
    size_t wanted = r->room - r->size, got;
    if (!reader_next(r->input, r->text + r->size, wanted, &got, error))
        return false;
    r->size += got;
    r->ended = got < wanted;
    return true;
}

/* A text without white space is read as a whole, up to a limit. */
bool piece_reader_next(PieceReader *r, Error *error)
{
    const size_t most = (size_t)1 << 28;
    r->before += r->length;
    r->size -= r->length;
    memmove(r->text, r->text + r->length, r->size);
    for (r->length = 0; fill(r, error);) {
        r->length = r->ended ? r->size : pieces_last_break(&r->pieces, r->text, r->size);
        if (r->length || r->ended)
            return true;
        if (r->room >= most)
            return error_set(error,
                             "%s: no white space in %zu MB after byte %zu, too many to be "
                             "tokenized at once",
                             r->name, most >> 20, r->before);
        r->room *= 2;
        r->text = memory_resize(r->text, r->room, 1, "a piece of the text");
    }
    return false;
}

bool token_stream_open(TokenStream *stream, const char *path, const Vocabulary *vocabulary,
                       Error *error)
{
    *stream = (TokenStream){0};
    return piece_reader_open(&stream->reader, path, vocabulary, PIECE, error);
}

void token_stream_close(TokenStream *stream)
{
    piece_reader_close(&stream->reader);
    arrfree(stream->ids);
    *stream = (TokenStream){0};
}

bool token_stream_next(TokenStream *stream, bool *more, Error *error)
{
    PieceReader *reader = &stream->reader;
    const Vocabulary *vocabulary = reader->pieces.vocabulary;
    TokenFacts *facts = &stream->facts;
    arrsetlen(stream->ids, 0);
    *more = false;
    if (!piece_reader_next(reader, error) ||
        !tokenizer_check_words(vocabulary->tokenizer, reader->name, reader->text,
                               reader->length, &stream->lines, error))
        return false;
    facts->unknown += vocabulary->tokenizer->encode(vocabulary, reader->text, reader->length,
                                                    &stream->ids);
    facts->count += arrlenu(stream->ids);
    facts->bytes += reader->length;
    facts->characters += utf8_count(reader->text, reader->length);
    facts->crc = (uint32_t)crc32_z(facts->crc, (const Bytef *)reader->text, reader->length);
    *more = reader->length > 0;
    return true;
}

bool token_stream_at_end(const TokenStream *stream)
{
    return stream->reader.ended && stream->reader.length == stream->reader.size;
}

bool token_stream_resume(TokenStream *stream, const TokenFacts *facts, size_t lines, bool *same,
                         Error *error)
{
    PieceReader *reader = &stream->reader;
    uint32_t crc = 0;
    size_t left = facts->bytes, got = 1;
    for (; left > 0 && got > 0; left -= got) {
        size_t wanted = left < reader->room ? left : reader->room;
        if (!reader_next(reader->input, reader->text, wanted, &got, error))
            return false;
        crc = (uint32_t)crc32_z(crc, (const Bytef *)reader->text, got);
    }
    *same = left == 0 && crc == facts->crc;
    reader->before = facts->bytes;
    stream->facts = *facts;
    stream->lines = lines;
    return true;
}
