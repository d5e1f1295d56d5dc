/* Places where a text can be cut in two whose tokens are those of the whole. So a text can be
 * encoded piece by piece, and one that is larger than memory at all.
 *
 * No tokenizer joins white space to a character before it that is not white space, except where
 * a token was added by hand: "<end of text>". */
#ifndef LINNET_PIECES_H
#define LINNET_PIECES_H

#include "data/corpora/reader.h"
#include "data/corpora/tokens.h"

/* The usual size of a piece in bytes. */
enum { PIECE = 1 << 20 };

typedef struct Pieces {
    const Vocabulary *vocabulary;
    int32_t *crossing; /* the tokens with such a place inside; an stb_ds array */
} Pieces;

void pieces_begin(Pieces *pieces, const Vocabulary *vocabulary);
void pieces_end(Pieces *pieces);

/* The last such place inside a text, which may go on; 0 if there is none. */
size_t pieces_last_break(const Pieces *pieces, const char *text, size_t size);

/* The length of the first piece of a text that ends here. */
size_t pieces_first(const Pieces *pieces, const char *text, size_t size);

/* The pieces of an input, one after another, in constant memory. */
typedef struct PieceReader {
    const char *name;
    Reader *input;
    Pieces pieces;
    char *text;        /* the piece, and what has been read after it */
    size_t length;     /* of the piece; 0 before the first and after the last */
    size_t size, room; /* bytes of the text, and for how many there is room */
    size_t before;     /* bytes of the input before the text */
    bool ended;        /* the input has no more than the text */
} PieceReader;

/* The usual size of pieces is `room`. */
bool piece_reader_open(PieceReader *reader, const char *path, const Vocabulary *vocabulary,
                       size_t room, Error *error);
/* Goes on to the next piece. Fails if there is no place to cut in hundreds of megabytes. */
bool piece_reader_next(PieceReader *reader, Error *error);
void piece_reader_close(PieceReader *reader);

/* The token ids of an input, piece by piece, in constant memory. */
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
