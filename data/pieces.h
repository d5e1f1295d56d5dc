/* Places where a text can be cut in two whose tokens are those of the whole. So a text can be
 * encoded piece by piece, and one that is larger than memory at all.
 *
 * No tokenizer joins white space to a character before it that is not white space, except where
 * a token was added by hand: "<end of text>". */
#ifndef LINNET_PIECES_H
#define LINNET_PIECES_H

#include "data/vocabulary.h"

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

#endif
