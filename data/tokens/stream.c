#include "data/tokens/stream.h"
#include "data/utf8.h"
#include "src/containers.h"

#include <string.h>
#include <zlib.h>

bool token_stream_open(TokenStream *stream, const char *path, const Vocabulary *vocabulary,
                       Error *error)
{
    *stream = (TokenStream){.name = reader_name(path), .reader = reader_open(path, error)};
    if (!stream->reader)
        return false;
    pieces_begin(&stream->pieces, vocabulary);
    stream->room = PIECE;
    stream->text = memory_take(stream->room, 1, "a piece of the text");
    return true;
}

void token_stream_close(TokenStream *stream)
{
    if (stream->reader)
        reader_close(stream->reader);
    pieces_end(&stream->pieces);
    free(stream->text);
    arrfree(stream->ids);
    *stream = (TokenStream){0};
}

static bool fill(TokenStream *s, Error *error)
{
    size_t wanted = s->room - s->size, got;
    if (!reader_next(s->reader, s->text + s->size, wanted, &got, error))
        return false;
    s->size += got;
    s->ended = got < wanted;
    return true;
}

/* Reads until there is a piece. A text without white space is read as a whole, up to a limit.
 */
static bool find_piece(TokenStream *s, size_t *length, Error *error)
{
    const size_t most = (size_t)1 << 28;
    for (*length = 0; fill(s, error);) {
        *length = s->ended ? s->size : pieces_last_break(&s->pieces, s->text, s->size);
        if (*length || s->ended)
            return true;
        if (s->room >= most)
            return error_set(error,
                             "%s: no white space in %zu MB after byte %zu, which are too many "
                             "to be encoded at once",
                             s->name, most >> 20, s->facts.bytes);
        s->room *= 2;
        s->text = memory_resize(s->text, s->room, 1, "a piece of the text");
    }
    return false;
}

bool token_stream_next(TokenStream *stream, bool *more, Error *error)
{
    const Vocabulary *vocabulary = stream->pieces.vocabulary;
    TokenFacts *facts = &stream->facts;
    size_t length;
    arrsetlen(stream->ids, 0);
    *more = false;
    if (!find_piece(stream, &length, error) ||
        !tokenizer_check_part(vocabulary->tokenizer, stream->name, stream->text, length,
                              &stream->place, error))
        return false;
    facts->unknown += vocabulary->tokenizer->encode(vocabulary, stream->text, length,
                                                    &stream->ids);
    facts->count += arrlenu(stream->ids);
    facts->bytes += length;
    facts->characters += utf8_count(stream->text, length);
    facts->crc = (uint32_t)crc32_z(facts->crc, (const Bytef *)stream->text, length);
    stream->size -= length;
    memmove(stream->text, stream->text + length, stream->size);
    *more = length > 0;
    return true;
}

bool token_stream_resume(TokenStream *stream, const TokenFacts *facts, TextPlace place,
                         bool *same, Error *error)
{
    uint32_t crc = 0;
    size_t left = facts->bytes, got = 1;
    for (; left > 0 && got > 0; left -= got) {
        size_t wanted = left < stream->room ? left : stream->room;
        if (!reader_next(stream->reader, stream->text, wanted, &got, error))
            return false;
        crc = (uint32_t)crc32_z(crc, (const Bytef *)stream->text, got);
    }
    *same = left == 0 && crc == facts->crc;
    stream->facts = *facts;
    stream->place = place;
    return true;
}
