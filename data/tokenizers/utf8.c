/* One table-free decoder. A character's first byte says how many follow; what the standard
 * forbids shows in the second byte, which for four of the first bytes has a narrower range. */
#include "data/tokenizers/utf8.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <string.h>

/* How many bytes of a character that begins here are there; *whole is its length. Both are 0 if
 * the first byte begins none. */
static size_t count_bytes(const unsigned char *c, size_t size, size_t *whole)
{
    *whole = 0;
    if (c[0] < 0xc2 || c[0] > 0xf4) /* a stray continuation, or an overlong or too large lead */
        return 0;
    *whole = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    unsigned char low = 0x80, high = 0xbf;
    if (c[0] == 0xe0)
        low = 0xa0; /* below: overlong */
    if (c[0] == 0xed)
        high = 0x9f; /* above: surrogates */
    if (c[0] == 0xf0)
        low = 0x90; /* below: overlong */
    if (c[0] == 0xf4)
        high = 0x8f; /* above: beyond U+10FFFF */
    if (size < 2 || c[1] < low || c[1] > high)
        return 1;
    size_t length = 2;
    while (length < *whole && length < size && (c[length] & 0xc0) == 0x80)
        length++;
    return length;
}

size_t utf8_length_of_several(const char *text, size_t size)
{
    size_t whole = 0;
    return size && count_bytes((const unsigned char *)text, size, &whole) == whole ? whole : 0;
}

size_t utf8_cut(const char *text, size_t size, bool *valid)
{
    *valid = (unsigned char)*text < 0x80;
    if (*valid)
        return 1;
    size_t whole, length = count_bytes((const unsigned char *)text, size, &whole);
    *valid = whole > 0 && length == whole;
    if (length < whole && length == size)
        return 0;
    return length ? length : 1;
}

char *utf8_mend(const char *text, size_t size, size_t *mended)
{
    size_t replacement = sizeof UTF8_REPLACEMENT - 1;
    char *copy = memory_new(memory_product(size, replacement, "a text") + 1, 1, "a text");
    char *to = copy;
    for (size_t at = 0, length; at < size; at += length) {
        bool valid;
        length = utf8_cut(text + at, size - at, &valid);
        length = length ? length : size - at;
        memcpy(to, valid ? text + at : UTF8_REPLACEMENT, valid ? length : replacement);
        to += valid ? length : replacement;
    }
    *mended = (size_t)(to - copy);
    return copy;
}

size_t utf8_mark(const char *text, size_t size)
{
    size_t length = sizeof UTF8_BYTE_ORDER_MARK - 1;
    return size >= length && memcmp(text, UTF8_BYTE_ORDER_MARK, length) == 0 ? length : 0;
}

/* Whether a character that is not white space ends at the end of a text. Of characters that are
 * not ASCII, those that Unicode calls white space are looked for, and so are pieces of invalid
 * ones: what a tokenizer makes of them is its own affair. */
static bool ends_in_plain(const char *text, size_t size)
{
    static const char *const spaces[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                         "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
                                         "\xe2\x81\x9f", "\xe3\x80\x80"};
    const char *end = text + size;
    if ((unsigned char)end[-1] < 0x80)
        return end[-1] > ' ' && end[-1] <= '~';
    size_t length = 1;
    while (length < size && length < UTF8_LONGEST && utf8_is_inner(end[-(ptrdiff_t)length]))
        length++;
    const char *last = end - length;
    if (utf8_length(last, length) != length)
        return false;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strlen(spaces[i]) == length && memcmp(last, spaces[i], length) == 0)
            return false;
    /* U+2000 to U+200A */
    return !(length == 3 && memcmp(last, "\xe2\x80", 2) == 0 && (unsigned char)last[2] <= 0x8a);
}

size_t utf8_last_break(const char *text, size_t size)
{
    for (size_t at = size; at-- > 1;)
        if (utf8_is_space(text[at]) && ends_in_plain(text, at))
            return at;
    return 0;
}

size_t utf8_count(const char *text, size_t size)
{
    size_t characters = 0;
    for (size_t i = utf8_mark(text, size); i < size; i++)
        characters += !utf8_is_inner(text[i]) &&
                      !(text[i] == '\r' && i + 1 < size && text[i + 1] == '\n');
    return characters;
}

/* Skips printable ASCII, which is most of a text, to the next other character. */
static size_t skip_plain(const char *text, size_t size, size_t at)
{
    while (at < size && text[at] > ' ' && text[at] <= '~')
        at++;
    return at;
}

size_t utf8_good(const char *text, size_t size, size_t *lines)
{
    size_t at = skip_plain(text, size, 0), length;
    while (at < size && text[at] && (length = utf8_length(text + at, size - at)) > 0) {
        *lines += text[at] == '\n';
        at = skip_plain(text, size, at + length);
    }
    return at;
}

size_t utf8_encode(uint32_t character, char to[UTF8_LONGEST])
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)(leads[length] | character);
    return length;
}

bool utf8_refuse(const char *name, size_t line, size_t byte, bool zero, Error *error)
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

/* --- decoding UTF-8 --- */

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
        return utf8_refuse(d->name, d->lines + 1, d->bytes + good, !from[good], error);
    if (!last && good && from[good - 1] == '\r')
        good--;
    *used = good;
    *made = copy_lines(d, from, good, to);
    return true;
}

/* --- decoding UTF-16 --- */

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
            return error_set(error,
                             "%s:%zu: binary data at byte %zu; a text has no zero characters, "
                             "but models with --tokens byte take anything",
                             d->name, d->lines + 1, d->bytes + *used);
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

/* --- decoding both --- */

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

bool decoder_step(Decoder *d, const char *from, size_t size, bool last, char *to, size_t *used,
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
