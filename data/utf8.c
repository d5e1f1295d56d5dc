/* One table-free decoder. A character's first byte says how many follow; what the standard
 * forbids shows in the second byte, which for four of the first bytes has a narrower range. */
#include "data/utf8.h"

#include <string.h>

size_t utf8_length_of_several(const char *text, size_t size)
{
    const unsigned char *c = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (c[0] < 0xc2 || c[0] > 0xf4) /* a stray continuation, or an overlong or too large lead */
        return 0;
    size_t length = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    unsigned char low = 0x80, high = 0xbf;
    if (c[0] == 0xe0)
        low = 0xa0; /* below: overlong */
    if (c[0] == 0xed)
        high = 0x9f; /* above: surrogates */
    if (c[0] == 0xf0)
        low = 0x90; /* below: overlong */
    if (c[0] == 0xf4)
        high = 0x8f; /* above: beyond U+10FFFF */
    if (size < length || c[1] < low || c[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    return length;
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
    while (length < size && length < UTF8_LONGEST &&
           ((unsigned char)end[-(ptrdiff_t)length] & 0xc0) == 0x80)
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
        characters += ((unsigned char)text[i] & 0xc0) != 0x80 &&
                      !(text[i] == '\r' && i + 1 < size && text[i + 1] == '\n');
    return characters;
}
