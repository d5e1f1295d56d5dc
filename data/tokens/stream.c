#include "data/tokens/stream.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"

#include <zlib.h>

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
