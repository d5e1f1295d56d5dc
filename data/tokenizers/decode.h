/* Texts as other systems write them: UTF-16, a byte order mark, CR LF at the end of lines. A
 * decoder makes UTF-8 with LF of them, piece by piece, and refuses what is no text. */
#ifndef LINNET_DECODE_H
#define LINNET_DECODE_H

#include "src/base/error.h"

#include <stddef.h>

typedef struct Decoder {
    const char *name; /* of the text, for messages */
    enum { DECODE_UNKNOWN, DECODE_UTF8, DECODE_UTF16_LITTLE, DECODE_UTF16_BIG } form;
    bool marked, returns; /* what was left out: a byte order mark, CR before LF */
    size_t lines, bytes;  /* of the text so far, as it is written */
} Decoder;

/* Decodes the beginning of `from`: all but a few bytes, whose meaning depends on what follows,
 * or all if it is the last piece. *used: how many bytes; *made: the bytes written to `to`, at
 * most DECODE_MOST(size). */
#define DECODE_MOST(size) ((size) + (size) / 2)
bool decode(Decoder *decoder, const char *from, size_t size, bool last, char *to, size_t *used,
            size_t *made, Error *error);

/* What was changed, for people; the caller frees. NULL: nothing. */
char *decoder_changes(const Decoder *decoder);

/* Refuses a text that is not UTF-8, or has zero bytes, at this byte of this line. */
bool decode_refuse(const char *name, size_t line, size_t byte, bool zero, Error *error);

#endif
