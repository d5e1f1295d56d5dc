/* The token ids of an input, piece by piece, in constant memory. */
#ifndef LINNET_TOKEN_STREAM_H
#define LINNET_TOKEN_STREAM_H

#include "data/corpora/pieces.h"
#include "data/corpora/token_file.h"

typedef struct TokenStream {
    PieceReader reader;
    int32_t *ids; /* of the latest piece, an stb_ds array */
    /* Of all pieces so far. The checksum is that of the text. */
    TokenFacts facts;
    size_t lines; /* for tokenizer_check_words */
} TokenStream;

bool token_stream_open(TokenStream *stream, const char *path, const Vocabulary *vocabulary,
                       Error *error);
/* Encodes the next piece; *more is false at the end. Refuses what is no text, and words that
 * are too long. */
bool token_stream_next(TokenStream *stream, bool *more, Error *error);
/* Whether the latest piece was the last. */
bool token_stream_at_end(const TokenStream *stream);
/* Before the first piece: goes on where a stream of the same text had these facts and lines.
 * *same is false if it is another text. */
bool token_stream_resume(TokenStream *stream, const TokenFacts *facts, size_t lines, bool *same,
                         Error *error);
void token_stream_close(TokenStream *stream);

#endif
