/* Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing beyond U+10FFFF. Two
 * encodings of one character would be two tokens that look the same. */
#ifndef LINNET_UTF8_H
#define LINNET_UTF8_H

#include "src/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_BYTE_ORDER_MARK "\xEF\xBB\xBF" /* some editors write it at the start of a file */
#define UTF8_LONGEST         4

/* ASCII white space; that of Unicode is part of the tokens of --tokens word. */
static inline bool utf8_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Whether a byte is inside a character, behind its first byte. */
static inline bool utf8_is_inner(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The length in bytes of the first character; 0 if it is not valid UTF-8. */
size_t utf8_length_of_several(const char *text, size_t size); /* which is not ASCII */
static inline size_t utf8_length(const char *text, size_t size)
{
    return size && (unsigned char)*text < 0x80 ? 1 : utf8_length_of_several(text, size);
}

/* The code point of a valid character of this length. */
static inline uint32_t utf8_decode(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    uint32_t character = length == 1 ? c[0] : c[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++)
        character = character << 6 | (c[i] & 0x3fu);
    return character;
}

#define UTF8_REPLACEMENT \
    "\xEF\xBF\xBD" /* U+FFFD, shown in place of bytes that are no character */

/* The bytes of the first character; of bytes that are none, those that one U+FFFD replaces: the
 * longest beginning of a character, or one byte (as Unicode recommends). 0 if the text ends
 * within what may become a character. */
size_t utf8_cut(const char *text, size_t size, bool *valid);
/* A copy, of *mended bytes and a zero, in which each of those is replaced. The caller frees. */
char *utf8_mend(const char *text, size_t size, size_t *mended);

/* The bytes to skip at the start of a text: 3 for a byte order mark, else 0. */
size_t utf8_mark(const char *text, size_t size);

/* The last place inside a text where no token crosses: white space (ASCII) after a character
 * that is not (of Unicode). 0 if there is none. */
size_t utf8_last_break(const char *text, size_t size);

/* The length of the beginning of a text that is valid and has no zero bytes; adds its line ends
 * to *lines. */
size_t utf8_good(const char *text, size_t size, size_t *lines);

/* Writes a character, which is no surrogate; returns its length. */
size_t utf8_encode(uint32_t character, char to[UTF8_LONGEST]);

/* How many characters a text has; "\r\n" is one, a byte order mark none. */
size_t utf8_count(const char *text, size_t size);

/* --- texts as other systems write them ---
 *
 * They may have UTF-16, a byte order mark, CR LF at the end of lines. A decoder makes UTF-8
 * with LF of them, piece by piece, and refuses what is no text. */
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
bool decoder_step(Decoder *decoder, const char *from, size_t size, bool last, char *to,
                  size_t *used, size_t *made, Error *error);

/* What was changed, for people; the caller frees. NULL: nothing. */
char *decoder_changes(const Decoder *decoder);

/* Refuses a text that is not UTF-8, or has zero bytes, at this byte of this line. */
bool utf8_refuse(const char *name, size_t line, size_t byte, bool zero, Error *error);

#endif
