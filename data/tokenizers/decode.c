#include "data/tokenizers/decode.h"
#include "data/tokenizers/utf8.h"
#include "src/base/text.h"

#include <string.h>

bool decode_refuse(const char *name, size_t line, size_t byte, bool zero, Error *error)
{
    if (zero)
        return error_set(error,
                         "%s:%zu: binary data at byte %zu; a text has no zero bytes (if it is "
                         "UTF-16: iconv -f UTF-16LE -t UTF-8), but models with --tokens byte "
                         "take anything",
                         name, line, byte);
    return error_set(error,
                     "%s:%zu: invalid UTF-8 at byte %zu; convert the text to UTF-8 (if it is "
                     "Latin-1: iconv -f LATIN1 -t UTF-8), or train with --tokens byte",
                     name, line, byte);
}

/* --- UTF-8 --- */

/* Copies all but carriage returns before line ends. */
static size_t copy_lines(Decoder *d, const char *from, size_t size, char *to)
{
    size_t made = 0;
    for (size_t at = 0, end; at < size; at = end) {
        const char *carriage = memchr(from + at, '\r', size - at);
        end = carriage ? (size_t)(carriage - from) : size;
        memcpy(to + made, from + at, end - at);
        made += end - at;
        if (!carriage)
            break;
        end++;
        if (end < size && from[end] == '\n')
            d->returns = true;
        else
            to[made++] = '\r';
    }
    return made;
}

static bool decode_utf8(Decoder *d, const char *from, size_t size, bool last, char *to,
                        size_t *used, size_t *made, Error *error)
{
    size_t good = utf8_good(from, size, &d->lines);
    bool ignored;
    if (good < size && (last || !from[good] || utf8_cut(from + good, size - good, &ignored)))
        return decode_refuse(d->name, d->lines + 1, d->bytes + good, !from[good], error);
    if (!last && good && from[good - 1] == '\r')
        good--;
    *used = good;
    *made = copy_lines(d, from, good, to);
    return true;
}

/* --- UTF-16 --- */

static uint32_t unit_at(const Decoder *d, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    return d->form == DECODE_UTF16_BIG ? (uint32_t)c[0] << 8 | c[1]
                                       : (uint32_t)c[1] << 8 | c[0];
}

/* The character at the start of a text and its length; 0: it is cut off or wrong. */
static size_t character_at(const Decoder *d, const char *text, size_t size, uint32_t *character)
{
    enum {
        UNIT = 2,
        HIGH = 0xd800,
        LOW = 0xdc00,
        BEYOND = 0xe000,
        PLANES = 0x10000,
        BITS = 10
    };
    *character = size < UNIT ? LOW : unit_at(d, text);
    if (*character < HIGH || *character >= BEYOND)
        return UNIT;
    uint32_t second = size < 2 * UNIT ? 0 : unit_at(d, text + UNIT);
    if (*character >= LOW || second < LOW || second >= BEYOND)
        return 0;
    *character = PLANES + ((*character - HIGH) << BITS | (second - LOW));
    return 2 * UNIT;
}

static bool decode_utf16(Decoder *d, const char *from, size_t size, bool last, char *to,
                         size_t *used, size_t *made, Error *error)
{
    enum { LONGEST = 4 };
    size_t length;
    for (*used = *made = 0; *used < size && (last || size - *used >= LONGEST);
         *used += length) {
        const char *at = from + *used;
        uint32_t character, next = 0;
        length = character_at(d, at, size - *used, &character);
        if (!length)
            return error_set(error,
                             "%s:%zu: invalid UTF-16 at byte %zu; write the text again as "
                             "UTF-8",
                             d->name, d->lines + 1, d->bytes + *used);
        if (!character)
            return decode_refuse(d->name, d->lines + 1, d->bytes + *used, true, error);
        if (character == '\r' && character_at(d, at + length, size - *used - length, &next) &&
            next == '\n') {
            d->returns = true;
            continue;
        }
        d->lines += character == '\n';
        *made += utf8_encode(character, to + *made);
    }
    return true;
}

/* --- both --- */

/* Finds out the form by the byte order mark; returns how long that is. */
static size_t begin(Decoder *d, const char *text, size_t size)
{
    enum { PAIR = 2 };
    size_t mark = utf8_mark(text, size);
    d->form = DECODE_UTF8;
    if (size >= PAIR && memcmp(text, "\xff\xfe", PAIR) == 0)
        d->form = DECODE_UTF16_LITTLE;
    else if (size >= PAIR && memcmp(text, "\xfe\xff", PAIR) == 0)
        d->form = DECODE_UTF16_BIG;
    mark = d->form == DECODE_UTF8 ? mark : PAIR;
    d->marked = mark > 0;
    return mark;
}

bool decode(Decoder *d, const char *from, size_t size, bool last, char *to, size_t *used,
            size_t *made, Error *error)
{
    size_t mark = 0;
    *used = *made = 0;
    if (d->form == DECODE_UNKNOWN) {
        if (!last && size < sizeof UTF8_BYTE_ORDER_MARK)
            return true;
        mark = begin(d, from, size);
    }
    d->bytes += mark;
    if (!(d->form == DECODE_UTF8 ? decode_utf8 : decode_utf16)(d, from + mark, size - mark,
                                                               last, to, used, made, error))
        return false;
    d->bytes += *used;
    *used += mark;
    return true;
}

char *decoder_changes(const Decoder *d)
{
    if (!d->marked && !d->returns)
        return NULL;
    return text_format("%s: %s%s; read as plain UTF-8%s", d->name,
                       d->form != DECODE_UTF8 ? "UTF-16"
                       : d->marked            ? "UTF-8 with a byte order mark"
                                              : "UTF-8",
                       d->returns ? ", CR LF line ends" : "",
                       d->returns ? ", LF line ends" : "");
}
