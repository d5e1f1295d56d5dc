/* One table-free decoder. A character's first byte says how many follow; what the standard
 * forbids shows in the second byte, which for four of the first bytes has a narrower range. */
#include "data/tokenizers/utf8.h"
#include "src/base/memory.h"

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
    size_t there = 2;
    while (there < *whole && there < size && (c[there] & 0xc0) == 0x80)
        there++;
    return there;
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
    size_t whole, there = count_bytes((const unsigned char *)text, size, &whole);
    *valid = whole > 0 && there == whole;
    if (there < whole && there == size)
        return 0;
    return there ? there : 1;
}

char *utf8_mend(const char *text, size_t size, size_t *mended)
{
    size_t replacement = sizeof UTF8_REPLACEMENT - 1;
    char *copy = memory_take(memory_product(size, replacement, "a text") + 1, 1, "a text");
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
